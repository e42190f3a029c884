import { z } from 'zod'
import { TIMEOUT_MAX_MS } from '../../operations/enqueue-options.ts'
import { DESCRIPTION_LENGTH_MAX } from '../../operations/template-options.ts'
import { endpoint } from './endpoint.ts'
import {
  changes,
  instantOut,
  jobType,
  json,
  jsonOut,
  NOTHING_CHANGES,
  name,
  notBoth,
  pageOf,
  pageQuery,
  pathId,
  redactable,
  retryOverridesOut,
  retryPolicy,
  SOMETHING,
  timeoutMs,
} from './fields.ts'

const template = z
  .object({
    template_id: z.string(),
    name: z.string(),
    job_type: z.string(),
    default_params: jsonOut,
    /** What it says otherwise than its type. Null: nothing. */
    retry_policy: retryOverridesOut.nullable(),
    /** Null: none, or as the type says; `inherits_timeout` tells. */
    timeout_ms: z.int().nullable(),
    inherits_timeout: z.boolean(),
    description: z.string().nullable(),
    revision: z.int(),
    created_at: instantOut,
    updated_at: instantOut,
    archived_at: instantOut.nullable(),
    ...redactable,
  })
  .meta({ id: 'Template' })

const templateFields = {
  default_params: json.optional(),
  /** The older name of `default_params`. */
  params: json.optional(),
  retry_policy: retryPolicy.nullable().optional(),
  /** `inherit`: as the type says. Null: none. */
  timeout_ms: z
    .union([timeoutMs, z.literal('inherit')], {
      error: `Expected a whole number from 1 to ${TIMEOUT_MAX_MS}, null or 'inherit'.`,
    })
    .optional(),
  description: z.string().min(1).max(DESCRIPTION_LENGTH_MAX).nullable().optional(),
}

/** Whether the params have only one of their two names. */
function hasOneName(body: { default_params?: unknown; params?: unknown }): boolean {
  return body.default_params === undefined || body.params === undefined
}

const ONE_NAME = { path: ['params'], error: 'Expected `default_params` or its alias `params`, got both.' }

const templatePath = z.object({ template_id: pathId })

const PARAMS_PROBLEMS = ['unknown_type', 'params_too_large', 'unserialisable_params'] as const

export const createTemplate = endpoint({
  method: 'POST',
  path: '/api/job-templates',
  role: 'admin',
  action: 'template.create',
  auditedFields: ['name', 'job_type'],
  tag: 'Templates',
  summary: 'Keep a type with default params and policy under a name.',
  body: z
    .strictObject({ name, job_type: jobType, ...templateFields })
    .refine(hasOneName, ONE_NAME)
    .meta({
      ...notBoth('default_params', 'params'),
      examples: [{ name: 'gothic story', job_type: 'story', default_params: { genre: 'gothic' } }],
    }),
  responses: { 201: template },
  problems: PARAMS_PROBLEMS,
  isVersioned: true,
})

export const listTemplates = endpoint({
  method: 'GET',
  path: '/api/job-templates',
  role: 'viewer',
  action: null,
  tag: 'Templates',
  summary: 'Templates, newest first; without those that are archived, unless `state` says otherwise.',
  query: z.strictObject({ ...pageQuery, state: z.enum(['active', 'archived', 'any']).optional() }),
  responses: { 200: pageOf(template) },
  problems: [],
})

export const getTemplate = endpoint({
  method: 'GET',
  path: '/api/job-templates/{template_id}',
  role: 'viewer',
  action: null,
  tag: 'Templates',
  summary: 'One template.',
  params: templatePath,
  responses: { 200: template },
  problems: ['template_not_found'],
  isVersioned: true,
})

export const changeTemplate = endpoint({
  method: 'PATCH',
  path: '/api/job-templates/{template_id}',
  role: 'admin',
  action: 'template.change',
  tag: 'Templates',
  summary: 'Change what Jobs that are made from now on will be.',
  params: templatePath,
  body: z
    .strictObject({ name: name.optional(), job_type: jobType.optional(), ...templateFields })
    .refine(hasOneName, ONE_NAME)
    .refine(changes, NOTHING_CHANGES)
    .meta({
      ...SOMETHING,
      ...notBoth('default_params', 'params'),
      examples: [{ default_params: { genre: 'horror' } }],
    }),
  responses: { 200: template },
  problems: ['template_not_found', 'template_archived', 'conflict', ...PARAMS_PROBLEMS],
  isVersioned: true,
  takesIfMatch: true,
})

export const archiveTemplate = endpoint({
  method: 'DELETE',
  path: '/api/job-templates/{template_id}',
  role: 'admin',
  action: 'template.archive',
  tag: 'Templates',
  summary: 'Archive a template: no new Jobs are made from it. Its history stays.',
  params: templatePath,
  responses: { 200: template },
  problems: ['template_not_found'],
  takesIfMatch: true,
})
