import type { Outcome } from '../../../domain/run.ts'
import type { Damage, DamagedJob } from '../../../store/maintenance.ts'
import type { RetryOrder } from '../../../store/runs.ts'
import { countRun } from '../../shared/tallies.ts'
import type { Connection, SqlRow } from '../connection.ts'
import { countsOf, FROM_JOBS, IN_QUEUE, JOB_COLUMNS, type JobRow, statusOf } from '../rows.ts'
import type { Interned, Transaction } from '../transaction.ts'
import { carryOut } from './cascades.ts'
import { endedRow, settleChain, tellRunEnd } from './ended.ts'
import { isChainOccupied } from './history.ts'
import { laneById, policyById } from './interned.ts'
import { releaseBusinessKey } from './keys.ts'
import { findLiveNodeSeq } from './nodes.ts'
import { CLAIMED_COLUMNS, type ClaimedRow, toClaimedJob } from './occupancies.ts'
import { insertRetry } from './retry.ts'
import { internNode } from './tallies.ts'

/** Damage is looked for among this many of the latest Jobs and Runs, so that a start costs the same after a million. */
const ROWS_LOOKED_AT = 1_000

const DAMAGED_COLUMNS = 'j.seq, j.job_id, j.policy_id, j.error_retries, j.crash_retries, j.shutdown_retries'

interface DamagedRow extends SqlRow {
  seq: number
  job_id: string
  policy_id: number
  error_retries: number
  crash_retries: number
  shutdown_retries: number
}

// Out of the queue, so it was claimed; but there is no Run.
const SELECT_RUN_MISSING = `
select ${DAMAGED_COLUMNS}
from (select seq from pawl_jobs order by seq desc limit ${ROWS_LOOKED_AT}) as latest
join pawl_jobs j on j.seq = latest.seq
where j.cancelled_at is null
  and not exists (select 1 from pawl_queue q where ${IN_QUEUE})
  and not exists (select 1 from pawl_runs r where r.seq = j.seq)
limit ?`

// As many rows as bodies execute right now.
const SELECT_RUN_MISSING_OF_OCCUPANCY = `
select ${DAMAGED_COLUMNS}
from pawl_occupancies o
join pawl_jobs j on j.seq = o.seq
where not exists (select 1 from pawl_runs r where r.seq = o.seq)
limit ?`

const SELECT_OCCUPANCY_MISSING = `
select ${CLAIMED_COLUMNS}
from (select seq from pawl_runs order by seq desc limit ${ROWS_LOOKED_AT}) as latest
join pawl_runs r on r.seq = latest.seq
join pawl_jobs j on j.seq = r.seq
join pawl_nodes n on n.node_seq = r.node_seq
where r.status is null and not exists (select 1 from pawl_occupancies o where o.seq = r.seq)
limit ?`

const SELECT_RETRY_MISSING = `
select ${DAMAGED_COLUMNS}
from (
  select seq
  from pawl_runs
  where will_retry = 1
  order by seq desc
  limit ${ROWS_LOOKED_AT}
) as retried
join pawl_jobs j on j.seq = retried.seq
where not exists (select 1 from pawl_jobs next where next.retry_of = j.job_id)
limit ?`

// Reads the whole queue, but only for a Job that seems to be damaged: somebody may have changed its priority by hand, so
// that it is not found at its place. It has not been claimed, and `doctor` says what to do about it.
const IS_QUEUED_ELSEWHERE = 'select 1 as found from pawl_queue where seq = ?'

export function findDamage(connection: Connection, interned: Interned, limit: number): Damage[] {
  const toDamaged = (row: DamagedRow): DamagedJob => ({
    jobId: row.job_id,
    policy: policyById(connection, interned, row.policy_id),
    counts: countsOf(row),
  })
  const runMissing = new Map(
    [SELECT_RUN_MISSING, SELECT_RUN_MISSING_OF_OCCUPANCY]
      .flatMap((sql) => connection.all<DamagedRow>(sql, limit))
      .filter(({ seq }) => connection.get(IS_QUEUED_ELSEWHERE, seq) === undefined)
      .map((row) => [row.job_id, toDamaged(row)]),
  )
  return [
    ...[...runMissing.values()].map((job): Damage => ({ kind: 'run-missing', job })),
    ...connection
      .all<ClaimedRow>(SELECT_OCCUPANCY_MISSING, limit)
      .map((row): Damage => ({ kind: 'occupancy-missing', job: toClaimedJob(row, connection, interned) })),
    ...connection
      .all<DamagedRow>(SELECT_RETRY_MISSING, limit)
      .map((row): Damage => ({ kind: 'retry-missing', job: toDamaged(row) })),
  ].slice(0, limit)
}

