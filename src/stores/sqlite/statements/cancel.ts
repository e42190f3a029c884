import { assert } from '../../../domain/errors.ts'
import type { CancelMode } from '../../../domain/job.ts'
import type { Transition } from '../../../store/events.ts'
import type { CancelResult } from '../../../store/jobs.ts'
import { type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { releaseBusinessKey } from './finish.ts'
import { findJobRow, findLastOfChain, findRunIdOf } from './history.ts'
import { laneById } from './interned.ts'

interface CancelRequest {
  readonly jobId: string
  readonly mode: CancelMode
  readonly reason: string | null
  readonly now: number
}

// 1 row: it will never start.
const LEAVE_QUEUE = 'delete from pawl_queue where priority = ? and position = ? and created_at = ? and seq = ?'

const MARK_CANCELLED = `
update pawl_jobs
set cancelled_at = ?, cancel_requested_at = ?, cancel_mode = ?, cancel_reason = ?
where seq = ?`

// An abort can follow a graceful wish, never the reverse. The first reason and time stand.
const WISH_CANCEL = `
update pawl_jobs
set cancel_requested_at = coalesce(cancel_requested_at, ?),
  cancel_mode = case when cancel_mode = 'abort' then 'abort' else ? end,
  cancel_reason = coalesce(cancel_reason, ?)
where seq = ?
returning cancel_mode`

export function cancelJob(transaction: Transaction, request: CancelRequest): CancelResult {
  const job = findJobRow(transaction.connection, { jobId: request.jobId })
  if (job === undefined) return { kind: 'not-found' }
  const last = findLastOfChain(transaction.connection, job)
  switch (statusOf(last)) {
    case 'QUEUED':
      return cancelQueued(transaction, last, request)
    case 'RUNNING':
      return wishCancel(transaction, last, request)
    case 'CANCELLED':
      return { kind: 'already-cancelled', jobId: last.job_id }
    case 'FINISHED':
      assert(last.run_status !== null, `Job ${last.job_id} is FINISHED without an outcome`)
      return { kind: 'ended', jobId: last.job_id, outcome: last.run_status }
  }
}

function cancelQueued(transaction: Transaction, job: JobRow, { mode, reason, now }: CancelRequest): CancelResult {
  transaction.connection.run(LEAVE_QUEUE, job.priority, job.position, job.created_at, job.seq)
  transaction.connection.run(MARK_CANCELLED, now, now, mode, reason, job.seq)
  // While the body of an earlier attempt executes, the key stays with its occupancy.
  if (job.business_key !== null && job.awaits_predecessor === 0) {
    releaseBusinessKey(transaction, job.business_key, job.chain_id ?? job.job_id)
  }
  noteTransition(transaction, job, { kind: 'job.cancelled', status: 'CANCELLED', runId: null, at: now })
  return { kind: 'cancelled', jobId: job.job_id }
}

function wishCancel(transaction: Transaction, job: JobRow, { mode, reason, now }: CancelRequest): CancelResult {
  const row = transaction.connection.runReturning<{ cancel_mode: CancelMode }>(WISH_CANCEL, now, mode, reason, job.seq)
  const runId = findRunIdOf(transaction.connection, job.seq)
  noteTransition(transaction, job, { kind: 'job.cancel-requested', status: 'RUNNING', runId, at: now })
  return { kind: 'requested', jobId: job.job_id, mode: row?.cancel_mode ?? mode }
}

function noteTransition(
  transaction: Transaction,
  job: JobRow,
  what: Pick<Transition, 'kind' | 'status' | 'runId' | 'at'>,
): void {
  transaction.note(job.seq, {
    ...what,
    jobId: job.job_id,
    chainId: job.chain_id ?? job.job_id,
    type: laneById(transaction.connection, transaction.interned, job.lane_id).type,
    attempt: job.attempt,
  })
}
