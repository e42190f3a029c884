import type { Transaction } from '../transaction.ts'

/** What is known of a QUEUED Job where something is noted of it. */
interface QueuedJob {
  readonly seq: number
  readonly job_id: string
  readonly chain_id: string | null
  readonly type: string
  readonly attempt: number
}

/** Notes something that left a Job QUEUED, or made it so. */
export function noteQueued(
  transaction: Transaction,
  kind: 'job.queued' | 'job.moved' | 'job.edited' | 'job.released',
  job: QueuedJob,
  now: number,
): void {
  transaction.note(job.seq, {
    kind,
    jobId: job.job_id,
    chainId: job.chain_id ?? job.job_id,
    type: job.type,
    status: 'QUEUED',
    attempt: job.attempt,
    at: now,
  })
}
