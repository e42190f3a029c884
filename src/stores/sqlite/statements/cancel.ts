import { assert } from '../../../domain/errors.ts'
import type { CancelMode } from '../../../domain/job.ts'
import type { CancelResult } from '../../../store/jobs.ts'
import { statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { carryOut, NOBODY } from './cascades.ts'
import { findJobRow, findLastOfChain } from './history.ts'
import { cancelQueued } from './leave-queue.ts'
import { wishCancel } from './wish-cancel.ts'

interface CancelRequest {
  readonly jobId: string
  readonly mode: CancelMode
  readonly reason: string | null
  readonly now: number
}

export function cancelJob(transaction: Transaction, request: CancelRequest): CancelResult {
  const job = findJobRow(transaction.connection, { jobId: request.jobId })
  if (job === undefined) return { kind: 'not-found' }
  const last = findLastOfChain(transaction.connection, job)
  switch (statusOf(last)) {
    case 'QUEUED':
      cancelQueued(transaction, last, { ...request, cancelledFor: null })
      carryOut(transaction, NOBODY, request.now)
      return { kind: 'cancelled', jobId: last.job_id }
    case 'RUNNING':
      return { kind: 'requested', jobId: last.job_id, mode: wishCancel(transaction, last, request) }
    case 'CANCELLED':
      return { kind: 'already-cancelled', jobId: last.job_id }
    case 'FINISHED':
      assert(last.run_status !== null, `Job ${last.job_id} is FINISHED without an outcome`)
      return { kind: 'ended', jobId: last.job_id, outcome: last.run_status }
  }
}
