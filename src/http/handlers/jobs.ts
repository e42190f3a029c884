import { PawlError } from '../../domain/errors.ts'
import { wireJob, wireRun } from '../../domain/wire.ts'
import { cancelJob, cancelQueuedJob } from '../../operations/cancel-job.ts'
import type { OperationContext } from '../../operations/context.ts'
import { editJob } from '../../operations/edit-job.ts'
import { requestFromTemplate } from '../../operations/enqueue-from-template.ts'
import { acceptJob, enqueueJobs } from '../../operations/enqueue-jobs.ts'
import { readEnqueueOptions } from '../../operations/enqueue-options.ts'
import { readListedItems } from '../../operations/listed-requests.ts'
import { moveJob } from '../../operations/move-job.ts'
import * as history from '../../operations/read-history.ts'
import { retryJob } from '../../operations/retry-job.ts'
import { countJobs } from '../../operations/statistics.ts'
import { explainJob } from '../../operations/why.ts'
import type { EnqueuedItem, MoveTarget } from '../../store/jobs.ts'
import * as contract from '../contract/jobs.ts'
import { REDACTED } from '../redact.ts'
import { accepted, created, ok } from './answer.ts'
import { given } from './given.ts'
import { type Call, type Route, route } from './handler.ts'
import { createdJob, okRetry } from './job-answers.ts'
import { refuseGuessing, toJobFilter } from './job-filter.ts'
import { paramsOf, toEnqueueOptions, toListedItem } from './job-requests.ts'
import { okPage, okShort, pageOptions } from './pages.ts'
import { okLogs } from './run-logs.ts'
import { okOutput } from './run-output.ts'
import { expectedVersion, jobTag } from './versions.ts'
import { wireWhy } from './wire-why.ts'

async function accept({ context, actor, body, idempotencyKey }: Call<typeof contract.enqueueJob>) {
  const options = toEnqueueOptions(withHeaderKey(body, idempotencyKey), actor.name)
  const request =
    body.template_id === undefined
      ? readEnqueueOptions(body.type as string, paramsOf(body), options, context.clock.now())
      : await requestFromTemplate(context, body.template_id, body.params, options)
  return acceptJob(context, request)
}

/** The header is for clients that set it on every request they may repeat. */
function withHeaderKey<Body extends { idempotency_key?: string | undefined }>(body: Body, key: string | null): Body {
  if (key === null || body.idempotency_key === key) return body
  if (body.idempotency_key === undefined) return { ...body, idempotency_key: key }
  throw new PawlError(
    'invalid_option',
    'Expected the header `Idempotency-Key` and the field `idempotency_key` to be the same, or only one of them.',
    { path: 'idempotencyKey' },
  )
}

/** A request that named a key may be answered by a Job that is not there any more. */
async function readAccepted(context: OperationContext, item: EnqueuedItem) {
  if (item.kind === 'existing' && item.pruned) return { job_id: item.jobId, pruned: true as const }
  return wireJob(await history.getJob(context, item.jobId))
}

/** Jobs of a list that are read before others get a turn of the event loop. */
const READ_AT_ONCE = 200

/** The store knows only whether the neighbour is QUEUED; an id that nobody knows is the caller's mistake. */
async function refuseUnknownNeighbour(
  context: OperationContext,
  error: unknown,
  jobId: string,
  target: MoveTarget,
): Promise<never> {
  const [[side, neighbour] = ['', '']] = Object.entries(target)
  const isAboutNeighbour =
    error instanceof PawlError && error.code === 'job_not_queued' && error.details['jobId'] !== jobId
  if (!isAboutNeighbour || (await context.store.findJob(neighbour, context.clock.now())) !== null) throw error
  throw new PawlError('job_not_found', `There is no job ${neighbour} to move next to.`, {
    path: side,
    details: { neighbour },
  })
}

