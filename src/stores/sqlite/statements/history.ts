import { type Chain, chainOutcome } from '../../../domain/chain.ts'
import type { Job, JobStatus } from '../../../domain/job.ts'
import { invalid } from '../../../domain/options.ts'
import type { FailureReason, LogLine, Run } from '../../../domain/run.ts'
import type { ChainEnd, JobFilter, Page } from '../../../store/jobs.ts'
import type { RunFilter } from '../../../store/runs.ts'
import type { Connection, SqlRow, SqlValue } from '../connection.ts'
import {
  FROM_JOBS,
  IN_QUEUE,
  JOB_COLUMNS,
  type JobRow,
  RUN_COLUMNS,
  type RunRow,
  statusOf,
  toJob,
  toRun,
} from '../rows.ts'
import type { Interned } from '../transaction.ts'

const SELECT_JOB = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.job_id = ?`

const SELECT_JOB_OF_RUN = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where r.run_id = ?`

export function findJobRow(connection: Connection, by: { jobId: string } | { runId: string }): JobRow | undefined {
  return 'jobId' in by
    ? connection.get<JobRow>(SELECT_JOB, by.jobId)
    : connection.get<JobRow>(SELECT_JOB_OF_RUN, by.runId)
}

export function findJob(connection: Connection, interned: Interned, jobId: string, now: number): Job | null {
  const row = connection.get<JobRow>(SELECT_JOB, jobId)
  return row === undefined ? null : toJob(row, connection, interned, now)
}

const SELECT_RETRIES = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.chain_id = ?
order by j.attempt`

const SELECT_LAST_RETRY = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.chain_id = ?
order by j.attempt desc
limit 1`

/** The last Job of the chain to which this one belongs. */
export function findLastOfChain(connection: Connection, job: JobRow): JobRow {
  return connection.get<JobRow>(SELECT_LAST_RETRY, job.chain_id ?? job.job_id) ?? job
}

export function findChain(connection: Connection, interned: Interned, jobId: string, now: number): Chain | null {
  const row = connection.get<JobRow>(SELECT_JOB, jobId)
  if (row === undefined) return null
  const chainId = row.chain_id ?? row.job_id
  const first = row.chain_id === null ? row : connection.get<JobRow>(SELECT_JOB, chainId)
  const rows = [...(first === undefined ? [] : [first]), ...connection.all<JobRow>(SELECT_RETRIES, chainId)]
  const items = rows.map((item) => toJob(item, connection, interned, now))
  const outcome = chainOutcome(items[items.length - 1] as Job)
  return { chainId, settled: outcome !== null, outcome, items }
}

const SELECT_END = `
select r.run_id, r.result, r.reason, r.error
from pawl_runs r
where r.seq = ?`

interface EndRow extends SqlRow {
  run_id: string
  result: string | null
  reason: FailureReason | null
  error: string | null
}

export function findChainEnd(connection: Connection, chainId: string): ChainEnd | null {
  const first = connection.get<JobRow>(SELECT_JOB, chainId)
  if (first === undefined) return null
  const last = findLastOfChain(connection, first)
  const outcome = chainOutcome({ status: statusOf(last), outcome: last.run_status })
  if (outcome === null) return null
  const run = connection.get<EndRow>(SELECT_END, last.seq)
  return {
    chainId,
    jobId: last.job_id,
    runId: run?.run_id ?? null,
    outcome,
    attempts: last.attempt,
    result: run?.result ?? null,
    reason: run?.reason ?? null,
    error: outcome === 'CANCELLED' ? (last.cancel_reason ?? run?.error ?? null) : (run?.error ?? null),
  }
}

const SELECT_RUN_ID = 'select run_id from pawl_runs where seq = ?'

export function findRunIdOf(connection: Connection, seq: number): string | null {
  return connection.get<{ run_id: string }>(SELECT_RUN_ID, seq)?.run_id ?? null
}

const SELECT_CHAIN_OCCUPANCY = `
select 1 as found
from pawl_jobs j
join pawl_occupancies o on o.seq = j.seq
where j.job_id = ?
union all
select 1
from pawl_jobs j
join pawl_occupancies o on o.seq = j.seq
where j.chain_id = ?
limit 1`

