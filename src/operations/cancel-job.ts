import { PawlError } from '../domain/errors.ts'
import type { CancelMode } from '../domain/job.ts'
import { readText, readWord, refuseUnknownKeys } from '../domain/options.ts'
import { capText, ERROR_TEXT_MAX } from '../domain/run.ts'
import type { CancelResult } from '../store/jobs.ts'
import type { OperationContext } from './context.ts'
import { jobChanged, jobNotFound } from './not-found.ts'

export interface CancelOptions {
  /**
   * What happens to a body that executes: `graceful` lets it end and keeps its outcome, `abort` fires its AbortSignal.
   * @default 'graceful'
   */
  readonly mode?: CancelMode
  /** For the history. */
  readonly reason?: string
  /** `jobVersion` of the named Job as you saw it: if it has changed since, nothing is cancelled. */
  readonly version?: string
}

/** `cancelled`: it will not run. `requested`: its body executes, and the wish is carried out where it does. */
export interface Cancellation {
  readonly kind: 'cancelled' | 'requested'
  /** The live Job of the chain, which may be a later attempt than the one named. */
  readonly jobId: string
}

/** Cancels the live Job of a chain, whichever of its Jobs is named. Nothing is retried afterwards. */
export async function cancelJob(
  context: OperationContext,
  jobId: string,
  options: CancelOptions = {},
): Promise<Cancellation> {
  refuseUnknownKeys(options, ['mode', 'reason', 'version'], '')
  const mode = readWord(options.mode ?? 'graceful', ['graceful', 'abort'], 'mode')
  readText(jobId, 'jobId')
  const reason = options.reason === undefined ? null : capText(readText(options.reason, 'reason'), ERROR_TEXT_MAX)
  const expected = options.version === undefined ? null : readText(options.version, 'version')
  const result = await context.store.cancelJob({ jobId, mode, reason, expected, now: context.clock.now() })
  return cancellationOf(result, jobId)
}

/** Cancels the live Job of a chain if it has not started. One that executes is left as it is, and the caller is told. */
export async function cancelQueuedJob(
  context: OperationContext,
  jobId: string,
  options: Pick<CancelOptions, 'version'> = {},
): Promise<Cancellation> {
  refuseUnknownKeys(options, ['version'], '')
  const expected = options.version === undefined ? null : readText(options.version, 'version')
  const request = { jobId: readText(jobId, 'jobId'), mode: 'only-queued', reason: null, expected } as const
  return cancellationOf(await context.store.cancelJob({ ...request, now: context.clock.now() }), jobId)
}

function cancellationOf(result: CancelResult, jobId: string): Cancellation {
  switch (result.kind) {
    case 'cancelled':
    case 'already-cancelled':
      return { kind: 'cancelled', jobId: result.jobId }
    case 'requested':
      return { kind: 'requested', jobId: result.jobId }
    case 'running':
      throw new PawlError(
        'job_not_queued',
        `Job ${result.jobId} is RUNNING, so nothing was changed. Cancel it instead, and say what happens to its body.`,
        { details: { jobId: result.jobId, status: 'RUNNING' } },
      )
    case 'ended':
      throw new PawlError(
        'job_ended',
        `Job ${result.jobId} has ended (${result.outcome}); it cannot be cancelled any more.`,
        { details: { jobId: result.jobId, outcome: result.outcome } },
      )
    case 'stale':
      throw jobChanged(jobId)
    case 'not-found':
      throw jobNotFound(jobId)
  }
}