const SELECT_REPAIRED_JOB = `
select ${JOB_COLUMNS}
${FROM_JOBS}
where j.job_id = ?`

const HAS_RUN = 'select 1 as found from pawl_runs where seq = ?'

const INSERT_FAILED_RUN = `
insert into pawl_runs (seq, run_id, node_seq, status, reason, started_at, finished_at, will_retry, error)
values (?, ?, ?, 'FAILED', ?, ?, ?, ?, ?)`

const DELETE_OCCUPANCY = 'delete from pawl_occupancies where seq = ?'

export function repairMissingRun(
  transaction: Transaction,
  repair: {
    jobId: string
    runId: string
    by: string
    outcome: Outcome & { status: 'FAILED' }
    retry: RetryOrder | null
    newId: () => string
    now: number
  },
): boolean {
  const { connection } = transaction
  const job = connection.get<JobRow>(SELECT_REPAIRED_JOB, repair.jobId)
  if (job === undefined || statusOf(job) !== 'RUNNING' || connection.get(HAS_RUN, job.seq) !== undefined) return false
  const retry = job.cancel_requested_at === null ? repair.retry : null
  const nodeSeq = internNode(transaction, repair.by)
  connection.run(
    INSERT_FAILED_RUN,
    job.seq,
    repair.runId,
    nodeSeq,
    repair.outcome.reason,
    repair.now,
    repair.now,
    retry === null ? 0 : 1,
    repair.outcome.error,
  )
  countRun(transaction, nodeSeq, {
    status: 'FAILED',
    runAt: job.run_at,
    startedAt: repair.now,
    finishedAt: repair.now,
  })
  connection.run(DELETE_OCCUPANCY, job.seq)
  const ended = endedRow(transaction, job)
  tellRunEnd(transaction, ended, 'FAILED', retry !== null, repair.now)
  if (retry !== null) insertRetry(transaction, job.seq, retry, { awaitsPredecessor: false, now: repair.now })
  else {
    if (job.business_key !== null) releaseBusinessKey(transaction, job.business_key, job.chain_id ?? job.job_id)
    settleChain(transaction, ended, 'FAILED', repair.now)
  }
  transaction.note(job.seq, {
    kind: 'job.finished',
    jobId: job.job_id,
    runId: repair.runId,
    chainId: job.chain_id ?? job.job_id,
    type: laneById(connection, transaction.interned, job.lane_id).type,
    status: 'FINISHED',
    outcome: 'FAILED',
    reason: repair.outcome.reason,
    attempt: job.attempt,
    at: repair.now,
  })
  carryOut(transaction, { nodeSeq: findLiveNodeSeq(connection, repair.by), newId: repair.newId }, repair.now)
  return true
}

const IS_RETRY_MISSING = `
select 1 as found
from pawl_runs
where seq = ? and will_retry = 1
  and not exists (select 1 from pawl_jobs where retry_of = ?)`

export function repairMissingRetry(
  transaction: Transaction,
  repair: { jobId: string; retry: RetryOrder; now: number },
): boolean {
  const { connection } = transaction
  const job = connection.get<JobRow>(SELECT_REPAIRED_JOB, repair.jobId)
  if (job === undefined || connection.get(IS_RETRY_MISSING, job.seq, job.job_id) === undefined) return false
  insertRetry(transaction, job.seq, repair.retry, {
    awaitsPredecessor: isChainOccupied(connection, job.chain_id ?? job.job_id),
    now: repair.now,
  })
  return true
}
