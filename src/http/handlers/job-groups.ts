import type { Group } from '../../domain/group.ts'
import { wireInstant } from '../../domain/wire.ts'
import { cancelGroup, createGroup, getGroup, listGroups } from '../../operations/groups.ts'
import { readListedItems } from '../../operations/listed-requests.ts'
import * as contract from '../contract/job-groups.ts'
import { accepted, created, ok } from './answer.ts'
import { given } from './given.ts'
import { type Route, route } from './handler.ts'
import { toListedItem } from './job-requests.ts'
import { okPage, pageOptions } from './pages.ts'

function wireGroup(group: Group) {
  return {
    group_id: group.groupId,
    name: group.name,
    mode: group.mode,
    on_failure: group.onFailure,
    status: group.status,
    counts: group.counts,
    created_by: group.createdBy,
    created_at: wireInstant(group.createdAt),
    started_at: wireInstant(group.startedAt),
    finished_at: wireInstant(group.finishedAt),
    cancel_requested_at: wireInstant(group.cancelRequestedAt),
    cancel_reason: group.cancelReason,
  }
}

export const groupRoutes: readonly Route[] = [
  route(contract.createGroup, async ({ context, actor, body }) => {
    const { name, mode, on_failure, jobs } = body
    const listed = jobs.map((job) => toListedItem(job, actor.name))
    const options = given({ name, mode, onFailure: on_failure, createdBy: actor.name })
    const { groupId, items } = await createGroup(context, options, await readListedItems(context, listed))
    const group = wireGroup(await getGroup(context, groupId))
    return created({ ...group, job_ids: items.map(({ jobId }) => jobId) }, `/api/job-groups/${groupId}`)
  }),

  route(contract.listGroups, async ({ context, query }) =>
    okPage(await listGroups(context, pageOptions(query)), wireGroup),
  ),

  route(contract.getGroup, async ({ context, params }) => ok(wireGroup(await getGroup(context, params.group_id)))),

  route(contract.cancelGroup, async ({ context, params, body }) => {
    const group = await cancelGroup(context, params.group_id, given(body))
    return group.status === 'CANCELLED' ? ok(wireGroup(group)) : accepted(wireGroup(group))
  }),
]
