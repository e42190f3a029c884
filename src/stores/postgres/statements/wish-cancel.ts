import type { CancelMode } from '../../../domain/job.ts'
import type { Transaction } from '../transaction.ts'
import { findRunIdOf } from './history.ts'
import type { LiveRow } from './live-rows.ts'

// An abort can follow a graceful wish, never the reverse. The first reason and time stand. 0 rows: it has been wished before.
const WISH_CANCEL = `
update pawl.jobs
set cancel_requested_at = coalesce(cancel_requested_at, $1),
  cancel_mode = case when cancel_mode = 'abort' then 'abort' else $2::text end,
  cancel_reason = coalesce(cancel_reason, $3)
where seq = $4
  and (cancel_requested_at is null or $2 = 'abort' and cancel_mode <> 'abort' or cancel_reason is null and $3::text is not null)
returning cancel_mode`

const SELECT_MODE = 'select cancel_mode from pawl.jobs where seq = $1'

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
  const wished = await connection.runReturning<{ cancel_mode: CancelMode }>(WISH_CANCEL, now, mode, reason, job.seq)
  if (wished === undefined) {
    return (await connection.get<{ cancel_mode: CancelMode }>(SELECT_MODE, job.seq))?.cancel_mode ?? mode
  }
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
  return wished.cancel_mode
}
