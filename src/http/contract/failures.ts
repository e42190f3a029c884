import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { id, instant, instantOut, pageQuery, redactable } from './fields.ts'
import { failureReason } from './run.ts'

const failure = z
  .object({
    /** The same for the same type, reason and pattern. */
    fingerprint: z.string(),
    job_type: z.string(),
    reason: failureReason.nullable(),
    error_name: z.string().nullable(),
    /** The latest. */
    message: z.string(),
    /** Its first line, with numbers, ids and times taken out. */
    pattern: z.string(),
    count: z.int(),
    first_seen_at: instantOut,
    last_seen_at: instantOut,
    example_job_id: z.string(),
    example_run_id: z.string(),
    ...redactable,
  })
  .meta({ id: 'Failure' })

export const listFailures = endpoint({
  method: 'GET',
  path: '/api/failures',
  role: 'viewer',
  action: null,
  tag: 'Runs',
  summary:
    'Recent failures, those with the same cause together, the latest first. Looks at the latest 2,000 failed Runs.',
  query: z.strictObject({ limit: pageQuery.limit, type: id.optional(), since: instant.optional() }),
  responses: {
    200: z
      .object({
        items: z.array(failure),
        looked_at: z.int(),
        /** There are older failures that were not looked at. */
        limited: z.boolean(),
        /** The start of the oldest that was looked at. */
        since: instantOut.nullable(),
      })
      .meta({ id: 'Failures' }),
  },
  problems: [],
})
