import { type Chain, chainOutcome } from '../../../domain/chain.ts'
import type { Job } from '../../../domain/job.ts'
import type { FailureReason, LogLine, Run } from '../../../domain/run.ts'
import type { ChainEnd } from '../../../store/jobs.ts'
import type { Connection, SqlRow } from '../connection.ts'
import { FROM_JOBS, JOB_COLUMNS, type JobRow, RUN_COLUMNS, type RunRow, statusOf, toJob, toRun } from '../rows.ts'
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

const SELECT_LOGS = `
select at, level, text, fields
from pawl_run_logs
where seq = (select seq from pawl_runs where run_id = ?) and line > ?
order by line
limit ?`

export function readLogs(connection: Connection, runId: string, after: number, limit: number): LogLine[] {
  return connection.all<SqlRow>(SELECT_LOGS, runId, after, limit) as unknown as LogLine[]
}
