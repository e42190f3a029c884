import { PawlError } from '../domain/errors.ts'
import { invalid } from '../domain/options.ts'
import { type EnqueueRequest, prepareJob } from '../engine/enqueue.ts'
import type { EnqueueConflict, EnqueuedItem, EnqueueResult, NewJob } from '../store/jobs.ts'
import type { OperationContext } from './context.ts'

const ENQUEUE_MANY_MAX = 10_000

/** Accepts one Job. */
export async function enqueueJob(context: OperationContext, request: EnqueueRequest): Promise<EnqueuedItem> {
  const prepared = prepare(context, request)
  const job = prepared instanceof Promise ? await prepared : prepared
  const items = accepted(await context.store.enqueueJobs([job], context.clock.now()), [request])
  return items[0] as EnqueuedItem
}

/** Accepts all of them or none. */
export async function enqueueJobs(
  context: OperationContext,
  requests: readonly EnqueueRequest[],
): Promise<readonly EnqueuedItem[]> {
  if (requests.length > ENQUEUE_MANY_MAX) {
    throw invalid('jobs', `a list of at most ${ENQUEUE_MANY_MAX} jobs`, requests.length)
  }
  if (requests.length === 0) return []
  const jobs: NewJob[] = []
  for (const [index, request] of requests.entries()) {
    const prepared = atIndex(index, () => prepare(context, request))
    jobs.push(
      prepared instanceof Promise ? await prepared.catch((error) => atIndex(index, () => fail(error))) : prepared,
    )
  }
  return accepted(await context.store.enqueueJobs(jobs, context.clock.now()), requests)
}

/** Accepts one Job inside the caller's own transaction, on a store whose transactions are synchronous. */
export function enqueueJobSync(context: OperationContext, transaction: unknown, request: EnqueueRequest): EnqueuedItem {
  const job = prepare(context, request)
  if (job instanceof Promise) {
    job.catch(() => {})
    throw new PawlError(
      'invalid_option',
      `Expected job type \`${request.type}\` to be registered in this process with a synchronous params schema, because enqueueSync cannot wait. Use enqueue.`,
    )
  }
  const result = context.store.enqueueJobsWithin(transaction, [job], context.clock.now())
  if (result instanceof Promise) {
    throw new PawlError(
      'invalid_option',
      'enqueueSync needs a store with synchronous transactions, such as SQLite. Use enqueue.',
    )
  }
  return accepted(result, [request])[0] as EnqueuedItem
}

function prepare(context: OperationContext, request: EnqueueRequest): NewJob | Promise<NewJob> {
  const type = context.types.get(request.type)
  if (type instanceof Promise) return type.then((known) => prepareJob(request, known, context.newId()))
  return prepareJob(request, type, context.newId())
}

function accepted(result: EnqueueResult, requests: readonly EnqueueRequest[]): readonly EnqueuedItem[] {
  if (result.kind === 'enqueued') return result.items
  const error = conflictError(result.conflict, requests[result.conflict.index] as EnqueueRequest)
  throw requests.length === 1 ? error : withIndex(error, result.conflict.index)
}

function conflictError(conflict: EnqueueConflict, request: EnqueueRequest): PawlError {
  const details = { jobId: conflict.jobId }
  switch (conflict.kind) {
    case 'idempotency-key-reused':
      return new PawlError(
        'idempotency_key_reused',
        `The idempotency key \`${request.idempotencyKey}\` was used for job ${conflict.jobId} with another type or other params. Use a new key.`,
        { path: 'idempotencyKey', details },
      )
    case 'business-key-taken':
      return new PawlError(
        'business_key_taken',
        `The business key \`${request.businessKey}\` is held by job ${conflict.jobId}, which has not settled. Wait for it or cancel it.`,
        { path: 'businessKey', details },
      )
  }
}

/** Says of an error which Job of the list it is about. */
export function atIndex<T>(index: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof PawlError ? withIndex(error, index) : error
  }
}

function fail(error: unknown): never {
  throw error
}

function withIndex(error: PawlError, index: number): PawlError {
  const path = `jobs.${index}${error.path === undefined ? '' : `.${error.path}`}`
  return new PawlError(error.code, `Job ${index} of the list: ${error.message} Nothing was stored.`, {
    path,
    details: { ...error.details, index },
    cause: error,
  })
}
