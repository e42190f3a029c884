import { type Finding, ROWS_COUNTED_MAX } from '../../../../store/checks.ts'
import { type Complaint, findingOf } from '../../../shared/finding.ts'
import type { Connection, SqlRow, SqlValue } from '../../connection.ts'
import type { Walk } from './walks.ts'

/** Work that may be interrupted wherever it yields, so that others have their turn. */
export type Steps<Result> = Generator<undefined, Result>

/** One invariant, and how it is looked at. */
export interface InvariantCheck {
  readonly invariant: string
  /** What holds when nothing is found. */
  readonly title: string
  examine(connection: Connection, now: number): Steps<Finding[]>
}

/** A question whose answers, one row each with its `id`, contradict an invariant. */
export interface Probe extends Complaint {
  /** Its values are the bounds of a page, from and to, and then the present if it `takesNow`. */
  readonly sql: string
  /** Absent: its table stays small, or one look at an index is enough. */
  readonly walk?: Walk
  readonly takesNow?: true
}

export function checkOf(invariant: string, title: string, probes: readonly Probe[]): InvariantCheck {
  return {
    invariant,
    title,
    *examine(connection, now) {
      const findings: Finding[] = []
      for (const probe of probes) {
        const ids = yield* answersTo(probe, connection, now)
        if (ids.length > 0) findings.push(findingOf(probe, ids))
      }
      return findings
    },
  }
}

function* answersTo(probe: Probe, connection: Connection, now: number): Steps<string[]> {
  const ids: string[] = []
  const present = probe.takesNow ? [now] : []
  for (const bounds of probe.walk === undefined ? [[]] : pagesOf(probe.walk, connection)) {
    for (const { id } of connection.all<{ id: SqlValue }>(probe.sql, ...bounds, ...present)) ids.push(String(id))
    yield
    if (ids.length >= ROWS_COUNTED_MAX) break
  }
  return ids.slice(0, ROWS_COUNTED_MAX)
}

/**
 * The bounds of each page, one after the other: those of the page before, then its own. In a damaged table the next page may begin where
 * an earlier one did, and so for ever: there the walk ends. That the table is damaged is told by the check of its integrity.
 */
export function* pagesOf(walk: Walk, connection: Connection): Generator<readonly SqlValue[]> {
  for (let from = walk.start; ; ) {
    const to = Object.values(connection.get<SqlRow>(walk.next, ...from) ?? {})
    if (to.length === 0 || !isBehind(to, from)) return
    yield [...from, ...to]
    from = to
  }
}

/** As SQLite compares them, by their first columns that differ: numbers by value, texts by their bytes. */
function isBehind(to: readonly SqlValue[], from: readonly SqlValue[]): boolean {
  const column = to.findIndex((value, index) => value !== from[index])
  const [a, b] = [to[column], from[column]]
  if (typeof a === 'number' && typeof b === 'number') return a > b
  return typeof a === 'string' && typeof b === 'string' && Buffer.compare(Buffer.from(a), Buffer.from(b)) > 0
}
