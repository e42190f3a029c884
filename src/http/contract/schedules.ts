import { z } from 'zod'
import { EVERY_MAX_MS, EVERY_MIN_MS, PREVIEW_COUNT_MAX } from '../../domain/slots.ts'
import { endpoint } from './endpoint.ts'
import {
  booleanInQuery,
  changes,
  id,
  instant,
  instantOut,
  jobType,
  json,
  jsonOut,
  key,
  NOTHING_CHANGES,
  name,
  notBoth,
  oneOf,
  pageOf,
  pageQuery,
  pathId,
  priority,
  redactable,
  SOMETHING,
  tags,
  wholeInQuery,
} from './fields.ts'
import { job } from './job.ts'

const missed = z.enum(['one', 'all', 'none'])
const overlap = z.enum(['allow', 'skip', 'queue-one'])

const schedule = z
  .object({
    schedule_id: z.string(),
    name: z.string(),
    template_id: z.string().nullable(),
    type: z.string().nullable(),
    cron: z.string().nullable(),
    every_ms: z.int().nullable(),
    timezone: z.string(),
    enabled: z.boolean(),
    /** Why it was disabled, when it was not a person who did. */
    disabled_reason: z.string().nullable(),
    param_overrides: jsonOut,
    missed,
    overlap,
    priority: z.int(),
    tags: z.array(z.string()).readonly(),
    business_key: z.string().nullable(),
    revision: z.int(),
    created_at: instantOut,
    updated_at: instantOut,
    /** Slots not after this instant never fire. */
    last_slot_at: instantOut,
    next_trigger_at: instantOut.nullable(),
    last_triggered_at: instantOut.nullable(),
    ...redactable,
  })
  .meta({ id: 'Schedule' })

/** How many Jobs of each schedule a list can tell of. */
const LATEST_JOBS_MAX = 50

/** As much of a Job as says how it went. */
const latestJob = job.pick({
  job_id: true,
  status: true,
  hold: true,
  outcome: true,
  attempt: true,
  slot_at: true,
  created_at: true,
  cancel_requested_at: true,
})

const listedSchedule = schedule
  .extend({
    /** Its latest Jobs, newest first, when the list was asked for them. */
    latest_jobs: z.array(latestJob).optional(),
  })
  .meta({ id: 'ListedSchedule' })

const cron = z
  .string()
  .min(1)
  .max(1_000)
  .meta({ examples: ['0 8 * * 1-5'] })
const everyMs = z
  .int()
  .min(EVERY_MIN_MS)
  .max(EVERY_MAX_MS)
  .meta({ examples: [3_600_000] })
const timezone = z
  .string()
  .min(1)
  .max(128)
  .meta({ examples: ['Europe/Vienna'] })

const timingFields = {
  cron: cron.optional(),
  /** The older name of `cron`. */
  cron_expression: cron.optional(),
  every_ms: everyMs.optional(),
  timezone: timezone.optional(),
}

const scheduleFields = {
  ...timingFields,
  template_id: id.optional(),
  type: jobType.optional(),
  enabled: z.boolean().optional(),
  param_overrides: json.optional(),
  missed: missed.optional(),
  overlap: overlap.optional(),
  priority: priority.optional(),
  tags: tags.optional(),
  business_key: key.nullable().optional(),
}

type Timing = z.output<z.ZodObject<typeof timingFields>>
type Target = { type?: string | undefined; template_id?: string | undefined }

function countTimings({ cron, cron_expression, every_ms }: Timing): number {
  return [cron, cron_expression, every_ms].filter((given) => given !== undefined).length
}

/** One of these says when. */
const TIMINGS = ['cron', 'cron_expression', 'every_ms'] as const

const ONE_TIMING = { path: ['cron'], error: 'Expected either `cron` (alias `cron_expression`) or `every_ms`.' }
const ONE_TARGET = { path: ['type'], error: 'Expected either `template_id` or `type`.' }

const schedulePath = z.object({ schedule_id: pathId })

const TARGET_PROBLEMS = [
  'unknown_type',
  'invalid_params',
  'params_too_large',
  'unserialisable_params',
  'template_not_found',
  'template_archived',
] as const

export const createSchedule = endpoint({
  method: 'POST',
  path: '/api/schedules',
  role: 'admin',
  action: 'schedule.create',
  auditedFields: ['name', 'type', 'template_id'],
  tag: 'Schedules',
  summary: 'Make Jobs of a template or a type from now on, whenever a slot comes.',
  body: z
    .strictObject({ name, ...scheduleFields })
    .refine((body: Timing) => countTimings(body) === 1, ONE_TIMING)
    .refine((body: Target) => (body.type === undefined) !== (body.template_id === undefined), ONE_TARGET)
    .meta({
      allOf: [oneOf(...TIMINGS), oneOf('template_id', 'type')],
      examples: [{ name: 'morning story', type: 'story', cron: '0 8 * * *', timezone: 'Europe/Vienna' }],
    }),
  responses: { 201: schedule },
  problems: TARGET_PROBLEMS,
  isVersioned: true,
})

