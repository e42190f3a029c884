import { assert, PawlError } from '../domain/errors.ts'
import type { Job } from '../domain/job.ts'
import { invalid } from '../domain/options.ts'
import { type EnqueueRequest, prepareJob } from '../engine/enqueue.ts'
import { isKnownPrivate } from '../platform/webhook-address.ts'
import type { EnqueueConflict, EnqueuedItem, EnqueueResult, NewJob } from '../store/jobs.ts'
import { atIndex, withIndex } from './at-index.ts'
import type { OperationContext } from './context.ts'
import { queuedJob } from './queued-job.ts'
import { resolveRefs } from './resolve-refs.ts'

const ENQUEUE_MANY_MAX = 10_000

/** Dependencies of all Jobs of a list together. */
const EDGES_MAX = 100_000

/** Jobs of a list that are prepared before others get a turn of the event loop. */
const PREPARED_AT_ONCE = 500

/** Accepts one Job. */
export async function enqueueJob(context: OperationContext, request: EnqueueRequest): Promise<EnqueuedItem> {
  const prepared = prepare(context, request)
  const job = prepared instanceof Promise ? await prepared : prepared
  return acceptedOne(await context.store.enqueueJobs([job], context.clock.now()), request)
}

/** The same for those who want to know how it stands then. Null: it takes a look at the store to know. */
export async function acceptJob(
  context: OperationContext,
  request: EnqueueRequest,
): Promise<{ readonly item: EnqueuedItem; readonly job: Job | null }> {
  const prepared = prepare(context, request)
  const job = prepared instanceof Promise ? await prepared : prepared
  const now = context.clock.now()
  const item = acceptedOne(await context.store.enqueueJobs([job], now), request)
  const isKnown = item.kind === 'created' && job.dependsOn.length === 0
  return { item, job: isKnown ? queuedJob(job, item.position, now) : null }
}

/** One Job of a list, which others of the list may depend on by its local name. */
export interface ListedRequest extends EnqueueRequest {
  readonly ref: string | null
}

/** Accepts all of them or none. With `tx`, inside that transaction of the caller's. */
export async function enqueueJobs(
  context: OperationContext,
  requests: readonly ListedRequest[],
  tx?: object,
): Promise<readonly EnqueuedItem[]> {
  if (tx !== undefined) refuseSynchronous(context)
  if (requests.length > ENQUEUE_MANY_MAX) {
    throw invalid('jobs', `a list of at most ${ENQUEUE_MANY_MAX} jobs`, requests.length)
  }
  if (requests.length === 0) return []
  const jobs = await prepareList(context, requests)
  const { store, clock } = context
  const result =
    tx === undefined ? store.enqueueJobs(jobs, clock.now()) : store.enqueueJobsWithin(tx, jobs, clock.now())
  return accepted(await result, requests)
}

/** Jobs that can be written together: local names are replaced by ids, and nobody waits for himself. */
export async function prepareList(context: OperationContext, requests: readonly ListedRequest[]): Promise<NewJob[]> {
  refuseTooManyEdges(requests)
  const ids = requests.map(() => context.newId())
  const resolved = resolveRefs(requests, ids)
  const jobs: NewJob[] = []
  for (const [index, request] of resolved.entries()) {
    const prepared = atIndex(index, () => prepare(context, request, ids[index] as string))
    jobs.push(
      prepared instanceof Promise ? await prepared.catch((error) => atIndex(index, () => fail(error))) : prepared,
    )
    if (index % PREPARED_AT_ONCE === PREPARED_AT_ONCE - 1) await new Promise((resolve) => setImmediate(resolve))
  }
  return jobs
}

/** Accepts one Job inside the caller's own transaction: it exists if and only if the caller commits. */
export async function enqueueJobWithin(
  context: OperationContext,
  tx: object,
  request: EnqueueRequest,
): Promise<EnqueuedItem> {
  refuseSynchronous(context)
  const job = await prepare(context, request)
  return acceptedOne(await context.store.enqueueJobsWithin(tx, [job], context.clock.now()), request)
}

function refuseSynchronous({ store }: OperationContext): void {
  if (store.callerTransactions === 'asynchronous') return
  throw new PawlError(
    'invalid_option',
    `\`tx\` is for PostgreSQL. On ${store.description} transactions are synchronous: use \`enqueueSync(database, type, params)\` inside yours.`,
    { path: 'tx' },
  )
}

