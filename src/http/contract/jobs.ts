import { z } from 'zod'
import { WHY_CODES } from '../../domain/why.ts'
import { BULK_BODY_MAX_BYTES, endpoint } from './endpoint.ts'
import {
  changes,
  id,
  instant,
  json,
  NOTHING_CHANGES,
  oneOf,
  pageOf,
  pageQuery,
  pathId,
  priority,
  SOMETHING,
} from './fields.ts'
import {
  cancelMode,
  ENQUEUE_PROBLEMS,
  job,
  jobFilter,
  jobStatus,
  LIST_PROBLEMS,
  listedJob,
  newJob,
  prunedJob,
  runStatus,
} from './job.ts'
import { RETRY_PROBLEMS, retryBody } from './retry.ts'
import { logLine, logQuery, output, outputQuery, run } from './run.ts'

const jobPath = z.object({ job_id: pathId })

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
  isVersioned: true,
  takesIdempotencyKey: true,
})

export const enqueueJobs = endpoint({
  method: 'POST',
  path: '/api/jobs/bulk',
  role: 'operator',
  action: 'job.enqueue-many',
  tag: 'Jobs',
  summary: 'Accept up to 10,000 Jobs, all or none. Answers in the given order.',
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
  problems: LIST_PROBLEMS,
})

export const listJobs = endpoint({
  method: 'GET',
  path: '/api/jobs',
  role: 'viewer',
  action: null,
  tag: 'Jobs',
  summary:
    'Jobs, newest first; with `status=QUEUED` in the order of the queue, with `outcome` alone the latest start first. ' +
    'A search looks at 2,000 Jobs a page: `limited` says that it stopped there.',
  query: z.strictObject({ ...pageQuery, ...jobFilter }),
  responses: {
    200: pageOf(job).extend({
      /** It is short because it looked at as many Jobs as a page may: what follows may match as well. */
      limited: z.boolean(),
    }),
  },
  problems: [],
})

export const countJobs = endpoint({
  method: 'GET',
  path: '/api/jobs/counts',
  role: 'viewer',
  action: null,
  tag: 'Jobs',
  summary: 'Jobs by where they stand. A number that is `counted_to` means so many or more.',
  responses: {
    200: z
      .object({
        counted_to: z.int(),
        queued: z.int(),
        ready: z.int(),
        running: z.int(),
        finished: z.int(),
        cancelled: z.int(),
      })
      .meta({ id: 'JobCounts' }),
  },
  problems: [],
})

