import { z } from 'zod'
import { BULK_JOB_IDS_MAX } from '../../domain/bulk-operation.ts'
import { endpoint } from './endpoint.ts'
import { id, instantOut, oneOf, pageOf, pageQuery, pathId } from './fields.ts'
import { cancelMode, jobFilter } from './job.ts'

const kind = z.enum(['cancel', 'retry'])
const status = z.enum(['RUNNING', 'COMPLETED', 'ABORTED'])

const operation = z
  .object({
    operation_id: z.string(),
    kind,
    status,
    /** As it was given. Null: the Jobs were named. */
    filter: z.record(z.string(), z.unknown()).nullable(),
    job_ids: z.array(z.string()).readonly().nullable(),
    mode: z.enum(['graceful', 'abort', 'only-queued']).nullable(),
    reason: z.string().nullable(),
    matched: z.int(),
    /** There may be more than `matched`: no more were counted. */
    matched_or_more: z.boolean(),
    done: z.int(),
    changed: z.int(),
    skipped: z.int(),
    failed: z.int(),
    /** How many were skipped for which reason: a code as of a request for one Job. */
    skip_reasons: z.record(z.string(), z.int()),
    created_by: z.string().nullable(),
    created_at: instantOut,
    updated_at: instantOut,
    ended_at: instantOut.nullable(),
  })
  .meta({ id: 'Operation' })

const operationPath = z.object({ operation_id: pathId })

export const startOperation = endpoint({
  method: 'POST',
  path: '/api/operations',
  role: 'operator',
  action: 'operation.start',
  auditedFields: ['kind', 'mode', 'reason'],
  tag: 'Operations',
  summary:
    'Cancel or retry all Jobs that match, or those that are named. 201: it is being carried out. With `dry_run`, 200 says how many Jobs match, and nothing is changed.',
  body: z
    .strictObject({
      kind,
      filter: z.strictObject(jobFilter).optional(),
      job_ids: z.array(id).min(1).max(BULK_JOB_IDS_MAX).optional(),
      mode: cancelMode.optional(),
      reason: z.string().min(1).max(8_192).optional(),
      dry_run: z.boolean().optional(),
    })
    .refine((body) => (body.filter === undefined) !== (body.job_ids === undefined), {
      path: ['filter'],
      error: 'Expected `filter` or `job_ids`, and not both.',
    })
    .meta({
      ...oneOf('filter', 'job_ids'),
      examples: [{ kind: 'cancel', filter: { type: 'story', status: 'QUEUED' }, dry_run: true }],
    }),
  responses: {
    200: z.object({ matched: z.int(), matched_or_more: z.boolean() }).meta({ id: 'OperationDryRun' }),
    201: operation,
  },
  problems: [],
})

export const listOperations = endpoint({
  method: 'GET',
  path: '/api/operations',
  role: 'viewer',
  action: null,
  tag: 'Operations',
  summary: 'Bulk operations, newest first.',
  query: z.strictObject({ ...pageQuery, status: status.optional() }),
  responses: { 200: pageOf(operation) },
  problems: [],
})

export const getOperation = endpoint({
  method: 'GET',
  path: '/api/operations/{operation_id}',
  role: 'viewer',
  action: null,
  tag: 'Operations',
  summary: 'One bulk operation and how far it is. The event `operation.progress` tells of each step.',
  params: operationPath,
  responses: { 200: operation },
  problems: ['operation_not_found'],
})

export const abortOperation = endpoint({
  method: 'POST',
  path: '/api/operations/{operation_id}/abort',
  role: 'operator',
  action: 'operation.abort',
  tag: 'Operations',
  summary: 'End a bulk operation after the page that is under way. What was done stays.',
  params: operationPath,
  responses: { 200: operation },
  problems: ['operation_not_found', 'operation_ended'],
})
