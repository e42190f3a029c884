import { z } from 'zod'
import { BULK_BODY_MAX_BYTES, endpoint } from './endpoint.ts'
import {
  id,
  instant,
  instantOut,
  jobType,
  json,
  jsonOut,
  pageOf,
  pageQuery,
  priority,
  retryPolicy,
  retryPolicyOut,
} from './fields.ts'

export const jobStatus = z.enum(['QUEUED', 'RUNNING', 'CANCELLED', 'FINISHED'])
export const runStatus = z.enum(['COMPLETED', 'FAILED', 'SKIPPED'])

export const job = z
  .object({
    job_id: z.string(),
    job_type: z.string(),
    name: z.string().nullable(),
    status: jobStatus,
    hold: z.enum(['delayed', 'dependencies', 'group', 'predecessor', 'paused', 'signal']).nullable(),
    outcome: runStatus.nullable(),
    params: jsonOut,
    priority: z.int(),
    position: z.int(),
    attempt: z.int(),
    chain_id: z.string(),
    retry_of: z.string().nullable(),
    error_retries: z.int(),
    crash_retries: z.int(),
    template_id: z.string().nullable(),
    schedule_id: z.string().nullable(),
    slot_at: instantOut.nullable(),
    group_id: z.string().nullable(),
    depends_on: z.array(z.string()).readonly(),
    business_key: z.string().nullable(),
    idempotency_key: z.string().nullable(),
    timeout_ms: z.int().nullable(),
    retry_policy: retryPolicyOut,
    resources: z.array(z.string()).readonly(),
    tags: z.array(z.string()).readonly(),
    created_by: z.string().nullable(),
    created_at: instantOut,
    queued_at: instantOut,
    run_at: instantOut,
    started_at: instantOut.nullable(),
    finished_at: instantOut.nullable(),
    cancel_requested_at: instantOut.nullable(),
    cancel_reason: z.string().nullable(),
  })
  .meta({ id: 'Job' })

/** The Job of an idempotency key whose history was removed since. */
export const prunedJob = z.object({ job_id: z.string(), pruned: z.literal(true) }).meta({ id: 'PrunedJob' })

export const newJobFields = {
  type: jobType.optional(),
  template_id: id.optional(),
  params: json.optional(),
  name: z.string().optional(),
  priority: priority.optional(),
  run_at: instant.optional(),
  depends_on: z.array(z.string()).max(1_000).optional(),
  on_parent_failure: z.enum(['cancel', 'run', 'wait']).optional(),
  idempotency_key: z.string().optional(),
  business_key: z.string().optional(),
  tags: z.array(z.string()).max(32).optional(),
  timeout_ms: z.int().min(1).nullable().optional(),
  retry_policy: retryPolicy.optional(),
  webhook_url: z.string().optional(),
}

/** Exactly one of the two says what to execute. */
export function hasOneSource(body: { type?: string | undefined; template_id?: string | undefined }): boolean {
  return (body.type === undefined) !== (body.template_id === undefined)
}

export const ONE_SOURCE = { path: ['type'], error: 'Expected either `type` or `template_id`.' }

export const newJob = z
  .strictObject(newJobFields)
  .refine(hasOneSource, ONE_SOURCE)
  .meta({ id: 'NewJob', examples: [{ type: 'story', params: { genre: 'gothic' }, priority: 5 }] })

/** One Job of a list. Others of the list may depend on it as `#` and its `ref`. */
export const listedJob = z
  .strictObject({ ...newJobFields, ref: z.string().min(1).max(512).optional() })
  .refine(hasOneSource, ONE_SOURCE)
  .meta({ id: 'ListedJob' })

const jobPath = z.object({ job_id: id })

const ENQUEUE_PROBLEMS = [
  'invalid_option',
  'invalid_params',
  'params_too_large',
  'unknown_type',
  'template_not_found',
  'template_archived',
  'parent_not_found',
  'idempotency_key_reused',
  'business_key_taken',
  'webhook_url_refused',
] as const

export const enqueueJob = endpoint({
  method: 'POST',
  path: '/api/jobs',
  role: 'operator',
  action: 'job.enqueue',
  tag: 'Jobs',
  summary: 'Accept one Job. The header `Idempotency-Key` may stand for `idempotency_key`.',
  body: newJob,
  responses: { 201: job, 200: z.union([job, prunedJob]) },
  problems: ENQUEUE_PROBLEMS,
})

export const enqueueJobs = endpoint({
  method: 'POST',
  path: '/api/jobs/bulk',
  role: 'operator',
  action: 'job.enqueue-many',
  tag: 'Jobs',
  summary: 'Accept up to 10,000 Jobs, all or none.',
  body: z.strictObject({ jobs: z.array(listedJob).min(1).max(10_000) }).meta({
    examples: [
      {
        jobs: [
          { ref: 'draft', type: 'story', params: { genre: 'gothic' } },
          { type: 'review', depends_on: ['#draft'] },
        ],
      },
    ],
  }),
  bodyMaxBytes: BULK_BODY_MAX_BYTES,
  responses: { 201: z.object({ items: z.array(z.union([job, prunedJob])) }) },
  problems: [...ENQUEUE_PROBLEMS, 'dependency_cycle'],
})

export const listJobs = endpoint({
  method: 'GET',
  path: '/api/jobs',
  role: 'viewer',
  action: null,
  tag: 'Jobs',
  summary: 'Jobs, newest first; with `status=QUEUED` in the order of the queue.',
  query: z.strictObject({
    ...pageQuery,
    status: jobStatus.optional(),
    type: z.string().min(1).max(128).optional(),
    tag: z.string().min(1).max(128).optional(),
    template_id: id.optional(),
    schedule_id: id.optional(),
    group_id: id.optional(),
  }),
  responses: { 200: pageOf(job) },
  problems: ['invalid_option'],
})

export const getJob = endpoint({
  method: 'GET',
  path: '/api/jobs/{job_id}',
  role: 'viewer',
  action: null,
  tag: 'Jobs',
  summary: 'One Job.',
  params: jobPath,
  responses: { 200: job },
  problems: ['job_not_found'],
  isVersioned: true,
})
