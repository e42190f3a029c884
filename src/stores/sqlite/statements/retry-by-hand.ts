import { assert } from '../../../domain/errors.ts'
import type { JobStatus } from '../../../domain/job.ts'
import type { JobStore, ManualRetryResult } from '../../../store/jobs.ts'
import { type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { carryOut } from './cascades.ts'
import { findJobRow, findLastOfChain, findRunIdOf } from './history.ts'
import { callOffStop } from './members.ts'
import { noteQueued } from './note-queued.ts'
import { appendByHand } from './retry.ts'

// 1 row: it is QUEUED. Whoever else keeps it from starting still does.
const MAKE_DUE_IN_QUEUE = `
update pawl_queue
set priority = ?, position = ?, run_at = ?, ready = (awaits_predecessor = 0 and unmet_parents = 0)
where priority = ? and position = ? and created_at = ? and seq = ?`
const MAKE_DUE = 'update pawl_jobs set priority = ?, position = ?, run_at = ? where seq = ?'

export function retryByHand(
  transaction: Transaction,
  request: Parameters<JobStore['retryByHand']>[0],
): ManualRetryResult {
  const job = findJobRow(transaction.connection, request.by)
  if (job === undefined) return { kind: 'not-found' }
  const last = findLastOfChain(transaction.connection, job)
  const status = statusOf(last)
  if (status === 'QUEUED' && last.retry_of !== null && [last.job_id, last.retry_of].includes(job.job_id)) {
    makeDue(transaction, last, request)
    reviveDependents(transaction, last, request)
    return { kind: 'made-due', jobId: last.job_id }
  }
  if (last.seq !== job.seq) return notLast(transaction, last, status)
  const isRetryable = status === 'CANCELLED' || last.run_status === 'FAILED'
  if (!isRetryable) return { kind: 'not-retryable', status, outcome: last.run_status }
  const result = appendByHand(transaction, last, { ...request, byHand: true })
  assert(result.kind !== 'doomed', 'a retry by hand is held back by a failed parent')
  if (result.kind === 'created') reviveDependents(transaction, last, request)
  return result
}

/** Names the attempt that can be retried: of a retry that waits the one before it, which has a Run. */
function notLast({ connection }: Transaction, last: JobRow, status: JobStatus): ManualRetryResult {
  const isWaiting = status === 'QUEUED' && last.retry_of !== null
  const named = (isWaiting ? findJobRow(connection, { jobId: last.retry_of as string }) : undefined) ?? last
  return { kind: 'not-last', lastJobId: named.job_id, lastRunId: findRunIdOf(connection, named.seq) }
}

/** Children that gave up waiting for this chain wait again. */
function reviveDependents(
  transaction: Transaction,
  last: JobRow,
  { dependents, now }: Parameters<JobStore['retryByHand']>[0],
): void {
  if (dependents == null) return
  if (last.group_id !== null) callOffStop(transaction, last.group_id)
  transaction.cascades.push({ kind: 'revived', subject: last.chain_id ?? last.job_id, mode: null, reason: null })
  carryOut(transaction, { nodeSeq: null, newId: dependents.newId }, now)
}

function makeDue(
  transaction: Transaction,
  job: JobRow,
  { priority: wished, now }: Parameters<JobStore['retryByHand']>[0],
): void {
  const priority = wished ?? job.priority
  const position = priority === job.priority ? job.position : transaction.takeLastPosition(priority)
  const runAt = Math.min(job.run_at, now)
  const inQueue = [job.priority, job.position, job.created_at, job.seq]
  transaction.connection.run(MAKE_DUE_IN_QUEUE, priority, position, runAt, ...inQueue)
  transaction.connection.run(MAKE_DUE, priority, position, runAt, job.seq)
  noteQueued(transaction, 'job.queued', job, now)
}
