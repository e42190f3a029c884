import { z } from 'zod'
import { ON_PARENT_FAILURE, PARENTS_MAX } from '../../domain/dependency.ts'
import { REF_LENGTH_MAX } from '../../operations/listed-requests.ts'
import {
  id,
  instant,
  instantOut,
  jobType,
  json,
  jsonOut,
  key,
  name,
  oneOf,
  priority,
  redactable,
  retryPolicy,
  retryPolicyOut,
  tags,
  timeoutMs,
} from './fields.ts'

export const jobStatus = z.enum(['QUEUED', 'RUNNING', 'CANCELLED', 'FINISHED'])
export const runStatus = z.enum(['COMPLETED', 'FAILED', 'SKIPPED'])
export const cancelMode = z.enum(['graceful', 'abort'])

const SEARCH_LENGTH_MAX = 1_000
const searchText = z.string().min(1).max(SEARCH_LENGTH_MAX)

/** What Jobs can be looked for by, in a list and in a bulk operation. */
export const jobFilter = {
  status: jobStatus.optional(),
  type: id.optional(),
  tag: id.optional(),
  template_id: id.optional(),
  schedule_id: id.optional(),
  group_id: id.optional(),
  outcome: runStatus.optional(),
  params_path: searchText.optional(),
  params_value: z.string().max(SEARCH_LENGTH_MAX).optional(),
  error: searchText.optional(),
  created_after: instant.optional(),
  created_before: instant.optional(),
}

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
    /** Null: it depends on none. */
    on_parent_failure: z.enum(ON_PARENT_FAILURE).nullable(),
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
    ...redactable,
  })
  .meta({ id: 'Job' })

/** The Job of an idempotency key whose history was removed since. */
export const prunedJob = z.object({ job_id: z.string(), pruned: z.literal(true) }).meta({ id: 'PrunedJob' })

const newJobFields = {
  type: jobType.optional(),
  template_id: id.optional(),
  params: json.optional(),
  name: name.optional(),
  priority: priority.optional(),
  run_at: instant.optional(),
  depends_on: z.array(id).max(PARENTS_MAX).optional(),
  on_parent_failure: z.enum(ON_PARENT_FAILURE).optional(),
  idempotency_key: key.optional(),
  business_key: key.optional(),
  tags: tags.optional(),
  timeout_ms: timeoutMs.optional(),
  retry_policy: retryPolicy.optional(),
  webhook_url: z
    .string()
    .meta({ examples: ['https://example.com/hooks/pawl'] })
    .optional(),
}

/** Exactly one of the two says what to execute. */
function hasOneSource(body: { type?: string | undefined; template_id?: string | undefined }): boolean {
  return (body.type === undefined) !== (body.template_id === undefined)
}

const ONE_SOURCE = { path: ['type'], error: 'Expected either `type` or `template_id`.' }

export const newJob = z
  .strictObject(newJobFields)
  .refine(hasOneSource, ONE_SOURCE)
  .meta({
    id: 'NewJob',
    ...oneOf('type', 'template_id'),
    examples: [{ type: 'story', params: { genre: 'gothic' }, priority: 5 }],
  })

/** One Job of a list. Others of the list may depend on it as `#` and its `ref`. */
export const listedJob = z
  .strictObject({ ...newJobFields, ref: z.string().min(1).max(REF_LENGTH_MAX).optional() })
  .refine(hasOneSource, ONE_SOURCE)
  .meta({
    id: 'ListedJob',
    ...oneOf('type', 'template_id'),
    examples: [{ ref: 'draft', type: 'story', params: { genre: 'gothic' } }],
  })

export const ENQUEUE_PROBLEMS = [
  'invalid_option',
  'invalid_params',
  'params_too_large',
  'unserialisable_params',
  'unknown_type',
  'template_not_found',
  'template_archived',
  'parent_not_found',
  'idempotency_key_reused',
  'business_key_taken',
  'webhook_url_refused',
] as const

export const LIST_PROBLEMS = [...ENQUEUE_PROBLEMS, 'dependency_cycle'] as const
