import type { CancelMode } from '../../../domain/job.ts'
import type { JobRow } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { findRunIdOf } from './history.ts'
import { laneById } from './interned.ts'

// An abort can follow a graceful wish, never the reverse. The first reason and time stand.
const WISH_CANCEL = `
update pawl_jobs
set cancel_requested_at = coalesce(cancel_requested_at, ?),
  cancel_mode = case when cancel_mode = 'abort' then 'abort' else ? end,
  cancel_reason = coalesce(cancel_reason, ?)
where seq = ?
returning cancel_mode`

/** Notes that a RUNNING Job is to be cancelled. Returns how: a wish to abort stands against a later graceful one. */
export function wishCancel(
  transaction: Transaction,
  job: JobRow,
  request: { readonly mode: CancelMode; readonly reason: string | null; readonly now: number },
): CancelMode {
  const { mode, reason, now } = request
  const row = transaction.connection.runReturning<{ cancel_mode: CancelMode }>(WISH_CANCEL, now, mode, reason, job.seq)
  transaction.note(job.seq, {
    kind: 'job.cancel-requested',
    jobId: job.job_id,
    runId: findRunIdOf(transaction.connection, job.seq),
    chainId: job.chain_id ?? job.job_id,
    type: laneById(transaction.connection, transaction.interned, job.lane_id).type,
    status: 'RUNNING',
    attempt: job.attempt,
    at: now,
  })
  return row?.cancel_mode ?? mode
}
