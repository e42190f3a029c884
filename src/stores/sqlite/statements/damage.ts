import type { Outcome } from '../../../domain/run.ts'
import type { Damage, DamagedJob } from '../../../store/maintenance.ts'
import type { RetryOrder } from '../../../store/runs.ts'
import type { Connection, SqlRow } from '../connection.ts'
import { countsOf } from '../rows.ts'
import type { Interned, Transaction } from '../transaction.ts'
import { isChainOccupied } from './history.ts'
import { laneById, policyById } from './interned.ts'
import { nodeSeqOf } from './nodes.ts'
import { CLAIMED_COLUMNS, type ClaimedRow, toClaimedJob } from './occupancies.ts'
import { insertRetry } from './retry.ts'

/** Missing retries are looked for among this many of the latest Runs that were to be retried. */
const RETRIED_RUNS_LOOKED_AT = 1_000

const DAMAGED_COLUMNS = 'j.job_id, j.policy_id, j.error_retries, j.crash_retries, j.shutdown_retries'

interface DamagedRow extends SqlRow {
  job_id: string
  policy_id: number
  error_retries: number
  crash_retries: number
  shutdown_retries: number
}

const SELECT_RUNNING_WITHOUT_RUN = `
select ${DAMAGED_COLUMNS}
from pawl_jobs j
where j.status = 'RUNNING' and not exists (select 1 from pawl_runs r where r.seq = j.seq)
limit ?`

const SELECT_RUNNING_WITH_ENDED_RUN = `
select j.job_id
from pawl_jobs j
join pawl_runs r on r.seq = j.seq
where j.status = 'RUNNING' and r.status is not null
limit ?`

const SELECT_RUNNING_WITHOUT_OCCUPANCY = `
select ${CLAIMED_COLUMNS}
from pawl_jobs j
join pawl_runs r on r.seq = j.seq
join pawl_nodes n on n.node_seq = r.node_seq
where j.status = 'RUNNING' and r.status is null and not exists (select 1 from pawl_occupancies o where o.seq = j.seq)
limit ?`

const SELECT_RETRY_MISSING = `
select ${DAMAGED_COLUMNS}
from (select seq from pawl_runs where will_retry = 1 order by seq desc limit ${RETRIED_RUNS_LOOKED_AT}) as retried
join pawl_jobs j on j.seq = retried.seq
where not exists (select 1 from pawl_jobs next where next.retry_of = j.job_id)
limit ?`

export function findDamage(connection: Connection, interned: Interned, limit: number): Damage[] {
  const toDamaged = (row: DamagedRow): DamagedJob => ({
    jobId: row.job_id,
    policy: policyById(connection, interned, row.policy_id),
    counts: countsOf(row),
  })
  return [
    ...connection
      .all<DamagedRow>(SELECT_RUNNING_WITHOUT_RUN, limit)
      .map((row): Damage => ({ kind: 'running-without-run', job: toDamaged(row) })),
    ...connection
      .all<{ job_id: string }>(SELECT_RUNNING_WITH_ENDED_RUN, limit)
      .map((row): Damage => ({ kind: 'running-with-ended-run', jobId: row.job_id })),
    ...connection
      .all<ClaimedRow>(SELECT_RUNNING_WITHOUT_OCCUPANCY, limit)
      .map((row): Damage => ({ kind: 'running-without-occupancy', job: toClaimedJob(row, connection, interned) })),
    ...connection
      .all<DamagedRow>(SELECT_RETRY_MISSING, limit)
      .map((row): Damage => ({ kind: 'retry-missing', job: toDamaged(row) })),
  ]
}

const SELECT_REPAIRED_JOB = `
select seq, job_id, chain_id, lane_id, attempt, started_at, cancel_requested_at
from pawl_jobs
where job_id = ?`

interface RepairedRow extends SqlRow {
  seq: number
  job_id: string
  chain_id: string | null
  lane_id: number
  attempt: number
  started_at: number | null
  cancel_requested_at: number | null
}

