import { assert } from '../../../domain/errors.ts'
import { NO_RETRIES_YET } from '../../../domain/retry.ts'
import type { ManualRetryResult } from '../../../store/jobs.ts'
import type { RetryOrder } from '../../../store/runs.ts'
import type { SqlRow } from '../connection.ts'
import { type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { findBusinessKey, holdBusinessKey, insertQueued } from './enqueue.ts'
import { findJobRow, findLastOfChain, findRunIdOf, isChainOccupied } from './history.ts'
import { laneById } from './interned.ts'

// Everything that the order does not name is copied from the predecessor, also its place in the queue.
const INSERT_RETRY = `
insert into pawl_jobs (
  seq, job_id, lane_id, policy_id, priority, position, run_at, created_at, attempt, chain_id, retry_of,
  error_retries, crash_retries, shutdown_retries, name, tags, created_by, business_key, params
)
select ?, ?, lane_id, policy_id, coalesce(?, priority), coalesce(?, position), ?, ?, attempt + 1,
  coalesce(chain_id, job_id), job_id, ?, ?, ?, name, tags, created_by, business_key, params
from pawl_jobs
where seq = ?
returning seq, chain_id, lane_id, attempt, priority, position`

interface RetryPlace {
  /** A body of the predecessor has not ended: the retry must not start before it has. */
  readonly awaitsPredecessor: boolean
  readonly now: number
  /** Absent: where the predecessor stood. */
  readonly priority?: number
  readonly position?: number
}

export function insertRetry(
  transaction: Transaction,
  predecessorSeq: number,
  order: RetryOrder,
  place: RetryPlace,
): void {
  const { connection } = transaction
  const row = connection.runReturning<InsertedRetry>(
    INSERT_RETRY,
    transaction.takeSeq(),
    order.jobId,
    place.priority ?? null,
    place.position ?? null,
    order.runAt,
    place.now,
    order.counts.errorRetries,
    order.counts.crashRetries,
    order.counts.shutdownRetries,
    predecessorSeq,
  )
  assert(row !== undefined, `there is no Job ${predecessorSeq} to retry`)
  insertQueued(transaction, {
    seq: row.seq,
    laneId: row.lane_id,
    awaitsPredecessor: place.awaitsPredecessor,
    priority: row.priority,
    position: row.position,
    runAt: order.runAt,
    now: place.now,
  })
  noteQueued(transaction, order.jobId, row, place.now)
}

interface InsertedRetry extends SqlRow {
  seq: number
  chain_id: string
  lane_id: number
  attempt: number
  priority: number
  position: number
}

function noteQueued(
  transaction: Transaction,
  jobId: string,
  row: { seq: number; chain_id: string | null; lane_id: number; attempt: number },
  now: number,
): void {
  transaction.note(row.seq, {
    kind: 'job.queued',
    jobId,
    chainId: row.chain_id ?? jobId,
    type: laneById(transaction.connection, transaction.interned, row.lane_id).type,
    status: 'QUEUED',
    attempt: row.attempt,
    at: now,
  })
}

// At most 1 row: a chain has one live Job.
const UNBLOCK_RETRY = `
update pawl_queue
set awaits_predecessor = 0, ready = (run_at <= ?)
where awaits_predecessor = 1
  and (priority, position, created_at, seq) in (select priority, position, created_at, seq from pawl_jobs where chain_id = ?)`

const HAS_LIVE_JOB = `
select 1 as found
from pawl_jobs j
left join pawl_runs r on r.seq = j.seq
where j.chain_id = ? and j.cancelled_at is null and r.status is null
limit 1`

/** The body of an earlier attempt has ended: the retry may start. False: none follows, the chain is settled. */
export function unblockRetry(transaction: Transaction, chainId: string, now: number): boolean {
  transaction.connection.run(UNBLOCK_RETRY, now, chainId)
  return transaction.connection.get(HAS_LIVE_JOB, chainId) !== undefined
}

const MAKE_DUE_IN_QUEUE = `
update pawl_queue
set run_at = ?, ready = (awaits_predecessor = 0)
where priority = ? and position = ? and created_at = ? and seq = ?`
const MAKE_DUE = 'update pawl_jobs set run_at = ? where seq = ?'

export function retryByHand(
  transaction: Transaction,
  request: { by: { jobId: string } | { runId: string }; newJobId: string; priority: number | null; now: number },
): ManualRetryResult {
  const job = findJobRow(transaction.connection, request.by)
  if (job === undefined) return { kind: 'not-found' }
  const last = findLastOfChain(transaction.connection, job)
  const status = statusOf(last)
  if (last.seq !== job.seq) {
    if (last.retry_of !== job.job_id || status !== 'QUEUED') {
      return { kind: 'not-last', lastJobId: last.job_id, lastRunId: findRunIdOf(transaction.connection, last.seq) }
    }
    makeDue(transaction, last, request.now)
    return { kind: 'made-due', jobId: last.job_id }
  }
  const isRetryable = status === 'CANCELLED' || last.run_status === 'FAILED'
  if (!isRetryable) return { kind: 'not-retryable', status, outcome: last.run_status }
  return appendByHand(transaction, last, request)
}

function makeDue(transaction: Transaction, job: JobRow, now: number): void {
  const runAt = Math.min(job.run_at, now)
  transaction.connection.run(MAKE_DUE_IN_QUEUE, runAt, job.priority, job.position, job.created_at, job.seq)
  transaction.connection.run(MAKE_DUE, runAt, job.seq)
  noteQueued(transaction, job.job_id, job, now)
}

function appendByHand(
  transaction: Transaction,
  last: JobRow,
  request: { newJobId: string; priority: number | null; now: number },
): ManualRetryResult {
  if (last.business_key !== null) {
    const chainId = last.chain_id ?? last.job_id
    const holder = findBusinessKey(transaction, last.business_key)
    if (holder !== undefined && holder !== chainId) return { kind: 'business-key-taken', jobId: holder }
    if (holder === undefined) holdBusinessKey(transaction, last.business_key, chainId)
  }
  const priority = request.priority ?? last.priority
  insertRetry(
    transaction,
    last.seq,
    { jobId: request.newJobId, runAt: request.now, counts: NO_RETRIES_YET },
    {
      awaitsPredecessor: isChainOccupied(transaction.connection, last.chain_id ?? last.job_id),
      now: request.now,
      priority,
      position: transaction.takeLastPosition(priority),
    },
  )
  return { kind: 'created', jobId: request.newJobId }
}