export const listSchedules = endpoint({
  method: 'GET',
  path: '/api/schedules',
  role: 'viewer',
  action: null,
  tag: 'Schedules',
  summary: 'Schedules, newest first; with `latest_jobs=20` also how the last Jobs of each have gone.',
  query: z.strictObject({
    ...pageQuery,
    enabled: booleanInQuery.optional(),
    latest_jobs: wholeInQuery(1, LATEST_JOBS_MAX).optional(),
  }),
  responses: { 200: pageOf(listedSchedule) },
  problems: [],
})

export const getSchedule = endpoint({
  method: 'GET',
  path: '/api/schedules/{schedule_id}',
  role: 'viewer',
  action: null,
  tag: 'Schedules',
  summary: 'One schedule.',
  params: schedulePath,
  responses: { 200: schedule },
  problems: ['schedule_not_found'],
  isVersioned: true,
})

export const changeSchedule = endpoint({
  method: 'PATCH',
  path: '/api/schedules/{schedule_id}',
  role: 'operator',
  action: 'schedule.change',
  tag: 'Schedules',
  summary: 'Change a schedule from its next slot on. Whoever changes more than `enabled` must be admin.',
  params: schedulePath,
  body: z
    .strictObject({ name: name.optional(), ...scheduleFields })
    .refine((body: Timing) => countTimings(body) <= 1, ONE_TIMING)
    .refine((body: Target) => body.type === undefined || body.template_id === undefined, ONE_TARGET)
    .refine(changes, NOTHING_CHANGES)
    .meta({ ...SOMETHING, ...notBoth('template_id', 'type'), examples: [{ enabled: false }] }),
  responses: { 200: schedule },
  problems: ['schedule_not_found', 'conflict', ...TARGET_PROBLEMS],
  isVersioned: true,
  takesIfMatch: true,
})

export const removeSchedule = endpoint({
  method: 'DELETE',
  path: '/api/schedules/{schedule_id}',
  role: 'admin',
  action: 'schedule.remove',
  tag: 'Schedules',
  summary: 'Remove a schedule. Jobs that it made stay, and run.',
  params: schedulePath,
  responses: { 204: null },
  problems: ['schedule_not_found'],
  takesIfMatch: true,
})

export const triggerSchedule = endpoint({
  method: 'POST',
  path: '/api/schedules/{schedule_id}/trigger',
  role: 'operator',
  action: 'schedule.trigger',
  tag: 'Schedules',
  summary: 'Make one Job of a schedule now, also of a disabled one. No slot is moved.',
  params: schedulePath,
  body: z.strictObject({}).meta({ examples: [{}] }),
  isBodyOptional: true,
  responses: { 201: job },
  problems: ['schedule_not_found', 'business_key_taken', ...TARGET_PROBLEMS],
  isVersioned: true,
})

const preview = z
  .object({
    items: z.array(
      z.object({
        at: instantOut,
        /** What a clock in the zone shows. */
        local: z.string(),
        note: z.enum(['dst-gap', 'dst-overlap']).nullable(),
      }),
    ),
  })
  .meta({ id: 'Preview' })

export const previewSchedule = endpoint({
  method: 'GET',
  path: '/api/schedules/{schedule_id}/preview',
  role: 'viewer',
  action: null,
  tag: 'Schedules',
  summary: 'The next slots of a schedule; of a disabled one those that it would have.',
  params: schedulePath,
  query: z.strictObject({ count: wholeInQuery(1, PREVIEW_COUNT_MAX).optional(), from: instant.optional() }),
  responses: { 200: preview },
  problems: ['schedule_not_found'],
})

export const previewTiming = endpoint({
  method: 'POST',
  path: '/api/schedules/preview',
  role: 'viewer',
  action: null,
  tag: 'Schedules',
  summary: 'The slots that a schedule with this timing would have. Nothing is stored.',
  body: z
    .strictObject({
      ...timingFields,
      count: z.int().min(1).max(PREVIEW_COUNT_MAX).optional(),
      from: instant.optional(),
    })
    .refine((body: Timing) => countTimings(body) === 1, ONE_TIMING)
    .meta({ ...oneOf(...TIMINGS), examples: [{ cron: '30 2 * * *', timezone: 'Europe/Vienna', count: 5 }] }),
  responses: { 200: preview },
  problems: [],
})

export const listSkippedSlots = endpoint({
  method: 'GET',
  path: '/api/schedules/{schedule_id}/skipped',
  role: 'viewer',
  action: null,
  tag: 'Schedules',
  summary: 'Slots that made no Job, with the reason, newest first.',
  params: schedulePath,
  query: z.strictObject(pageQuery),
  responses: {
    200: pageOf(
      z
        .object({
          first_slot_at: instantOut,
          last_slot_at: instantOut,
          /** Null: more than was worth counting. */
          count: z.int().nullable(),
          reason: z.enum(['missed', 'overlap', 'business-key-taken', 'clock-set-back']),
          at: instantOut,
        })
        .meta({ id: 'SkippedSlots' }),
    ),
  },
  problems: ['schedule_not_found'],
})