/** Whether a body of any attempt of this chain executes. */
export function isChainOccupied(connection: Connection, chainId: string): boolean {
  return connection.get(SELECT_CHAIN_OCCUPANCY, chainId, chainId) !== undefined
}

const FROM_RUNS = `
from pawl_runs r
join pawl_jobs j on j.seq = r.seq
join pawl_nodes n on n.node_seq = r.node_seq`

const SELECT_RUN_BY_ID = `select ${RUN_COLUMNS} ${FROM_RUNS} where r.run_id = ?`
const SELECT_RUN_OF_JOB = `select ${RUN_COLUMNS} ${FROM_RUNS} where j.job_id = ?`

export function findRun(
  connection: Connection,
  interned: Interned,
  by: { runId: string } | { jobId: string },
): Run | null {
  const row =
    'runId' in by
      ? connection.get<RunRow>(SELECT_RUN_BY_ID, by.runId)
      : connection.get<RunRow>(SELECT_RUN_OF_JOB, by.jobId)
  return row === undefined ? null : toRun(row, connection, interned)
}

/** Each status is listed from the table that holds it, so that none is looked for among the others. */
const JOBS_BY_STATUS: Readonly<
  Record<Exclude<JobStatus, 'QUEUED'> | 'ANY', { from: string; seq: string; condition: string | null }>
> = {
  ANY: { from: FROM_JOBS, seq: 'j.seq', condition: null },
  RUNNING: {
    from: `from pawl_occupancies o
      join pawl_runs r on r.seq = o.seq
      join pawl_jobs j on j.seq = o.seq
      left join pawl_queue q on ${IN_QUEUE}`,
    seq: 'o.seq',
    condition: 'r.status is null',
  },
  FINISHED: {
    from: `from pawl_runs r join pawl_jobs j on j.seq = r.seq left join pawl_queue q on ${IN_QUEUE}`,
    seq: 'r.seq',
    condition: 'r.status is not null and j.cancelled_at is null',
  },
  CANCELLED: { from: FROM_JOBS, seq: 'j.seq', condition: 'j.cancelled_at is not null' },
}

/** The same statuses among the Jobs of one template, schedule or group, which an index of their own leads to. */
const LINKED_BY_STATUS: Readonly<Record<JobStatus | 'ANY', string | null>> = {
  ANY: null,
  QUEUED: 'q.seq is not null',
  RUNNING: 'r.seq is not null and r.status is null',
  FINISHED: 'r.status is not null and j.cancelled_at is null',
  CANCELLED: 'j.cancelled_at is not null',
}

const LINKS = [
  ['groupId', 'j.group_id = ?'],
  ['scheduleId', 'j.schedule_id = ?'],
  ['templateId', 'j.template_id = ?'],
] as const

export function listJobs(connection: Connection, interned: Interned, filter: JobFilter, now: number): Page<Job> {
  const links = LINKS.filter(([name]) => filter[name] !== undefined)
  if (filter.status === 'QUEUED' && links.length === 0) return listQueuedJobs(connection, interned, filter, now)
  const status = filter.status ?? 'ANY'
  const { from, seq, condition } =
    links.length > 0 || status === 'QUEUED'
      ? { from: FROM_JOBS, seq: 'j.seq', condition: LINKED_BY_STATUS[status] }
      : JOBS_BY_STATUS[status]
  const conditions = condition === null ? [] : [condition]
  const values: SqlValue[] = []
  for (const [name, link] of links) {
    conditions.push(link)
    values.push(filter[name] as string)
  }
  if (filter.cursor != null) {
    conditions.push(`${seq} < ?`)
    values.push(...readCursor(filter.cursor, 1))
  }
  if (filter.type !== undefined) {
    conditions.push('j.lane_id in (select lane_id from pawl_lanes where type = ?)')
    values.push(filter.type)
  }
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
  const sql = `select ${JOB_COLUMNS} ${from} ${where} order by ${seq} desc limit ?`
  const rows = connection.all<JobRow>(sql, ...values, filter.limit)
  const items = rows.map((row) => toJob(row, connection, interned, now))
  return { items, nextCursor: rows.length === filter.limit ? String(rows[rows.length - 1]?.seq) : null }
}

const FROM_QUEUE = `
from pawl_queue q
join pawl_jobs j on j.seq = q.seq
left join pawl_runs r on r.seq = q.seq`

