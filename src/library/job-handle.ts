import { PawlError } from '../domain/errors.ts'
import type { Job } from '../domain/job.ts'
import type { FailureReason, Progress } from '../domain/run.ts'
import type { Why } from '../domain/why.ts'
import type { Cancellation, CancelOptions } from '../operations/cancel-job.ts'
import type { ChainEnd, EnqueuedItem } from '../store/jobs.ts'
import type { Scheduler } from './scheduler.ts'

/** How a chain ended. */
export type Settled<Result = unknown> =
  | {
      readonly outcome: 'COMPLETED'
      readonly result: Result
      readonly error: null
      readonly reason: null
      readonly attempts: number
      readonly jobId: string
    }
  | {
      readonly outcome: 'FAILED' | 'SKIPPED' | 'CANCELLED'
      readonly result: null
      /** What failed, why it was skipped, or why it was cancelled. */
      readonly error: string | null
      readonly reason: FailureReason | null
      readonly attempts: number
      /** The last Job of the chain. */
      readonly jobId: string
    }

/** An accepted Job. */
export interface JobHandle<Result = unknown> {
  readonly jobId: string
  /** True when an idempotency key was answered with an earlier Job. */
  readonly existed: boolean
  /** True when that earlier Job has been pruned since: its history is gone. */
  readonly pruned: boolean
  /** Waits until the chain has ended, retries included, in whatever process it runs. Never rejects because a Job failed. */
  settled(): Promise<Settled<Result>>
  /** Calls the listener with each progress that a body of the chain reports. Returns the way to stop it. */
  onProgress(listener: (progress: Progress) => void): () => void
  get(): Promise<Job>
  /** Why this Job is not running, or where it runs, or how and why it ended: in words and codes. */
  why(): Promise<Why>
  cancel(options?: CancelOptions): Promise<Cancellation>
}

/** One object per Job and nothing else: many are made and most are never asked anything. */
export class AcceptedJob implements JobHandle {
  readonly jobId: string
  readonly existed: boolean
  readonly pruned: boolean
  readonly #scheduler: Scheduler

  constructor(scheduler: Scheduler, item: EnqueuedItem) {
    this.jobId = item.jobId
    this.existed = item.kind === 'existing'
    this.pruned = item.kind === 'existing' && item.pruned
    this.#scheduler = scheduler
  }

  settled(): Promise<Settled> {
    return this.#scheduler.settled(this.jobId)
  }

  onProgress(listener: (progress: Progress) => void): () => void {
    return this.#scheduler.on('run.progress', ({ chainId, progress, message }) => {
      if (chainId === this.jobId) listener({ fraction: progress ?? 0, message: message ?? null })
    })
  }

  get(): Promise<Job> {
    return this.#scheduler.getJob(this.jobId)
  }

  why(): Promise<Why> {
    return this.#scheduler.why(this.jobId)
  }

  cancel(options?: CancelOptions): Promise<Cancellation> {
    return this.#scheduler.cancel(this.jobId, options)
  }
}

export function toSettled<Result>(end: ChainEnd): Settled<Result> {
  const { attempts, jobId } = end
  if (end.outcome === 'COMPLETED') {
    const result = readResult(end) as Result
    return { outcome: end.outcome, result, error: null, reason: null, attempts, jobId }
  }
  return { outcome: end.outcome, result: null, error: end.error, reason: end.reason, attempts, jobId }
}

function readResult({ jobId, result }: ChainEnd): unknown {
  try {
    return JSON.parse(result ?? 'null')
  } catch (error) {
    const message = `Expected the stored result of Job ${jobId} to be JSON, but it is not any more: the database was changed or damaged. Restore a backup.`
    throw new PawlError('database_corrupt', message, { cause: error })
  }
}
