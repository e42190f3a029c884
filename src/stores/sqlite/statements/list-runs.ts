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
import type { Connection, SqlRow } from '../connection.ts'
import { RUN_COLUMNS, type RunRow, toRun } from '../rows.ts'
import type { Interned } from '../transaction.ts'
import { findRun } from './history.ts'
import { walkType, walkWithRun } from './job-walks.ts'
import { lookThrough, readExactly, readWhole, type Walk, walkAlong, walkFurthest, walkKnown } from './list-walks.ts'

export function listRuns(connection: Connection, interned: Interned, filter: RunFilter): Page<Run> {
  if (filter.jobId !== undefined) return listRunOfJob(connection, interned, filter, filter.jobId)
  const { spots, next } =
    filter.type === undefined
      ? findByStart(connection, filter)
      : findOfType(connection, filter, walkType(connection, filter.type))
  const rows = spots.length === 0 ? [] : connection.all<RunRow>(SELECT_LISTED_RUNS, JSON.stringify(seqsOf(spots)))
  return { items: rows.map((row) => toRun(row, connection, interned)), nextCursor: writeCursor(next) }
}

// The given Runs in the given order: a cross join keeps the order of the tables.
const SELECT_LISTED_RUNS = `
select ${RUN_COLUMNS}
from json_each(?) as listed
cross join pawl_runs r on r.seq = listed.value
cross join pawl_jobs j on j.seq = r.seq
cross join pawl_nodes n on n.node_seq = r.node_seq`

/** A Job has at most one Run, so this list has no second page. */
function listRunOfJob(connection: Connection, interned: Interned, filter: RunFilter, jobId: string): Page<Run> {
  readCursor(filter.cursor, 0)
  const run = findRun(connection, interned, { jobId })
  const { type = run?.type, status = run?.status } = filter
  const items = run === null || run.type !== type || run.status !== status ? [] : [run]
  return { items, nextCursor: null }
}

// Each of these reads one index, the latest start first.

const SELECT_LATEST = `
select started_at, seq
from pawl_runs indexed by pawl_runs_started
where (started_at, seq) < (?, ?)
order by started_at desc, seq desc
limit ? offset ?`

const SELECT_FAILED = `
select started_at, seq
from pawl_runs indexed by pawl_runs_failed
where status = 'FAILED' and (started_at, seq) < (?, ?)
order by started_at desc, seq desc
limit ? offset ?`

const SELECT_SKIPPED = `
select started_at, seq
from pawl_runs indexed by pawl_runs_skipped
where status = 'SKIPPED' and (started_at, seq) < (?, ?)
order by started_at desc, seq desc
limit ? offset ?`

interface StartRow extends SqlRow {
  started_at: number
  seq: number
}

function walkStarts(connection: Connection, sql: string): Walk {
  return walkAlong(([startedAt = 0, seq = 0], rows, offset) =>
    connection.all<StartRow>(sql, startedAt, seq, rows, offset).map((row) => [row.started_at, row.seq]),
  )
}

/** All Runs, the latest start first. */
export function walkLatest(connection: Connection): Walk {
  return walkStarts(connection, SELECT_LATEST)
}

/** FAILED and SKIPPED have an index of their own. COMPLETED has not: it is what most Runs are. */
export function walkRare(connection: Connection, status: RunStatus | undefined): Walk | null {
  if (status === 'FAILED') return walkStarts(connection, SELECT_FAILED)
  return status === 'SKIPPED' ? walkStarts(connection, SELECT_SKIPPED) : null
}

/** The latest start first. A cursor names the last start and Job that were looked at: `<started_at>:<seq>`. */
function findByStart(connection: Connection, filter: RunFilter): Found {
  const { status, limit } = filter
  const from = readCursor(filter.cursor, 2)
  const latest = walkLatest(connection)
  const exact = status === undefined ? latest : walkRare(connection, status)
  if (exact !== null) return readExactly(exact, from, limit)
  return lookThrough(from, limit, (before, rows) => {
    const starts = latest.read(before, rows)
    const found = selectMatchingRuns(connection, starts, filter, limit + 1)
    return { spots: found.map(({ started_at, seq }) => [started_at, seq]), next: starts[rows - 1] ?? null }
  })
}

/** The newest Job first. A cursor names the last Job that was looked at: `<seq>`. */
function findOfType(connection: Connection, filter: RunFilter, walkOfType: Walk): Found {
  const { status, limit } = filter
  const from = readCursor(filter.cursor, 1)
  const walks = [walkOfType, walkWithRun(connection)]
  const few = walkFew(walkRare(connection, status))
  if (few !== null) walks.push(few)
  return lookThrough(from, limit, (before, rows) => {
    const walked = walkFurthest(walks, before, rows, downward)
    const found = selectMatchingRuns(connection, walked.spots, filter, limit + 1)
    return { spots: found.map(({ seq }) => [seq]), next: walked.next }
  })
}

/** All Runs of a status in the order of their Jobs, if there are few. */
export function walkFew(byStart: Walk | null): Walk | null {
  const whole = byStart === null ? null : readWhole(byStart, beforeEverything(2))
  if (whole === null) return null
  const spots = whole.map(([, seq = 0]): Spot => [seq]).toSorted((a, b) => (downward(a, b) ? -1 : 1))
  return walkKnown(spots, downward)
}

// Of the given Runs, the first so many that match. What is null matches everything.
const SELECT_MATCHING_RUNS = `
select r.started_at, r.seq
from json_each(?) as listed
cross join pawl_runs r on r.seq = listed.value
cross join pawl_jobs j on j.seq = r.seq
cross join pawl_lanes l on l.lane_id = j.lane_id
where r.status is coalesce(?, r.status)
  and l.type = coalesce(?, l.type)
limit ?`

function selectMatchingRuns(
  connection: Connection,
  spots: readonly Spot[],
  { status, type }: RunFilter,
  limit: number,
): StartRow[] {
  if (spots.length === 0) return []
  return connection.all<StartRow>(
    SELECT_MATCHING_RUNS,
    JSON.stringify(seqsOf(spots)),
    status ?? null,
    type ?? null,
    limit,
  )
}
