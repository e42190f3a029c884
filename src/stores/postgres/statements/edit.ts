import type { EditResult, JobEdit } from '../../../store/jobs.ts'
import type { Store } from '../../../store/store.ts'
import { type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { isStale } from './job-version.ts'
import { lockJob } from './locks.ts'
import { noteQueued } from './note-queued.ts'
import { takeLastPosition } from './numbers.ts'

/** What of a Job an edit may change. */
interface Editable {
  readonly priority: number
  readonly position: number
  readonly runAt: number
  readonly params: string
}

export async function editJob(
  transaction: Transaction,
  { jobId, edit, expected, now }: Parameters<Store['editJob']>[0],
): Promise<EditResult> {
  const locked = await lockJob(transaction.connection, { jobId })
  if (locked === null) return { kind: 'not-found' }
  const { job } = locked
  if (job.queued === null) return { kind: 'not-queued', status: statusOf(job) }
  if (isStale(job, expected)) return { kind: 'stale' }
  const edited = await apply(transaction, job, edit, now)
  const isElsewhere = edited.priority !== job.priority
  const isOther = edited.runAt !== job.run_at || edited.params !== job.params
  if (isElsewhere || isOther) await write(transaction, job, edited, now)
  // Who follows the queue hears of a mere change of place as of every other; only the rest is news of another kind.
  if (isOther) noteQueued(transaction, 'job.edited', job, now)
  else if (isElsewhere) noteQueued(transaction, 'job.moved', job, now)
  return { kind: 'edited' }
}

async function apply(transaction: Transaction, job: JobRow, edit: JobEdit, now: number): Promise<Editable> {
  const { priority = job.priority, params = job.params, runAt = job.run_at } = edit
  return {
    priority,
    position: priority === job.priority ? job.position : await takeLastPosition(transaction.connection),
    // One that was due already keeps the instant since which it waits.
    runAt: runAt ?? Math.min(job.run_at, now),
    params,
  }
}

// 1 row: it is QUEUED. Whoever else keeps it from starting still does.
const EDIT_IN_QUEUE = `
update pawl.queue
set priority = $1, position = $2, run_at = $3::bigint,
  ready = (not awaits_predecessor and unmet_parents = 0 and $3::bigint <= $4::bigint)
where priority = $5 and position = $6 and created_at = $7 and seq = $8`
const EDIT_JOB = 'update pawl.jobs set priority = $1, position = $2, run_at = $3, params = $4 where seq = $5'

async function write({ connection }: Transaction, job: JobRow, edited: Editable, now: number): Promise<void> {
  const { priority, position, runAt, params } = edited
  const inQueue = [job.priority, job.position, job.created_at, job.seq]
  await connection.run(EDIT_IN_QUEUE, priority, position, runAt, now, ...inQueue)
  await connection.run(EDIT_JOB, priority, position, runAt, params, job.seq)
}