const INSERT_FAILED_RUN = `
insert into pawl_runs (seq, run_id, node_seq, status, reason, started_at, finished_at, will_retry, error)
select ?, ?, ?, 'FAILED', ?, ?, ?, ?, ?
where not exists (select 1 from pawl_runs where seq = ?)`

const END_RUNNING_JOB = `
update pawl_jobs
set status = 'FINISHED', outcome = 'FAILED', finished_at = ?
where seq = ? and status = 'RUNNING'`

const DELETE_OCCUPANCY = 'delete from pawl_occupancies where seq = ?'

export function repairRunningWithoutRun(
  transaction: Transaction,
  repair: {
    jobId: string
    runId: string
    by: string
    outcome: Outcome & { status: 'FAILED' }
    retry: RetryOrder | null
    now: number
  },
): boolean {
  const { connection } = transaction
  const job = connection.get<RepairedRow>(SELECT_REPAIRED_JOB, repair.jobId)
  if (job === undefined || connection.run(END_RUNNING_JOB, repair.now, job.seq) === 0) return false
  const retry = job.cancel_requested_at === null ? repair.retry : null
  connection.run(
    INSERT_FAILED_RUN,
    job.seq,
    repair.runId,
    nodeSeqOf(connection, repair.by),
    repair.outcome.reason,
    job.started_at ?? repair.now,
    repair.now,
    retry === null ? 0 : 1,
    repair.outcome.error,
    job.seq,
  )
  if (retry !== null) insertRetry(transaction, job.seq, retry, { awaitsPredecessor: false, now: repair.now })
  pushFinished(transaction, job, repair.runId, repair.outcome, repair.now)
  return true
}

function pushFinished(
  transaction: Transaction,
  job: RepairedRow,
  runId: string,
  outcome: { status: 'COMPLETED' | 'FAILED' | 'SKIPPED'; reason: (Outcome & { status: 'FAILED' })['reason'] | null },
  at: number,
): void {
  transaction.transitions.push({
    kind: 'job.finished',
    jobId: job.job_id,
    runId,
    chainId: job.chain_id ?? job.job_id,
    type: laneById(transaction.connection, transaction.interned, job.lane_id).type,
    status: 'FINISHED',
    outcome: outcome.status,
    reason: outcome.reason,
    attempt: job.attempt,
    at,
  })
}

const SELECT_ENDED_RUN = `
select run_id, status, reason, finished_at
from pawl_runs
where seq = ? and status is not null`

interface EndedRunRow extends SqlRow {
  run_id: string
  status: 'COMPLETED' | 'FAILED' | 'SKIPPED'
  reason: (Outcome & { status: 'FAILED' })['reason'] | null
  finished_at: number
}

const END_JOB_AS_ITS_RUN = `
update pawl_jobs
set status = ?, outcome = ?, finished_at = ?
where seq = ? and status = 'RUNNING'`

export function repairRunningWithEndedRun(transaction: Transaction, jobId: string): boolean {
  const { connection } = transaction
  const job = connection.get<RepairedRow>(SELECT_REPAIRED_JOB, jobId)
  if (job === undefined) return false
  const run = connection.get<EndedRunRow>(SELECT_ENDED_RUN, job.seq)
  if (run === undefined) return false
  const status = run.reason === 'cancelled' ? 'CANCELLED' : 'FINISHED'
  if (connection.run(END_JOB_AS_ITS_RUN, status, run.status, run.finished_at, job.seq) === 0) return false
  connection.run(DELETE_OCCUPANCY, job.seq)
  pushFinished(transaction, job, run.run_id, run, run.finished_at)
  return true
}

const HAS_RETRY = 'select 1 as found from pawl_jobs where retry_of = ?'

export function repairMissingRetry(
  transaction: Transaction,
  repair: { jobId: string; retry: RetryOrder; now: number },
): boolean {
  const { connection } = transaction
  const job = connection.get<RepairedRow>(SELECT_REPAIRED_JOB, repair.jobId)
  if (job === undefined || connection.get(HAS_RETRY, repair.jobId) !== undefined) return false
  insertRetry(transaction, job.seq, repair.retry, {
    awaitsPredecessor: isChainOccupied(connection, job.chain_id ?? job.job_id),
    now: repair.now,
  })
  return true
}
