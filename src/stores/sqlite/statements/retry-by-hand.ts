import { assert } from '../../../domain/errors.ts'
import type { JobStore, ManualRetryResult } from '../../../store/jobs.ts'
import { type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { carryOut } from './cascades.ts'
import { findJobRow, findLastOfChain, findRunIdOf } from './history.ts'
import { callOffStop } from './members.ts'
import { appendByHand, noteQueued } from './retry.ts'

const MAKE_DUE_IN_QUEUE = `
update pawl_queue
set run_at = ?, ready = (awaits_predecessor = 0 and unmet_parents = 0)
where priority = ? and position = ? and created_at = ? and seq = ?`
const MAKE_DUE = 'update pawl_jobs set run_at = ? where seq = ?'

export function retryByHand(
  transaction: Transaction,
  request: Parameters<JobStore['retryByHand']>[0],
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
    reviveDependents(transaction, last, request)
    return { kind: 'made-due', jobId: last.job_id }
  }
  const isRetryable = status === 'CANCELLED' || last.run_status === 'FAILED'
  if (!isRetryable) return { kind: 'not-retryable', status, outcome: last.run_status }
  const result = appendByHand(transaction, last, { ...request, byHand: true })
  assert(result.kind !== 'doomed', 'a retry by hand is held back by a failed parent')
  if (result.kind === 'created') reviveDependents(transaction, last, request)
  return result
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

function makeDue(transaction: Transaction, job: JobRow, now: number): void {
  const runAt = Math.min(job.run_at, now)
  transaction.connection.run(MAKE_DUE_IN_QUEUE, runAt, job.priority, job.position, job.created_at, job.seq)
  transaction.connection.run(MAKE_DUE, runAt, job.seq)
  noteQueued(transaction, job.job_id, job, now)
}
