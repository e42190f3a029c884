import type { CancelMode } from '../../../domain/job.ts'
import type { Transaction } from '../transaction.ts'
import { findRunIdOf } from './history.ts'
import type { LiveRow } from './live-rows.ts'

// An abort can follow a graceful wish, never the reverse. The first reason and time stand.
const WISH_CANCEL = `
update pawl.jobs
set cancel_requested_at = coalesce(cancel_requested_at, $1),
  cancel_mode = case when cancel_mode = 'abort' then 'abort' else $2 end,
  cancel_reason = coalesce(cancel_reason, $3)
where seq = $4
returning cancel_mode`

/**
 * Notes that a RUNNING Job, whose chain is locked, is to be cancelled. Returns how: a wish to abort stands against a later
 * graceful one.
 */
export async function wishCancel(
  transaction: Transaction,
  job: Pick<LiveRow, 'seq' | 'job_id' | 'chain_id' | 'type' | 'attempt'>,
  request: { readonly mode: CancelMode; readonly reason: string | null; readonly now: number },
): Promise<CancelMode> {
  const { connection } = transaction
  const { mode, reason, now } = request
  const row = await connection.runReturning<{ cancel_mode: CancelMode }>(WISH_CANCEL, now, mode, reason, job.seq)
  transaction.note(job.seq, {
    kind: 'job.cancel-requested',
    jobId: job.job_id,
    runId: await findRunIdOf(connection, job.seq),
    chainId: job.chain_id ?? job.job_id,
    type: job.type,
    status: 'RUNNING',
    attempt: job.attempt,
    at: now,
  })
  return row?.cancel_mode ?? mode
}
