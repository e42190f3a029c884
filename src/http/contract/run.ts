import { z } from 'zod'
import { OUTPUT_LIMIT_MAX, OUTPUT_LIMIT_MIN } from '../../operations/read-output.ts'
import { instantOut, jsonOut, pageQuery, redactable, wholeInQuery } from './fields.ts'
import { runStatus } from './job.ts'

export const failureReason = z.enum([
  'error',
  'timeout',
  'crash',
  'shutdown',
  'cancelled',
  'invalid-params',
  'unserialisable-result',
  'result-too-large',
])

export const run = z
  .object({
    run_id: z.string(),
    job_id: z.string(),
    chain_id: z.string(),
    job_type: z.string(),
    attempt: z.int(),
    status: runStatus.nullable(),
    reason: failureReason.nullable(),
    params_snapshot: jsonOut,
    template_id: z.string().nullable(),
    started_at: instantOut,
    finished_at: instantOut.nullable(),
    duration_ms: z.int().nullable(),
    node: z.string(),
    exit_code: z.int().nullable(),
    error: z.string().nullable(),
    result: jsonOut,
    artifacts: z.array(z.string()).readonly(),
    log_path: z.string().nullable(),
    progress: z
      .object({ fraction: z.number(), message: z.string().nullable(), ...redactable })
      .readonly()
      .nullable(),
    ...redactable,
  })
  .meta({ id: 'Run' })

/** One Run by itself also tells where its handler threw. Messages to webhooks never do. */
export const runWithStack = run.extend({ stack: z.string().nullable() }).meta({ id: 'RunWithStack' })

export const logLine = z
  .object({
    /** Counts from 1. */
    line: z.int(),
    at: instantOut,
    level: z.enum(['debug', 'info', 'warn', 'error']),
    text: z.string(),
    fields: z.record(z.string(), z.unknown()).readonly().nullable(),
    ...redactable,
  })
  .meta({ id: 'LogLine' })

/** `after` is the number of the last line that the caller has; `cursor` is the same, for those who follow pages. */
export const logQuery = z
  .strictObject({
    after: wholeInQuery(0, Number.MAX_SAFE_INTEGER).optional(),
    cursor: wholeInQuery(0, Number.MAX_SAFE_INTEGER).optional(),
    limit: pageQuery.limit,
  })
  .refine((query) => query.after === undefined || query.cursor === undefined, {
    path: ['cursor'],
    error: 'Expected `after` or `cursor`, got both.',
  })

/** From which byte on, and how many bytes at most. */
export const outputQuery = z.strictObject({
  after: wholeInQuery(0, Number.MAX_SAFE_INTEGER).optional(),
  limit: wholeInQuery(OUTPUT_LIMIT_MIN, OUTPUT_LIMIT_MAX).optional(),
})

export const output = z
  .object({
    text: z.string(),
    /** Where to go on. */
    next_after: z.int(),
    /** How much there is so far, in bytes. */
    size_bytes: z.int(),
    ...redactable,
  })
  .meta({ id: 'Output' })
