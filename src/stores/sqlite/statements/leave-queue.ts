import type { CancelMode } from '../../../domain/job.ts'
import type { Outcome } from '../../../domain/run.ts'
import { countCancelled, countRun } from '../../shared/tallies.ts'
import type { JobRow } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { endedRow, settleChain, tellCancelled, tellRunEnd } from './ended.ts'
import { releaseBusinessKey } from './keys.ts'
import { chainSeqOf } from './parents.ts'

// 1 row: it will never start.
const LEAVE_QUEUE = 'delete from pawl_queue where priority = ? and position = ? and created_at = ? and seq = ?'

const MARK_CANCELLED = `
update pawl_jobs
set cancelled_at = ?, cancel_requested_at = ?, cancel_mode = ?, cancel_reason = ?, cancelled_for = ?
where seq = ?`

/** QUEUED to CANCELLED: it never had a Run, and its chain has settled. */
export function cancelQueued(
  transaction: Transaction,
  row: JobRow,
  request: {
    readonly mode: CancelMode
    readonly reason: string | null
    /** The chain whose failure is the cause, if one is. */
    readonly cancelledFor: string | null
    readonly by?: 'itself' | 'its-group'
    readonly now: number
  },
): void {
  const { mode, reason, cancelledFor, now } = request
  const job = endedRow(transaction, row)
  leaveQueue(transaction, row)
  transaction.connection.run(MARK_CANCELLED, now, now, mode, reason, cancelledFor, row.seq)
  countCancelled(transaction, now)
  const { jobId, chainId, type, attempt } = job
  transaction.note(row.seq, { kind: 'job.cancelled', jobId, chainId, type, attempt, status: 'CANCELLED', at: now })
  tellCancelled(transaction, job, now)
  settleChain(transaction, job, 'CANCELLED', now, request.by)
}

const INSERT_SKIPPED_RUN = `
insert into pawl_runs (seq, run_id, node_seq, status, started_at, finished_at, error)
values (?, ?, ?, 'SKIPPED', ?, ?, ?)`

/** QUEUED to FINISHED with a SKIPPED Run: a member of a group that is not to be executed. */
export function skipQueued(
  transaction: Transaction,
  row: JobRow,
  request: {
    readonly outcome: Outcome & { readonly status: 'SKIPPED' }
    readonly runId: string
    readonly nodeSeq: number
    readonly now: number
  },
): void {
  const { outcome, runId, nodeSeq, now } = request
  const job = endedRow(transaction, row)
  leaveQueue(transaction, row)
  transaction.connection.run(INSERT_SKIPPED_RUN, row.seq, runId, nodeSeq, now, now, outcome.message)
  countRun(transaction, nodeSeq, { status: 'SKIPPED', runAt: row.run_at, startedAt: now, finishedAt: now })
  const { jobId, chainId, type, attempt } = job
  transaction.note(row.seq, {
    kind: 'job.finished',
    jobId,
    runId,
    chainId,
    type,
    attempt,
    status: 'FINISHED',
    outcome: 'SKIPPED',
    at: now,
  })
  tellRunEnd(transaction, job, 'SKIPPED', false, now)
  settleChain(transaction, job, 'SKIPPED', now)
}

// It waits for nobody any more, so the end of a parent need not look for it.
const GIVE_UP_WAITING = 'update pawl_dependencies set met = 2 where child_seq = ? and met = 0'

function leaveQueue(transaction: Transaction, row: JobRow): void {
  transaction.connection.run(LEAVE_QUEUE, row.priority, row.position, row.created_at, row.seq)
  if (row.unmet_parents !== null && row.unmet_parents > 0) {
    const chainSeq = row.chain_id === null ? row.seq : chainSeqOf(transaction.connection, row.chain_id)
    transaction.connection.run(GIVE_UP_WAITING, chainSeq ?? row.seq)
  }
  // While the body of an earlier attempt executes, the key stays with its occupancy.
  if (row.business_key !== null && row.awaits_predecessor === 0) {
    releaseBusinessKey(transaction, row.business_key, row.chain_id ?? row.job_id)
  }
}
