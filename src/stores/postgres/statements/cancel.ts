import { assert } from '../../../domain/errors.ts'
import type { CancelResult, JobStore } from '../../../store/jobs.ts'
import { statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { carryOut, NOBODY } from './cascades.ts'
import { isStale } from './job-version.ts'
import { cancelQueued } from './leave-queue.ts'
import { lockJob } from './locks.ts'
import { wishCancel } from './wish-cancel.ts'

export async function cancelJob(
  transaction: Transaction,
  request: Parameters<JobStore['cancelJob']>[0],
): Promise<CancelResult> {
  const locked = await lockJob(transaction.connection, { jobId: request.jobId })
  if (locked === null) return { kind: 'not-found' }
  const { job, last } = locked
  if (isStale(job, request.expected)) return { kind: 'stale' }
  const { mode, reason, now } = request
  switch (statusOf(last)) {
    case 'QUEUED': {
      // No body executes, so that every mode means the same.
      await cancelQueued(transaction, last, {
        mode: mode === 'only-queued' ? 'graceful' : mode,
        reason,
        cancelledFor: null,
        now,
      })
      await carryOut(transaction, NOBODY, now)
      return { kind: 'cancelled', jobId: last.job_id }
    }
    case 'RUNNING': {
      if (mode === 'only-queued') return { kind: 'running', jobId: last.job_id }
      const wished = await wishCancel(transaction, last, { mode, reason, now })
      return { kind: 'requested', jobId: last.job_id, mode: wished }
    }
    case 'CANCELLED':
      return { kind: 'already-cancelled', jobId: last.job_id }
    case 'FINISHED':
      assert(last.run_status !== null, `Job ${last.job_id} is FINISHED without an outcome`)
      return { kind: 'ended', jobId: last.job_id, outcome: last.run_status }
  }
}