const OF_TYPE = 'j.lane_id in (select lane_id from pawl_lanes where type = ?)'

/** QUEUED Jobs in the order of the queue. A cursor names the place of the last one of the page before. */
function listQueuedJobs(connection: Connection, interned: Interned, filter: JobFilter, now: number): Page<Job> {
  const { type, limit, cursor } = filter
  const select = (condition: string, order: string, values: SqlValue[], rest: number): JobRow[] => {
    const ofType = type === undefined ? '' : `and ${OF_TYPE}`
    const sql = `select ${JOB_COLUMNS} ${FROM_QUEUE} where ${condition} ${ofType} order by ${order} limit ?`
    return connection.all<JobRow>(sql, ...values, ...(type === undefined ? [] : [type]), rest)
  }
  const order = 'q.priority desc, q.position, q.created_at, q.seq'
  let rows: JobRow[]
  if (cursor == null) rows = select('true', order, [], limit)
  else {
    // The rest of this priority, then those below it: each is one range of the queue.
    const place = readCursor(cursor, 4)
    rows = select('q.priority = ? and (q.position, q.created_at, q.seq) > (?, ?, ?)', order, place, limit)
    if (rows.length < limit) rows.push(...select('q.priority < ?', order, place.slice(0, 1), limit - rows.length))
  }
  const last = rows[rows.length - 1]
  const nextCursor =
    rows.length === limit && last !== undefined
      ? [last.priority, last.position, last.created_at, last.seq].join(':')
      : null
  return { items: rows.map((row) => toJob(row, connection, interned, now)), nextCursor }
}

function readCursor(cursor: string, parts: number): number[] {
  const numbers = cursor.split(':').map(Number)
  if (numbers.length === parts && numbers.every(Number.isSafeInteger)) return numbers
  throw invalid('cursor', 'the `nextCursor` of a page of the same list', cursor)
}

// A cross join keeps this order of the tables: the Runs are read by their start, and none needs to be sorted.
const FROM_RUNS_BY_START = `
from pawl_runs r indexed by pawl_runs_started
cross join pawl_jobs j on j.seq = r.seq
cross join pawl_nodes n on n.node_seq = r.node_seq`

/** Newest start first. A cursor names the last start and Job of the page before: `<started_at>:<seq>`. */
export function listRuns(connection: Connection, interned: Interned, filter: RunFilter): Page<Run> {
  const conditions: string[] = []
  const values: SqlValue[] = []
  if (filter.cursor != null) {
    conditions.push('(r.started_at, r.seq) < (?, ?)')
    values.push(...readCursor(filter.cursor, 2))
  }
  if (filter.status !== undefined) {
    conditions.push('r.status = ?')
    values.push(filter.status)
  }
  if (filter.jobId !== undefined) {
    conditions.push('j.job_id = ?')
    values.push(filter.jobId)
  }
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
  const from = filter.jobId === undefined ? FROM_RUNS_BY_START : FROM_RUNS
  const sql = `select ${RUN_COLUMNS} ${from} ${where} order by r.started_at desc, r.seq desc limit ?`
  const rows = connection.all<RunRow>(sql, ...values, filter.limit)
  const last = rows[rows.length - 1]
  const nextCursor = rows.length === filter.limit && last !== undefined ? `${last.started_at}:${last.seq}` : null
  return { items: rows.map((row) => toRun(row, connection, interned)), nextCursor }
}

const SELECT_QUEUE = `
select ${JOB_COLUMNS}
from pawl_queue q
join pawl_jobs j on j.seq = q.seq
left join pawl_runs r on r.seq = q.seq
order by q.priority desc, q.position, q.created_at, j.job_id
limit ?`

export function listQueue(connection: Connection, interned: Interned, limit: number, now: number): Job[] {
  return connection.all<JobRow>(SELECT_QUEUE, limit).map((row) => toJob(row, connection, interned, now))
}

const SELECT_LOGS = `
select at, level, text, fields
from pawl_run_logs
where seq = (select seq from pawl_runs where run_id = ?) and line > ?
order by line
limit ?`

export function readLogs(connection: Connection, runId: string, after: number, limit: number): LogLine[] {
  return connection.all<SqlRow>(SELECT_LOGS, runId, after, limit) as unknown as LogLine[]
}
