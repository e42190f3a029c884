import { type Chain, chainOutcome } from '../../../domain/chain.ts'
import type { Job } from '../../../domain/job.ts'
import type { FailureReason, LogLine, Run, RunStatus } from '../../../domain/run.ts'
import type { ChainEnd } from '../../../store/jobs.ts'
import type { Connection } from '../connection.ts'
import {
  FROM_JOBS,
  FROM_RUNS,
  JOB_COLUMNS,
  type JobRow,
  RUN_COLUMNS,
  type RunRow,
  toJob,
  toJobs,
  toRun,
} from '../rows.ts'

const SELECT_JOB = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.job_id = $1`

const SELECT_JOB_OF_RUN = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where r.run_id = $1`

export async function findJobRow(
  connection: Connection,
  by: { jobId: string } | { runId: string },
): Promise<JobRow | undefined> {
  return 'jobId' in by
    ? await connection.get<JobRow>(SELECT_JOB, by.jobId)
    : await connection.get<JobRow>(SELECT_JOB_OF_RUN, by.runId)
}

export async function findJob(connection: Connection, jobId: string, now: number): Promise<Job | null> {
  const row = await connection.get<JobRow>(SELECT_JOB, jobId)
  return row === undefined ? null : toJob(row, connection, now)
}

const SELECT_RETRIES = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.chain_id = $1
order by j.attempt`

const SELECT_LAST_RETRY = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.chain_id = $1
order by j.attempt desc
limit 1`

/** The last Job of the chain to which this one belongs. */
export async function findLastOfChain(connection: Connection, job: JobRow): Promise<JobRow> {
  return (await connection.get<JobRow>(SELECT_LAST_RETRY, job.chain_id ?? job.job_id)) ?? job
}

export async function findChain(connection: Connection, jobId: string, now: number): Promise<Chain | null> {
  const row = await connection.get<JobRow>(SELECT_JOB, jobId)
  if (row === undefined) return null
  const chainId = row.chain_id ?? row.job_id
  const first = row.chain_id === null ? row : await connection.get<JobRow>(SELECT_JOB, chainId)
  const rows = [...(first === undefined ? [] : [first]), ...(await connection.all<JobRow>(SELECT_RETRIES, chainId))]
  const items = await toJobs(rows, connection, now)
  const outcome = chainOutcome(items[items.length - 1] as Job)
  return { chainId, settled: outcome !== null, outcome, items }
}

// One row per chain that is there, of its last Job.
const SELECT_ENDS = `
select c.job_id as chain_id, j.job_id, j.attempt, j.cancel_reason, j.cancelled_at is not null as cancelled, r.run_id,
  r.status, r.result, r.reason, r.error
from pawl.jobs c
join pawl.jobs j on j.seq = coalesce(
  (select n.seq from pawl.jobs n where n.chain_id = c.job_id order by n.attempt desc limit 1), c.seq
)
left join pawl.runs r on r.seq = j.seq
where c.job_id = any($1::text[])`

interface EndRow {
  chain_id: string
  job_id: string
  attempt: number
  cancel_reason: string | null
  cancelled: boolean
  run_id: string | null
  status: RunStatus | null
  result: string | null
  reason: FailureReason | null
  error: string | null
}

/** Of the given chains, those that are settled, in the given order. */
export async function findChainEnds(connection: Connection, chainIds: readonly string[]): Promise<ChainEnd[]> {
  const rows = await connection.all<EndRow>(SELECT_ENDS, chainIds)
  const ends = new Map(rows.map((row) => [row.chain_id, toChainEnd(row)]))
  return chainIds.flatMap((chainId) => ends.get(chainId) ?? [])
}

function toChainEnd(row: EndRow): ChainEnd | null {
  const outcome = row.cancelled ? 'CANCELLED' : row.status
  if (outcome === null) return null
  return {
    chainId: row.chain_id,
    jobId: row.job_id,
    runId: row.run_id,
    outcome,
    attempts: row.attempt,
    result: row.result,
    reason: row.reason,
    error: row.cancelled ? (row.cancel_reason ?? row.error) : row.error,
  }
}

const SELECT_RUN_ID = 'select run_id from pawl.runs where seq = $1'

export async function findRunIdOf(connection: Connection, seq: number): Promise<string | null> {
  return (await connection.get<{ run_id: string }>(SELECT_RUN_ID, seq))?.run_id ?? null
}

const SELECT_CHAIN_OCCUPANCY = `
select 1 as found
from pawl.jobs j
join pawl.occupancies o on o.seq = j.seq
where j.job_id = $1
union all
select 1
from pawl.jobs j
join pawl.occupancies o on o.seq = j.seq
where j.chain_id = $1
limit 1`

/** Whether a body of any attempt of this chain executes. */
export async function isChainOccupied(connection: Connection, chainId: string): Promise<boolean> {
  return (await connection.get(SELECT_CHAIN_OCCUPANCY, chainId)) !== undefined
}

const SELECT_RUN_BY_ID = `select ${RUN_COLUMNS} ${FROM_RUNS} where r.run_id = $1`
const SELECT_RUN_OF_JOB = `select ${RUN_COLUMNS} ${FROM_RUNS} where j.job_id = $1`

export async function findRun(connection: Connection, by: { runId: string } | { jobId: string }): Promise<Run | null> {
  const row =
    'runId' in by
      ? await connection.get<RunRow>(SELECT_RUN_BY_ID, by.runId)
      : await connection.get<RunRow>(SELECT_RUN_OF_JOB, by.jobId)
  return row === undefined ? null : toRun(row)
}

const SELECT_LOGS = `
select at, level, text, fields
from pawl.run_logs
where seq = (select seq from pawl.runs where run_id = $1) and line > $2
order by line
limit $3`

export async function readLogs(
  connection: Connection,
  runId: string,
  after: number,
  limit: number,
): Promise<LogLine[]> {
  return connection.all<LogLine>(SELECT_LOGS, runId, after, limit)
}
