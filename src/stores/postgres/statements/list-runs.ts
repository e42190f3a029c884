import type { Run, RunStatus } from '../../../domain/run.ts'
import type { Page } from '../../../store/jobs.ts'
import type { RunFilter } from '../../../store/runs.ts'
import {
  beforeEverything,
  downward,
  type Found,
  readCursor,
  type Spot,
  seqsOf,
  writeCursor,
} from '../../shared/list-spots.ts'
import type { Connection, SqlValue } from '../connection.ts'
import { FROM_RUNS, RUN_COLUMNS, type RunRow, toRun } from '../rows.ts'
import { findRun } from './history.ts'
import { walkType, walkWithRun } from './job-walks.ts'
import { lookThrough, readExactly, readWhole, type Walk, walkAlong, walkFurthest, walkKnown } from './list-walks.ts'

export async function listRuns(connection: Connection, filter: RunFilter): Promise<Page<Run>> {
  if (filter.jobId !== undefined) return listRunOfJob(connection, filter, filter.jobId)
  const { spots, next } =
    filter.type === undefined
      ? await findByStart(connection, filter)
      : await findOfType(connection, filter, walkType(connection, filter.type))
  const rows = spots.length === 0 ? [] : await connection.all<RunRow>(SELECT_LISTED_RUNS, seqsOf(spots))
  return { items: rows.map(toRun), nextCursor: writeCursor(next) }
}

// The given Runs in the given order.
const SELECT_LISTED_RUNS = `
select ${RUN_COLUMNS}
${FROM_RUNS}
join unnest($1::bigint[]) with ordinality as listed (seq, place) on listed.seq = r.seq
order by listed.place`

/** A Job has at most one Run, so this list has no second page. */
async function listRunOfJob(connection: Connection, filter: RunFilter, jobId: string): Promise<Page<Run>> {
  readCursor(filter.cursor, 0)
  const run = await findRun(connection, { jobId })
  const { type = run?.type, status = run?.status } = filter
  const items = run === null || run.type !== type || run.status !== status ? [] : [run]
  return { items, nextCursor: null }
}

// Each of these reads one index, the latest start first.

const SELECT_LATEST = `
select started_at, seq
from pawl.runs
where (started_at, seq) < ($1, $2)
order by started_at desc, seq desc
limit $3 offset $4`

const SELECT_UNCOMPLETED = `
select started_at, seq
from pawl.uncompleted_runs
where status = $1 and (started_at, seq) < ($2, $3)
order by started_at desc, seq desc
limit $4 offset $5`

interface StartRow {
  started_at: number
  seq: number
}

function walkStarts(connection: Connection, sql: string, ...values: SqlValue[]): Walk {
  return walkAlong(async ([startedAt = 0, seq = 0], rows, offset) => {
    const starts = await connection.all<StartRow>(sql, ...values, startedAt, seq, rows, offset)
    return starts.map((row) => [row.started_at, row.seq])
  })
}

/** All Runs, the latest start first. */
export function walkLatest(connection: Connection): Walk {
  return walkStarts(connection, SELECT_LATEST)
}

/** FAILED and SKIPPED have a table of their own. COMPLETED has not: it is what most Runs are. */
export function walkRare(connection: Connection, status: RunStatus | undefined): Walk | null {
  if (status !== 'FAILED' && status !== 'SKIPPED') return null
  return walkStarts(connection, SELECT_UNCOMPLETED, status)
}

/** The latest start first. A cursor names the last start and Job that were looked at: `<started_at>:<seq>`. */
async function findByStart(connection: Connection, filter: RunFilter): Promise<Found> {
  const { status, limit } = filter
  const from = readCursor(filter.cursor, 2)
  const latest = walkLatest(connection)
  const exact = status === undefined ? latest : walkRare(connection, status)
  if (exact !== null) return readExactly(exact, from, limit)
  return lookThrough(from, limit, async (before, rows) => {
    const starts = await latest.read(before, rows)
    const found = await selectMatchingRuns(connection, starts, filter, limit + 1)
    return { spots: found.map(({ started_at, seq }) => [started_at, seq]), next: starts[rows - 1] ?? null }
  })
}

/** The newest Job first. A cursor names the last Job that was looked at: `<seq>`. */
async function findOfType(connection: Connection, filter: RunFilter, walkOfType: Walk): Promise<Found> {
  const { status, limit } = filter
  const from = readCursor(filter.cursor, 1)
  const walks = [walkOfType, walkWithRun(connection)]
  const few = await walkFew(walkRare(connection, status))
  if (few !== null) walks.push(few)
  return lookThrough(from, limit, async (before, rows) => {
    const walked = await walkFurthest(walks, before, rows, downward)
    const found = await selectMatchingRuns(connection, walked.spots, filter, limit + 1)
    return { spots: found.map(({ seq }) => [seq]), next: walked.next }
  })
}

/** All Runs of a status in the order of their Jobs, if there are few. */
export async function walkFew(byStart: Walk | null): Promise<Walk | null> {
  const whole = byStart === null ? null : await readWhole(byStart, beforeEverything(2))
  if (whole === null) return null
  const spots = whole.map(([, seq = 0]): Spot => [seq]).toSorted((a, b) => (downward(a, b) ? -1 : 1))
  return walkKnown(spots, downward)
}

// Of the given Runs, the first so many that match. What is null matches everything.
const SELECT_MATCHING_RUNS = `
select r.started_at, r.seq
from unnest($1::bigint[]) with ordinality as listed (seq, place)
join pawl.runs r on r.seq = listed.seq
join pawl.jobs j on j.seq = r.seq
join pawl.lanes l on l.lane_id = j.lane_id
where ($2::text is null or r.status = $2)
  and ($3::text is null or l.type = $3)
order by listed.place
limit $4`

async function selectMatchingRuns(
  connection: Connection,
  spots: readonly Spot[],
  { status, type }: RunFilter,
  limit: number,
): Promise<StartRow[]> {
  if (spots.length === 0) return []
  return connection.all<StartRow>(SELECT_MATCHING_RUNS, seqsOf(spots), status ?? null, type ?? null, limit)
}
