import { assert } from '../../../domain/errors.ts'
import type { JobStatus } from '../../../domain/job.ts'
import type { JobStore, ManualRetryResult } from '../../../store/jobs.ts'
import { type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { carryOut } from './cascades.ts'
import { findJobRow, findRunIdOf } from './history.ts'
import { lockJob } from './locks.ts'
import { callOffStop, lockStop } from './members.ts'
import { noteQueued } from './note-queued.ts'
import { takeLastPosition } from './numbers.ts'
import { appendByHand } from './retry.ts'

// 1 row: it is QUEUED. Whoever else keeps it from starting still does.
const MAKE_DUE_IN_QUEUE = `
update pawl.queue
set priority = $1, position = $2, run_at = $3, ready = (not awaits_predecessor and unmet_parents = 0)
where priority = $4 and position = $5 and created_at = $6 and seq = $7`
const MAKE_DUE = 'update pawl.jobs set priority = $1, position = $2, run_at = $3 where seq = $4'

/** The chain is locked all the while, so of two who ask at once the second sees what the first made. */
export async function retryByHand(
  transaction: Transaction,
  request: Parameters<JobStore['retryByHand']>[0],
): Promise<ManualRetryResult> {
  const locked = await lockJob(transaction.connection, request.by)
  if (locked === null) return { kind: 'not-found' }
  const { job, last, chainSeq } = locked
  const status = statusOf(last)
  if (request.dependents != null && last.group_id !== null) await lockStop(transaction, last.group_id)
  if (status === 'QUEUED' && last.retry_of !== null && [last.job_id, last.retry_of].includes(job.job_id)) {
    await makeDue(transaction, last, request)
    await reviveDependents(transaction, last, request)
    return { kind: 'made-due', jobId: last.job_id }
  }
  if (last.seq !== job.seq) return notLast(transaction, last, status)
  const isRetryable = status === 'CANCELLED' || last.run_status === 'FAILED'
  if (!isRetryable) return { kind: 'not-retryable', status, outcome: last.run_status }
  const result = await appendByHand(transaction, last, { ...request, byHand: true, chainSeq })
  assert(result.kind !== 'doomed', 'a retry by hand is held back by a failed parent')
  if (result.kind === 'created') await reviveDependents(transaction, last, request)
  return result
}

/** Names the attempt that can be retried: of a retry that waits the one before it, which has a Run. */
async function notLast({ connection }: Transaction, last: JobRow, status: JobStatus): Promise<ManualRetryResult> {
  const isWaiting = status === 'QUEUED' && last.retry_of !== null
  const named = (isWaiting ? await findJobRow(connection, { jobId: last.retry_of as string }) : undefined) ?? last
  return { kind: 'not-last', lastJobId: named.job_id, lastRunId: await findRunIdOf(connection, named.seq) }
}

/** Children that gave up waiting for this chain wait again. */
async function reviveDependents(
  transaction: Transaction,
  last: JobRow,
  { dependents, now }: Parameters<JobStore['retryByHand']>[0],
): Promise<void> {
  if (dependents == null) return
  if (last.group_id !== null) await callOffStop(transaction, last.group_id)
  transaction.cascades.push({ kind: 'revived', subject: last.chain_id ?? last.job_id, mode: null, reason: null })
  await carryOut(transaction, { nodeSeq: null, newId: dependents.newId }, now)
}

async function makeDue(
  transaction: Transaction,
  job: JobRow,
  { priority: wished, now }: Parameters<JobStore['retryByHand']>[0],
): Promise<void> {
  const { connection } = transaction
  const priority = wished ?? job.priority
  const position = priority === job.priority ? job.position : await takeLastPosition(connection)
  const runAt = Math.min(job.run_at, now)
  const inQueue = [job.priority, job.position, job.created_at, job.seq]
  await connection.run(MAKE_DUE_IN_QUEUE, priority, position, runAt, ...inQueue)
  await connection.run(MAKE_DUE, priority, position, runAt, job.seq)
  noteQueued(transaction, 'job.queued', job, now)
}
