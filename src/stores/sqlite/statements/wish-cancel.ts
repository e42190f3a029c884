import type { CancelMode } from '../../../domain/job.ts'
import type { JobRow } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { findRunIdOf } from './history.ts'
import { laneById } from './interned.ts'

// An abort can follow a graceful wish, never the reverse. The first reason and time stand. 0 rows: it has been wished before.
const WISH_CANCEL = `
update pawl_jobs
set cancel_requested_at = coalesce(cancel_requested_at, ?1),
  cancel_mode = case when cancel_mode = 'abort' then 'abort' else ?2 end,
  cancel_reason = coalesce(cancel_reason, ?3)
where seq = ?4
  and (cancel_requested_at is null or ?2 = 'abort' and cancel_mode <> 'abort' or cancel_reason is null and ?3 is not null)
returning cancel_mode`

const SELECT_MODE = 'select cancel_mode from pawl_jobs where seq = ?'

/** Notes that a RUNNING Job is to be cancelled. Returns how: a wish to abort stands against a later graceful one. */
export function wishCancel(
  transaction: Transaction,
  job: JobRow,
  request: { readonly mode: CancelMode; readonly reason: string | null; readonly now: number },
): CancelMode {
  const { mode, reason, now } = request
  const { connection } = transaction
  const wished = connection.runReturning<{ cancel_mode: CancelMode }>(WISH_CANCEL, now, mode, reason, job.seq)
  if (wished === undefined) {
    return connection.get<{ cancel_mode: CancelMode }>(SELECT_MODE, job.seq)?.cancel_mode ?? mode
  }
  transaction.note(job.seq, {
    kind: 'job.cancel-requested',
    jobId: job.job_id,
    runId: findRunIdOf(connection, job.seq),
    chainId: job.chain_id ?? job.job_id,
    type: laneById(connection, transaction.interned, job.lane_id).type,
    status: 'RUNNING',
    attempt: job.attempt,
    at: now,
  })
  return wished.cancel_mode
}
