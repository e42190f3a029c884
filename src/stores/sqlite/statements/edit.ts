import type { EditResult, JobEdit } from '../../../store/jobs.ts'
import type { Store } from '../../../store/store.ts'
import { type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { findJobRow } from './history.ts'
import { isStale } from './job-version.ts'
import { noteQueued } from './note-queued.ts'

/** What of a Job an edit may change. */
interface Editable {
  readonly priority: number
  readonly position: number
  readonly runAt: number
  readonly params: string
}

export function editJob(
  transaction: Transaction,
  { jobId, edit, expected, now }: Parameters<Store['editJob']>[0],
): EditResult {
  const job = findJobRow(transaction.connection, { jobId })
  if (job === undefined) return { kind: 'not-found' }
  if (job.queued === null) return { kind: 'not-queued', status: statusOf(job) }
  if (isStale(job, expected)) return { kind: 'stale' }
  const edited = apply(transaction, job, edit, now)
  const isElsewhere = edited.priority !== job.priority
  const isOther = edited.runAt !== job.run_at || edited.params !== job.params
  if (isElsewhere || isOther) write(transaction, job, edited, now)
  // Who follows the queue hears of a mere change of place as of every other; only the rest is news of another kind.
  if (isOther) noteQueued(transaction, 'job.edited', job, now)
  else if (isElsewhere) noteQueued(transaction, 'job.moved', job, now)
  return { kind: 'edited' }
}

function apply(transaction: Transaction, job: JobRow, edit: JobEdit, now: number): Editable {
  const { priority = job.priority, params = job.params, runAt = job.run_at } = edit
  return {
    priority,
    position: priority === job.priority ? job.position : transaction.takeLastPosition(priority),
    // One that was due already keeps the instant since which it waits.
    runAt: runAt ?? Math.min(job.run_at, now),
    params,
  }
}

// 1 row: it is QUEUED. Whoever else keeps it from starting still does.
const EDIT_IN_QUEUE = `
update pawl_queue
set priority = ?, position = ?, run_at = ?, ready = (awaits_predecessor = 0 and unmet_parents = 0 and ? <= ?)
where priority = ? and position = ? and created_at = ? and seq = ?`
const EDIT_JOB = 'update pawl_jobs set priority = ?, position = ?, run_at = ?, params = ? where seq = ?'

function write({ connection }: Transaction, job: JobRow, edited: Editable, now: number): void {
  const { priority, position, runAt, params } = edited
  const inQueue = [job.priority, job.position, job.created_at, job.seq]
  connection.run(EDIT_IN_QUEUE, priority, position, runAt, runAt, now, ...inQueue)
  connection.run(EDIT_JOB, priority, position, runAt, params, job.seq)
}