/** The same on a store whose transactions are synchronous. */
export function enqueueJobSync(context: OperationContext, transaction: unknown, request: EnqueueRequest): EnqueuedItem {
  refuseAsynchronous(context)
  const job = prepare(context, request)
  if (job instanceof Promise) {
    job.catch(() => {})
    throw new PawlError(
      'invalid_option',
      `Expected job type \`${request.type}\` to be registered in this process with a synchronous params schema, because enqueueSync cannot wait. Use enqueue.`,
    )
  }
  const result = context.store.enqueueJobsWithin(transaction, [job], context.clock.now())
  assert(!(result instanceof Promise), 'a store whose transactions are synchronous answers at once')
  return acceptedOne(result, request)
}

function refuseAsynchronous({ store }: OperationContext): void {
  if (store.callerTransactions === 'synchronous') return
  throw new PawlError(
    'invalid_option',
    `\`enqueueSync\` is for SQLite. On ${store.description} transactions are asynchronous: use \`await enqueue(type, params, { tx })\` inside yours.`,
  )
}

/** A Job that can be written, or an error that says what is wrong with the request. */
export function prepare(
  context: OperationContext,
  request: EnqueueRequest,
  jobId = context.newId(),
): NewJob | Promise<NewJob> {
  if (request.webhookUrl !== null) refusePrivateAddress(context, request.webhookUrl)
  const type = context.types.get(request.type)
  if (type instanceof Promise) return type.then((known) => prepareJob(request, known, jobId))
  return prepareJob(request, type, jobId)
}

/** A name is looked up and checked when it is called; what is certainly not public is refused now. */
function refusePrivateAddress(context: OperationContext, text: string): void {
  const url = new URL(text)
  if (!isKnownPrivate(url, context.webhookGuard)) return
  throw new PawlError(
    'webhook_url_refused',
    `Webhooks may not call \`${url.hostname}\`, because it is not a public address. If it is meant, list it under \`webhooks.allowPrivate\` in the configuration.`,
    { path: 'webhookUrl', details: { host: url.hostname } },
  )
}

function acceptedOne(result: EnqueueResult, request: EnqueueRequest): EnqueuedItem {
  if (result.kind === 'enqueued') return result.items[0] as EnqueuedItem
  throw conflictError(result.conflict, request)
}

/** What was accepted of a list. Its errors say which Job they are about, also in a list of one. */
export function accepted(result: EnqueueResult, requests: readonly EnqueueRequest[]): readonly EnqueuedItem[] {
  if (result.kind === 'enqueued') return result.items
  const { index } = result.conflict
  throw withIndex(conflictError(result.conflict, requests[index] as EnqueueRequest), index)
}

function conflictError(conflict: EnqueueConflict, request: EnqueueRequest): PawlError {
  const details = conflict.kind === 'template-not-usable' ? {} : { jobId: conflict.jobId }
  switch (conflict.kind) {
    case 'parent-not-found':
      return new PawlError(
        'parent_not_found',
        conflict.jobId.startsWith('#')
          ? `It depends on \`${conflict.jobId}\`, but local names mean jobs of the same list. Submit them together, as one list.`
          : `It depends on job ${conflict.jobId}, which does not exist. It never did, or it was pruned.`,
        { path: 'dependsOn', details },
      )
    case 'dependency-cycle':
      return new PawlError(
        'dependency_cycle',
        `It would wait for itself: idempotency keys of the list mean the same job ${conflict.jobId}.`,
        { path: 'dependsOn', details },
      )
    case 'template-not-usable':
      return new PawlError(
        'template_archived',
        `Its template ${conflict.templateId} was archived, so no new jobs are made from it.`,
        { path: 'templateId', details: { templateId: conflict.templateId } },
      )
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

/** All of a list is written at once, and nothing else meanwhile. */
function refuseTooManyEdges(requests: readonly ListedRequest[]): void {
  const edges = requests.reduce((sum, { dependsOn }) => sum + dependsOn.length, 0)
  if (edges > EDGES_MAX) throw invalid('dependsOn', `at most ${EDGES_MAX} names in all jobs of a list together`, edges)
}

function fail(error: unknown): never {
  throw error
}
