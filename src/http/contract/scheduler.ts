import { z } from 'zod'
import { endpoint } from './endpoint.ts'
import { instantOut, pageOf, pageQuery } from './fields.ts'

const recoveryStats = z
  .object({
    running_jobs_recovered: z.int(),
    reservations_expired: z.int(),
    retries_created: z.int(),
    job_groups_recovered: z.int(),
    errors: z.array(z.string()).readonly(),
  })
  .meta({ id: 'RecoveryStats' })

const node = z
  .object({
    node_id: z.string(),
    name: z.string(),
    host: z.string(),
    pid: z.int(),
    types: z.array(z.string()).readonly(),
    concurrency: z.int(),
    started_at: instantOut,
    /** Whether it claims Jobs: not before its start, nor after its stop. */
    claims: z.boolean(),
    /** False: its process has died, and recovery is about to end what it left. */
    alive: z.boolean(),
    /** Its last heartbeat. Null: the store knows at once whether it lives. */
    last_seen_at: instantOut.nullable(),
    /** The one that answers. */
    is_this: z.boolean(),
  })
  .meta({ id: 'Node' })

export const startScheduler = endpoint({
  method: 'POST',
  path: '/api/scheduler/start',
  role: 'admin',
  action: 'scheduler.start',
  tag: 'Scheduler',
  summary: 'Let this node claim Jobs. `recovery_stats` is null when it was started already.',
  body: z.strictObject({}).meta({ examples: [{}] }),
  isBodyOptional: true,
  responses: { 200: z.object({ recovery_stats: recoveryStats.nullable() }) },
  problems: [],
})

const STOP_TIMEOUT_DEFAULT_SECONDS = 30

export const stopScheduler = endpoint({
  method: 'POST',
  path: '/api/scheduler/stop',
  role: 'admin',
  action: 'scheduler.stop',
  auditedFields: ['timeout'],
  tag: 'Scheduler',
  summary: 'Let this node claim nothing more, and wait for what executes. Nothing is aborted.',
  body: z
    .strictObject({ timeout: z.int().min(1).max(300).default(STOP_TIMEOUT_DEFAULT_SECONDS) })
    .meta({ examples: [{ timeout: 30 }] }),
  isBodyOptional: true,
  responses: { 200: z.object({ still_running: z.array(z.string()).readonly() }) },
  problems: [],
})

export const getStatus = endpoint({
  method: 'GET',
  path: '/api/scheduler/status',
  role: 'viewer',
  action: null,
  tag: 'Scheduler',
  summary: 'How this node stands, and the queue.',
  responses: {
    200: z
      .object({
        scheduler_running: z.boolean(),
        node_id: z.string(),
        /** Jobs whose bodies execute on this node. */
        current_job_ids: z.array(z.string()).readonly(),
        /** Counted up to 10,000. */
        queue_length: z.int(),
        /** There are more than were counted. */
        queue_length_capped: z.boolean(),
        cumulative_stats: z.object({
          total_executed: z.int(),
          succeeded: z.int(),
          failed: z.int(),
          cancelled: z.int(),
          skipped: z.int(),
        }),
        has_active_reservation: z.boolean(),
        /** What the last start recovered; null: it was never started. */
        recovery_stats: recoveryStats.nullable(),
        nodes: z.array(node),
      })
      .meta({ id: 'Status' }),
  },
  problems: [],
})

export const listNodes = endpoint({
  method: 'GET',
  path: '/api/nodes',
  role: 'viewer',
  action: null,
  tag: 'Scheduler',
  summary: 'All nodes of the store, the oldest first.',
  query: z.strictObject(pageQuery),
  responses: { 200: pageOf(node) },
  problems: [],
})
