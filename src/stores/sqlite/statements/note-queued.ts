import type { Transaction } from '../transaction.ts'
import { laneById } from './interned.ts'

/** The row of a Job, as far as its events tell of it. */
interface QueuedRow {
  readonly seq: number
  readonly job_id: string
  readonly chain_id: string | null
  readonly lane_id: number
  readonly attempt: number
}

/** Tells of something that happened to a Job which is QUEUED then. */
export function noteQueued(
  transaction: Transaction,
  kind: 'job.queued' | 'job.moved' | 'job.edited' | 'job.released',
  job: QueuedRow,
  now: number,
): void {
  transaction.note(job.seq, {
    kind,
    jobId: job.job_id,
    chainId: job.chain_id ?? job.job_id,
    type: laneById(transaction.connection, transaction.interned, job.lane_id).type,
    status: 'QUEUED',
    attempt: job.attempt,
    at: now,
  })
}
