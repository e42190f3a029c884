import { PawlError } from '../domain/errors.ts'
import { invalid, readText, refuseUnknownKeys } from '../domain/options.ts'
import { isPriority } from '../engine/enqueue.ts'
import type { OperationContext } from './context.ts'
import { jobNotFound, runNotFound } from './not-found.ts'

export interface ManualRetryOptions {
  /** @default the priority it had */
  readonly priority?: number
  /** Also the Jobs that were cancelled because this one had failed get a new Job, and theirs in turn. @default false */
  readonly dependents?: boolean
}

/** `created`: a new Job in the chain. `made-due`: the waiting automatic retry starts now instead of later. */
export interface ManualRetry {
  readonly kind: 'created' | 'made-due'
  readonly jobId: string
}

/** Tries a failed or cancelled chain again, however many retries there were. */
export async function retryJob(
  context: OperationContext,
  by: { readonly jobId: string } | { readonly runId: string },
  options: ManualRetryOptions = {},
): Promise<ManualRetry> {
  refuseUnknownKeys(options, ['priority', 'dependents'], '')
  if (typeof by !== 'object' || by === null) throw invalid('by', 'a job id or { runId }', by)
  if ('jobId' in by) readText(by.jobId, 'jobId')
  else readText(by.runId, 'runId')
  const { priority = null, dependents = false } = options
  if (priority !== null && !isPriority(priority)) throw invalid('priority', 'a whole number of 32 bits', priority)
  if (typeof dependents !== 'boolean') throw invalid('dependents', 'true or false', dependents)
  const result = await context.store.retryByHand({
    by,
    newJobId: context.newId(),
    priority,
    dependents: dependents ? { newId: context.newId } : null,
    now: context.clock.now(),
  })
  switch (result.kind) {
    case 'created':
    case 'made-due':
      return { kind: result.kind, jobId: result.jobId }
    case 'not-last':
      throw new PawlError(
        'not_last_attempt',
        `A later attempt followed. Retry the last one instead: job ${result.lastJobId}.`,
        {
          details: { lastJobId: result.lastJobId, lastRunId: result.lastRunId },
        },
      )
    case 'not-retryable':
      throw new PawlError(
        'not_retryable',
        `Only a FAILED or CANCELLED job can be retried; this one is ${result.outcome ?? result.status}.`,
        { details: { status: result.status, outcome: result.outcome } },
      )
    case 'business-key-taken':
      throw new PawlError(
        'business_key_taken',
        `Its business key is now held by job ${result.jobId}. Wait for it or cancel it.`,
        {
          details: { jobId: result.jobId },
        },
      )
    case 'not-found':
      throw 'jobId' in by ? jobNotFound(by.jobId) : runNotFound(by.runId)
  }
}
