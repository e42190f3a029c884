import { z } from 'zod'
import { GROUP_MEMBERS_MAX } from '../../domain/group.ts'
import { BULK_BODY_MAX_BYTES, endpoint } from './endpoint.ts'
import { instantOut, name, pageOf, pageQuery, pathId } from './fields.ts'
import { cancelMode, LIST_PROBLEMS, listedJob } from './job.ts'

const mode = z.enum(['parallel', 'sequential'])
const onFailure = z.enum(['stop', 'continue', 'skip'])

const groupFields = {
  group_id: z.string(),
  name: z.string().nullable(),
  mode,
  on_failure: onFailure,
  status: z.enum(['CREATED', 'QUEUED', 'RUNNING', 'COMPLETED', 'CANCELLED', 'PARTIAL']),
  counts: z
    .object({
      total: z.int(),
      queued: z.int(),
      running: z.int(),
      completed: z.int(),
      failed: z.int(),
      skipped: z.int(),
      cancelled: z.int(),
    })
    .readonly(),
  created_by: z.string().nullable(),
  created_at: instantOut,
  started_at: instantOut.nullable(),
  finished_at: instantOut.nullable(),
  cancel_requested_at: instantOut.nullable(),
  cancel_reason: z.string().nullable(),
}

const group = z.object(groupFields).meta({ id: 'Group' })

const groupPath = z.object({ group_id: pathId })

export const createGroup = endpoint({
  method: 'POST',
  path: '/api/job-groups',
  role: 'operator',
  action: 'group.create',
  auditedFields: ['name', 'mode'],
  tag: 'Groups',
  summary: 'Accept a group with all its Jobs, or nothing. `job_ids` are in the given order.',
  body: z
    .strictObject({
      name: name.optional(),
      mode: mode.optional(),
      on_failure: onFailure.optional(),
      jobs: z.array(listedJob).min(1).max(GROUP_MEMBERS_MAX),
    })
    .meta({ examples: [{ name: 'book', mode: 'sequential', jobs: [{ type: 'story' }, { type: 'review' }] }] }),
  bodyMaxBytes: BULK_BODY_MAX_BYTES,
  responses: { 201: z.object({ ...groupFields, job_ids: z.array(z.string()) }).meta({ id: 'NewGroup' }) },
  problems: LIST_PROBLEMS,
})

export const listGroups = endpoint({
  method: 'GET',
  path: '/api/job-groups',
  role: 'viewer',
  action: null,
  tag: 'Groups',
  summary: 'Groups, newest first.',
  query: z.strictObject(pageQuery),
  responses: { 200: pageOf(group) },
  problems: [],
})

export const getGroup = endpoint({
  method: 'GET',
  path: '/api/job-groups/{group_id}',
  role: 'viewer',
  action: null,
  tag: 'Groups',
  summary: 'One group. Its Jobs: `GET /api/jobs?group_id=`.',
  params: groupPath,
  responses: { 200: group },
  problems: ['group_not_found'],
})

export const cancelGroup = endpoint({
  method: 'POST',
  path: '/api/job-groups/{group_id}/cancel',
  role: 'operator',
  action: 'group.cancel',
  auditedFields: ['mode', 'reason'],
  tag: 'Groups',
  summary: 'Cancel all Jobs of a group that have not ended. 202: it is being carried out.',
  params: groupPath,
  body: z
    .strictObject({ mode: cancelMode.optional(), reason: z.string().min(1).max(8_192).optional() })
    .meta({ examples: [{ mode: 'abort' }] }),
  isBodyOptional: true,
  responses: { 200: group, 202: group },
  problems: ['group_not_found', 'group_ended'],
})
