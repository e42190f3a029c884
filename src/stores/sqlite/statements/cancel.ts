import { assert } from '../../../domain/errors.ts'
import type { CancelResult, JobStore } from '../../../store/jobs.ts'
import { statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { carryOut, NOBODY } from './cascades.ts'
import { findJobRow, findLastOfChain } from './history.ts'
import { isStale } from './job-version.ts'
import { cancelQueued } from './leave-queue.ts'
import { wishCancel } from './wish-cancel.ts'

export function cancelJob(transaction: Transaction, request: Parameters<JobStore['cancelJob']>[0]): CancelResult {
  const job = findJobRow(transaction.connection, { jobId: request.jobId })
  if (job === undefined) return { kind: 'not-found' }
  if (isStale(job, request.expected)) return { kind: 'stale' }
  const { mode, reason, now } = request
  const last = findLastOfChain(transaction.connection, job)
  switch (statusOf(last)) {
    case 'QUEUED': {
      // No body executes, so that every mode means the same.
      cancelQueued(transaction, last, {
        mode: mode === 'only-queued' ? 'graceful' : mode,
        reason,
        cancelledFor: null,
        now,
      })
      carryOut(transaction, NOBODY, now)
      return { kind: 'cancelled', jobId: last.job_id }
    }
    case 'RUNNING':
      if (mode === 'only-queued') return { kind: 'running', jobId: last.job_id }
      return { kind: 'requested', jobId: last.job_id, mode: wishCancel(transaction, last, { mode, reason, now }) }
    case 'CANCELLED':
      return { kind: 'already-cancelled', jobId: last.job_id }
    case 'FINISHED':
      assert(last.run_status !== null, `Job ${last.job_id} is FINISHED without an outcome`)
      return { kind: 'ended', jobId: last.job_id, outcome: last.run_status }
  }
}
