import type { JobFilter } from '../../../store/jobs.ts'
import type { Found, Spot } from '../../shared/list-spots.ts'
import { asksForTexts, matchesError, matchesParams, TEXTS_AT_ONCE, type TextBudget } from '../../shared/match-texts.ts'
import type { Connection, SqlRow } from '../connection.ts'
import { type PlaceRow, selectMatching } from './match-jobs.ts'

/** Of the rows that a walk found, those that match, and where to go on. */
export interface Matching {
  readonly rows: readonly PlaceRow[]
  readonly next: Spot | null
}

/** Up to so many that match. Texts are looked at last and in small portions, for as long as the budget lasts. */
export function matchWalked(
  connection: Connection,
  { spots, next }: Found,
  from: Spot,
  filter: JobFilter,
  texts: TextBudget,
): Matching {
  const wanted = filter.limit + 1
  if (!asksForTexts(filter)) return { rows: selectMatching(connection, spots, filter, wanted), next }
  const rows = selectMatching(connection, spots, filter, spots.length)
  const matching: PlaceRow[] = []
  let lookedAt: Spot = from
  for (let index = 0; index < rows.length && matching.length < wanted; index += TEXTS_AT_ONCE) {
    if (texts.isSpent) return { rows: matching, next: lookedAt }
    const portion = rows.slice(index, index + TEXTS_AT_ONCE)
    matching.push(...matchTexts(connection, portion, filter, texts))
    lookedAt = spots.find((spot) => spot.at(-1) === portion.at(-1)?.seq) ?? lookedAt
  }
  return { rows: matching, next }
}

const SELECT_ERRORS = `
select r.seq, r.error as text
from json_each(?) as listed
cross join pawl_runs r on r.seq = listed.value`

const SELECT_PARAMS = `
select j.seq, j.params as text
from json_each(?) as listed
cross join pawl_jobs j on j.seq = listed.value`

interface TextRow extends SqlRow {
  seq: number
  text: string | null
}

function matchTexts(
  connection: Connection,
  rows: readonly PlaceRow[],
  filter: JobFilter,
  texts: TextBudget,
): PlaceRow[] {
  let matching = new Set(rows.map(({ seq }) => seq))
  const keep = (sql: string, matches: (text: string | null) => boolean) => {
    const seqs = [...matching]
    const found = connection.all<TextRow>(sql, JSON.stringify(seqs))
    for (const { text } of found) texts.spend(text)
    matching = new Set(found.filter(({ text }) => matches(text)).map(({ seq }) => seq))
  }
  if (filter.error !== undefined) keep(SELECT_ERRORS, (error) => matchesError(error, filter))
  if (filter.paramsPath !== undefined) keep(SELECT_PARAMS, (params) => matchesParams(params ?? 'null', filter))
  return rows.filter(({ seq }) => matching.has(seq))
}