export const jobRoutes: readonly Route[] = [
  route(contract.enqueueJob, async (call) => {
    const { item, job: known } = await accept(call)
    if (item.kind === 'existing' && item.pruned) return ok({ job_id: item.jobId, pruned: true as const })
    const job = known ?? (await history.getJob(call.context, item.jobId))
    return item.kind === 'created' ? createdJob(job) : ok(wireJob(job), jobTag(job))
  }),

  route(contract.enqueueJobs, async ({ context, actor, body }) => {
    const listed = body.jobs.map((job) => toListedItem(job, actor.name))
    const enqueued = await enqueueJobs(context, await readListedItems(context, listed))
    const items = []
    for (let index = 0; index < enqueued.length; index += READ_AT_ONCE) {
      const page = enqueued.slice(index, index + READ_AT_ONCE)
      items.push(...(await Promise.all(page.map((item) => readAccepted(context, item)))))
      await new Promise((resolve) => setImmediate(resolve))
    }
    return created({ items }, null)
  }),

  route(contract.listJobs, async ({ context, actor, query }) => {
    if (actor.isRedacted === true) refuseGuessing(query)
    const page = await history.listJobs(context, { ...pageOptions(query), ...toJobFilter(query) })
    return ok({ ...okPage(page, wireJob).body, limited: page.limited })
  }),

  route(contract.countJobs, async ({ context }) => {
    const { countedTo, ...counts } = await countJobs(context)
    return ok({ counted_to: countedTo, ...counts })
  }),

  route(contract.listChildren, async ({ context, params, query }) =>
    okPage(await history.listChildren(context, params.job_id, pageOptions(query)), wireJob),
  ),

  route(contract.getJob, async ({ context, params }) => {
    const job = await history.getJob(context, params.job_id)
    return ok(wireJob(job), jobTag(job))
  }),

  route(contract.editJob, async ({ context, params, body, ifMatch }) => {
    const job = await editJob(context, params.job_id, {
      ...given({ priority: body.priority, params: body.params }),
      ...(body.run_at !== undefined && { runAt: body.run_at === null ? null : new Date(body.run_at) }),
      ...expectedVersion(ifMatch),
    })
    return ok(wireJob(job), jobTag(job))
  }),

  route(contract.moveJob, async ({ context, params, body, ifMatch }) => {
    const target = given(body) as MoveTarget
    await moveJob(context, params.job_id, target, expectedVersion(ifMatch)).catch((error) =>
      refuseUnknownNeighbour(context, error, params.job_id, target),
    )
    const job = await history.getJob(context, params.job_id)
    return ok(wireJob(job), jobTag(job))
  }),

  route(contract.cancelJob, async ({ context, params, body, ifMatch }) => {
    const options = { ...given(body), ...expectedVersion(ifMatch) }
    const { kind, jobId } = await cancelJob(context, params.job_id, options)
    const job = wireJob(await history.getJob(context, jobId))
    return kind === 'cancelled' ? ok(job) : accepted(job)
  }),

  route(contract.removeJob, async ({ context, params, ifMatch }) => {
    const { jobId } = await cancelQueuedJob(context, params.job_id, expectedVersion(ifMatch))
    return ok(wireJob(await history.getJob(context, jobId)))
  }),

  route(contract.retryJob, async ({ context, params, body }) => {
    const { kind, jobId } = await retryJob(context, { jobId: params.job_id }, given(body))
    return okRetry(kind, await history.getJob(context, jobId))
  }),

  route(contract.listRunsOfJob, async ({ context, params, query }) => {
    const run = await history.findRunOfJob(context, params.job_id)
    return okShort(run === null ? [] : [run], ({ runId }) => runId, query, wireRun)
  }),

  route(contract.getChain, async ({ context, params }) => {
    const { chainId, settled, outcome, items } = await history.getChain(context, params.job_id)
    return ok({ chain_id: chainId, settled, outcome, items: items.map(wireJob) })
  }),

  route(contract.explainJob, async ({ context, actor, params }) => {
    const hideTexts = actor.isRedacted === true ? () => REDACTED : undefined
    return ok(wireWhy(await explainJob(context, params.job_id, { hideTexts })))
  }),

  route(contract.readJobLogs, async ({ context, params, query }) => {
    const run = await history.findRunOfJob(context, params.job_id)
    return run === null ? ok({ items: [], next_cursor: null }) : okLogs(context, run.runId, query)
  }),

  route(contract.readJobOutput, async ({ context, params, query }) => {
    const run = await history.findRunOfJob(context, params.job_id)
    return okOutput(context, run?.runId ?? null, query)
  }),
]
