import { z } from 'zod'
import { LIMIT_MAX } from '../../domain/limits.ts'
import { endpoint } from './endpoint.ts'
import { id, instantOut, pageOf, pageQuery, pathId, retryPolicyOut } from './fields.ts'

const limit = z.object({ name: z.string(), max: z.int() }).meta({ id: 'Limit' })
const limitPath = z.object({ name: pathId })

export const listJobTypes = endpoint({
  method: 'GET',
  path: '/api/job-types',
  role: 'viewer',
  action: null,
  tag: 'Store',
  summary: 'All types that any node has ever registered on this store, with the policy of their Jobs, by name.',
  query: z.strictObject(pageQuery),
  responses: {
    200: pageOf(
      z
        .object({
          type: z.string(),
          retry_policy: retryPolicyOut,
          timeout_ms: z.int().nullable(),
          resources: z.array(z.string()).readonly(),
          /** What params it takes, as JSON Schema. Null: it says nothing of them, or not to the process that answers. */
          params_schema: z.record(z.string(), z.unknown()).nullable(),
          /** A node that is there now handles it. */
          registered: z.boolean(),
        })
        .meta({ id: 'JobType' }),
    ),
  },
  problems: [],
})

export const listLimits = endpoint({
  method: 'GET',
  path: '/api/limits',
  role: 'viewer',
  action: null,
  tag: 'Store',
  summary: 'The limits that hold across all nodes, by name.',
  query: z.strictObject(pageQuery),
  responses: { 200: pageOf(limit) },
  problems: [],
})

export const setLimit = endpoint({
  method: 'PUT',
  path: '/api/limits/{name}',
  role: 'admin',
  action: 'limit.set',
  auditedFields: ['max'],
  tag: 'Store',
  summary: 'Set a limit: `running`, `type:<name>` or `resource:<name>`.',
  params: limitPath,
  body: z.strictObject({ max: z.int().min(1).max(LIMIT_MAX) }).meta({ examples: [{ max: 2 }] }),
  responses: { 200: limit },
  problems: [],
})

export const removeLimit = endpoint({
  method: 'DELETE',
  path: '/api/limits/{name}',
  role: 'admin',
  action: 'limit.remove',
  tag: 'Store',
  summary: 'Remove a limit: from now on there is none.',
  params: limitPath,
  responses: { 204: null },
  problems: ['not_found'],
})

const counts = {
  executed: z.int(),
  completed: z.int(),
  failed: z.int(),
  skipped: z.int(),
  cancelled: z.int(),
}

export const getStatistics = endpoint({
  method: 'GET',
  path: '/api/statistics',
  role: 'viewer',
  action: null,
  tag: 'Store',
  summary:
    'What came of all Jobs, the last 24 hours by the hour, and what stands in the queue. A number of the queue that is `counted_to` means so many or more.',
  responses: {
    200: z
      .object({
        totals: z.object(counts),
        hours: z.array(
          z.object({ hour_at: instantOut, ...counts, run_ms: z.number(), wait_ms: z.number() }).meta({ id: 'Hour' }),
        ),
        queue: z.object({
          /** A number that is this one means so many or more. */
          counted_to: z.int(),
          queued: z.int(),
          ready: z.int(),
          running: z.int(),
          oldest_ready_at: instantOut.nullable(),
          waiting_tickets: z.int(),
          running_directs: z.int(),
        }),
      })
      .meta({ id: 'Statistics' }),
  },
  problems: [],
})

const percentiles = z.object({ p50: z.number(), p95: z.number() }).nullable()

export const getRecentStatistics = endpoint({
  method: 'GET',
  path: '/api/statistics/recent',
  role: 'viewer',
  action: null,
  tag: 'Store',
  summary: 'The last hour by the minute, as counted, and how long the latest Jobs, at most 1,000, waited and ran.',
  responses: {
    200: z
      .object({
        minutes: z.array(
          z
            .object({
              minute_at: instantOut,
              executed: z.int(),
              completed: z.int(),
              failed: z.int(),
              skipped: z.int(),
              cancelled: z.int(),
              run_ms: z.number(),
              wait_ms: z.number(),
            })
            .meta({ id: 'Minute' }),
        ),
        /** Of the latest Runs that have ended, at most 1,000: a sample. */
        times: z.object({ runs: z.int(), wait_ms: percentiles, run_ms: percentiles }),
      })
      .meta({ id: 'RecentStatistics' }),
  },
  problems: [],
})

export const listAudit = endpoint({
  method: 'GET',
  path: '/api/audit',
  role: 'viewer',
  action: null,
  tag: 'Store',
  summary: 'Who changed what, newest first.',
  query: z.strictObject({ ...pageQuery, subject: id.optional(), actor: id.optional() }),
  responses: {
    200: pageOf(
      z
        .object({
          audit_id: z.string(),
          at: instantOut,
          actor: z.string(),
          action: z.string(),
          subject: z.string().nullable(),
          /** How many more things it made than the one that is named. */
          others: z.int(),
          details: z.record(z.string(), z.unknown()).nullable(),
        })
        .meta({ id: 'AuditEntry' }),
    ),
  },
  problems: [],
})

export const pruneHistory = endpoint({
  method: 'POST',
  path: '/api/prune',
  role: 'admin',
  action: 'history.prune',
  auditedFields: [
    'older_than_ms',
    'jobs_removed',
    'groups_removed',
    'reservations_removed',
    'audit_removed',
    'operations_removed',
  ],
  tag: 'Store',
  summary: 'Remove what has settled for so long. With `dry_run` nothing is removed, only counted.',
  body: z
    .strictObject({
      older_than_ms: z.int().min(0).max(Number.MAX_SAFE_INTEGER),
      dry_run: z.boolean().optional(),
    })
    .meta({ examples: [{ older_than_ms: 2_592_000_000, dry_run: true }] }),
  responses: {
    200: z.object({
      dry_run: z.boolean(),
      jobs_removed: z.int(),
      groups_removed: z.int(),
      reservations_removed: z.int(),
      audit_removed: z.int(),
      operations_removed: z.int(),
    }),
  },
  problems: [],
})