export const listChildren = endpoint({
  method: 'GET',
  path: '/api/jobs/{job_id}/children',
  role: 'viewer',
  action: null,
  tag: 'Jobs',
  summary: 'Of each chain that depends on this one its latest Job, in the order in which they were accepted.',
  params: jobPath,
  query: z.strictObject(pageQuery),
  responses: { 200: pageOf(job) },
  problems: ['job_not_found'],
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

export const editJob = endpoint({
  method: 'PATCH',
  path: '/api/jobs/{job_id}',
  role: 'operator',
  action: 'job.edit',
  tag: 'Jobs',
  summary: 'Change a QUEUED Job. A new priority puts it last there; `run_at: null` lets it start as soon as it can.',
  params: jobPath,
  body: z
    .strictObject({
      priority: priority.optional(),
      params: json.optional(),
      run_at: instant.nullable().optional(),
    })
    .refine(changes, NOTHING_CHANGES)
    .meta({ ...SOMETHING, examples: [{ priority: 10 }] }),
  responses: { 200: job },
  problems: ['job_not_found', 'job_not_queued', 'invalid_params', 'params_too_large', 'unserialisable_params'],
  isVersioned: true,
  takesIfMatch: true,
})

export const moveJob = endpoint({
  method: 'POST',
  path: '/api/jobs/{job_id}/move',
  role: 'operator',
  action: 'job.move',
  auditedFields: ['to', 'before', 'after'],
  tag: 'Jobs',
  summary: 'Move a QUEUED Job to the front or the back of its priority, or next to another one.',
  params: jobPath,
  body: z
    .strictObject({ to: z.enum(['front', 'back']).optional(), before: id.optional(), after: id.optional() })
    .refine((body) => [body.to, body.before, body.after].filter((target) => target !== undefined).length === 1, {
      error: 'Expected exactly one of `to`, `before` and `after`.',
    })
    .meta({ ...oneOf('to', 'before', 'after'), examples: [{ to: 'front' }] }),
  responses: { 200: job },
  problems: ['job_not_found', 'job_not_queued'],
  isVersioned: true,
  takesIfMatch: true,
})

export const cancelJob = endpoint({
  method: 'POST',
  path: '/api/jobs/{job_id}/cancel',
  role: 'operator',
  action: 'job.cancel',
  auditedFields: ['mode', 'reason'],
  tag: 'Jobs',
  summary: 'Cancel the live Job of a chain. 202: its body executes, and the wish is carried out where it does.',
  params: jobPath,
  body: z
    .strictObject({ mode: cancelMode.optional(), reason: z.string().min(1).max(8_192).optional() })
    .meta({ examples: [{ mode: 'abort' }] }),
  isBodyOptional: true,
  responses: { 200: job, 202: job },
  problems: ['job_not_found', 'job_ended'],
  takesIfMatch: true,
})

export const removeJob = endpoint({
  method: 'DELETE',
  path: '/api/jobs/{job_id}',
  role: 'operator',
  action: 'job.cancel',
  tag: 'Jobs',
  summary: 'Cancel a Job that has not started. Its history stays.',
  params: jobPath,
  responses: { 200: job },
  problems: ['job_not_found', 'job_not_queued', 'job_ended'],
  takesIfMatch: true,
})

export const retryJob = endpoint({
  method: 'POST',
  path: '/api/jobs/{job_id}/retry',
  role: 'operator',
  action: 'job.retry',
  auditedFields: ['priority', 'dependents'],
  tag: 'Jobs',
  summary: 'Try a failed or cancelled chain again. 200: its automatic retry was waiting, and is due now.',
  params: jobPath,
  body: retryBody,
  isBodyOptional: true,
  responses: { 201: job, 200: job },
  problems: ['job_not_found', ...RETRY_PROBLEMS],
  isVersioned: true,
})

export const listRunsOfJob = endpoint({
  method: 'GET',
  path: '/api/jobs/{job_id}/runs',
  role: 'viewer',
  action: null,
  tag: 'Jobs',
  summary: "A Job's Run: none or one. Those of its retries are theirs.",
  params: jobPath,
  query: z.strictObject(pageQuery),
  responses: { 200: pageOf(run) },
  problems: ['job_not_found'],
})

export const getChain = endpoint({
  method: 'GET',
  path: '/api/jobs/{job_id}/chain',
  role: 'viewer',
  action: null,
  tag: 'Jobs',
  summary: 'The Job and all its retries, oldest first.',
  params: jobPath,
  responses: {
    200: z
      .object({
        chain_id: z.string(),
        settled: z.boolean(),
        outcome: z.enum([...runStatus.options, 'CANCELLED']).nullable(),
        items: z.array(job),
      })
      .meta({ id: 'Chain' }),
  },
  problems: ['job_not_found'],
})

const whyReason = z
  .looseObject({ code: z.enum(WHY_CODES), message: z.string() })
  .meta({ id: 'WhyReason', examples: [{ code: 'ready', message: 'Nothing keeps it from starting.' }] })

export const explainJob = endpoint({
  method: 'GET',
  path: '/api/jobs/{job_id}/why',
  role: 'viewer',
  action: null,
  tag: 'Jobs',
  summary: 'Why a Job is not running, where it runs, or how and why it ended.',
  params: jobPath,
  responses: {
    200: z
      .object({
        job_id: z.string(),
        state: jobStatus,
        summary: z.string(),
        reasons: z.array(whyReason),
        queue_rank: z.int().nullable(),
        queue_rank_text: z.string().nullable(),
      })
      .meta({ id: 'Why' }),
  },
  problems: ['job_not_found'],
})

export const readJobLogs = endpoint({
  method: 'GET',
  path: '/api/jobs/{job_id}/logs',
  role: 'viewer',
  action: null,
  tag: 'Jobs',
  summary: "What the handler logged in the Job's Run, in order.",
  params: jobPath,
  query: logQuery,
  responses: { 200: pageOf(logLine) },
  problems: ['job_not_found'],
})

export const readJobOutput = endpoint({
  method: 'GET',
  path: '/api/jobs/{job_id}/output',
  role: 'viewer',
  action: null,
  tag: 'Jobs',
  summary:
    "What the child process of the Job's Run printed, from the byte `after` on. Command jobs say everything this way.",
  params: jobPath,
  query: outputQuery,
  responses: { 200: output },
  problems: ['job_not_found'],
})
