import { PawlError } from '../../domain/errors.ts'
import { wireJob } from '../../domain/wire.ts'
import { enqueueFromTemplate } from '../../operations/enqueue-from-template.ts'
import { enqueueJob } from '../../operations/enqueue-jobs.ts'
import { readEnqueueOptions } from '../../operations/enqueue-options.ts'
import * as history from '../../operations/read-history.ts'
import * as contract from '../contract/jobs.ts'
import { created, ok } from './answer.ts'
import { type Call, type Route, route } from './handler.ts'
import { toEnqueueOptions } from './job-requests.ts'

async function accept({ context, actor, body, idempotencyKey }: Call<typeof contract.enqueueJob>) {
  const options = toEnqueueOptions(withHeaderKey(body, idempotencyKey), actor.name)
  if (body.template_id !== undefined) {
    return enqueueFromTemplate(context, body.template_id, body.params, options)
  }
  const request = readEnqueueOptions(body.type as string, body.params ?? {}, options, context.clock.now())
  return enqueueJob(context, request)
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

export const jobRoutes: readonly Route[] = [
  route(contract.enqueueJob, async (call) => {
    const item = await accept(call)
    if (item.kind === 'existing' && item.pruned) return ok({ job_id: item.jobId, pruned: true as const })
    const job = wireJob(await history.getJob(call.context, item.jobId))
    return item.kind === 'created' ? created(job) : ok(job)
  }),

  route(contract.listJobs, async ({ context, query }) => {
    const { items, nextCursor } = await history.listJobs(context, {
      ...(query.limit !== undefined && { limit: query.limit }),
      ...(query.cursor !== undefined && { cursor: query.cursor }),
      ...(query.status !== undefined && { status: query.status }),
      ...(query.type !== undefined && { type: query.type }),
      ...(query.template_id !== undefined && { templateId: query.template_id }),
      ...(query.schedule_id !== undefined && { scheduleId: query.schedule_id }),
      ...(query.group_id !== undefined && { groupId: query.group_id }),
    })
    return ok({ items: items.map(wireJob), next_cursor: nextCursor })
  }),

  route(contract.getJob, async ({ context, params }) => ok(wireJob(await history.getJob(context, params.job_id)))),
]
