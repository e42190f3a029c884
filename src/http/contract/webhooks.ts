import { z } from 'zod'
import { WEBHOOK_EVENTS } from '../../domain/webhook.ts'
import { JOB_TYPES_MAX } from '../../operations/webhook-options.ts'
import { endpoint } from './endpoint.ts'
import {
  changes,
  id,
  instant,
  instantOut,
  jobType,
  NOTHING_CHANGES,
  name,
  pageOf,
  pageQuery,
  pathId,
  SOMETHING,
} from './fields.ts'

const event = z.enum(WEBHOOK_EVENTS)

const webhookFields = {
  webhook_id: z.string(),
  name: z.string().nullable(),
  /** Whole for admins; others see where it leads, because the rest of it may be a secret. */
  url: z.string(),
  events: z.array(event).readonly().nullable(),
  job_types: z.array(z.string()).readonly().nullable(),
  enabled: z.boolean(),
  disabled_reason: z.string().nullable(),
  revision: z.int(),
  created_at: instantOut,
  updated_at: instantOut,
}

const webhook = z.object(webhookFields).meta({ id: 'Webhook' })

const secret = z.string().meta({ examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] })

const rotatedSecret = z.object({ secret, previous_until: instantOut }).meta({ id: 'RotatedSecret' })

const deliveryStatus = z.enum(['PENDING', 'DELIVERED', 'FAILED'])

const delivery = z
  .object({
    delivery_id: z.string(),
    /** Null: it goes to the Job's own `webhook_url`. */
    webhook_id: z.string().nullable(),
    job_id: z.string(),
    run_id: z.string().nullable(),
    event,
    will_retry: z.boolean(),
    status: deliveryStatus,
    attempts: z.int(),
    last_attempt_at: instantOut.nullable(),
    last_status_code: z.int().nullable(),
    last_error: z.string().nullable(),
    latency_ms: z.number().nullable(),
    response_excerpt: z.string().nullable(),
    next_attempt_at: instantOut.nullable(),
    created_at: instantOut,
  })
  .meta({ id: 'Delivery' })

const url = z
  .string()
  .min(1)
  .meta({ examples: ['https://example.com/hooks/pawl'] })

const givenFields = {
  events: z.array(event).min(1).nullable().optional(),
  job_types: z.array(jobType).min(1).max(JOB_TYPES_MAX).nullable().optional(),
  name: name.nullable().optional(),
  enabled: z.boolean().optional(),
}

const webhookPath = z.object({ webhook_id: pathId })
const deliveryPath = z.object({ delivery_id: pathId })

export const createWebhook = endpoint({
  method: 'POST',
  path: '/api/webhooks',
  role: 'admin',
  action: 'webhook.create',
  auditedFields: ['name'],
  tag: 'Webhooks',
  summary: 'Tell somebody of the ends of Jobs from now on. The secret is shown this once.',
  body: z
    .strictObject({ url, ...givenFields })
    .meta({ examples: [{ url: 'https://example.com/hooks/pawl', events: ['job.settled'] }] }),
  responses: { 201: z.object({ ...webhookFields, secret }).meta({ id: 'NewWebhook' }) },
  problems: ['webhook_url_refused'],
  isVersioned: true,
})

export const listWebhooks = endpoint({
  method: 'GET',
  path: '/api/webhooks',
  role: 'viewer',
  action: null,
  tag: 'Webhooks',
  summary: 'Webhooks, newest first.',
  query: z.strictObject(pageQuery),
  responses: { 200: pageOf(webhook) },
  problems: [],
})

export const getWebhook = endpoint({
  method: 'GET',
  path: '/api/webhooks/{webhook_id}',
  role: 'viewer',
  action: null,
  tag: 'Webhooks',
  summary: 'One webhook.',
  params: webhookPath,
  responses: { 200: webhook },
  problems: ['webhook_not_found'],
  isVersioned: true,
})

export const changeWebhook = endpoint({
  method: 'PATCH',
  path: '/api/webhooks/{webhook_id}',
  role: 'admin',
  action: 'webhook.change',
  tag: 'Webhooks',
  summary: 'Change whom is told, and of what. Enabling sends what waited.',
  params: webhookPath,
  body: z
    .strictObject({ url: url.optional(), ...givenFields })
    .refine(changes, NOTHING_CHANGES)
    .meta({ ...SOMETHING, examples: [{ enabled: false }] }),
  responses: { 200: webhook },
  problems: ['webhook_not_found', 'webhook_url_refused', 'conflict'],
  isVersioned: true,
  takesIfMatch: true,
})

export const removeWebhook = endpoint({
  method: 'DELETE',
  path: '/api/webhooks/{webhook_id}',
  role: 'admin',
  action: 'webhook.remove',
  tag: 'Webhooks',
  summary: 'Send nothing more to it. What was pending has failed; its log stays.',
  params: webhookPath,
  responses: { 204: null },
  problems: ['webhook_not_found'],
  takesIfMatch: true,
})

export const rotateWebhookSecret = endpoint({
  method: 'POST',
  path: '/api/webhooks/{webhook_id}/rotate-secret',
  role: 'admin',
  action: 'webhook.rotate-secret',
  tag: 'Webhooks',
  summary: 'A new secret, shown this once. The old one signs too for a day.',
  params: webhookPath,
  body: z.strictObject({}).meta({ examples: [{}] }),
  isBodyOptional: true,
  responses: { 200: rotatedSecret },
  problems: ['webhook_not_found'],
})

export const replayWebhook = endpoint({
  method: 'POST',
  path: '/api/webhooks/{webhook_id}/replay',
  role: 'admin',
  action: 'webhook.replay',
  auditedFields: ['status', 'since'],
  tag: 'Webhooks',
  summary: 'Send the ended deliveries of a webhook again, all with this status.',
  params: webhookPath,
  body: z
    .strictObject({ status: z.enum(['FAILED', 'DELIVERED']), since: instant.optional() })
    .meta({ examples: [{ status: 'FAILED', since: '2026-11-16T08:00:00.000Z' }] }),
  responses: { 202: z.object({ count: z.int() }) },
  problems: ['webhook_not_found'],
})

export const listDeliveriesOfWebhook = endpoint({
  method: 'GET',
  path: '/api/webhooks/{webhook_id}/deliveries',
  role: 'viewer',
  action: null,
  tag: 'Webhooks',
  summary: 'What was sent to a webhook, newest first. The log of a removed webhook stays.',
  params: webhookPath,
  query: z.strictObject({ ...pageQuery, status: deliveryStatus.optional() }),
  responses: { 200: pageOf(delivery) },
  problems: ['webhook_not_found'],
})

export const listDeliveries = endpoint({
  method: 'GET',
  path: '/api/webhook-deliveries',
  role: 'viewer',
  action: null,
  tag: 'Webhooks',
  summary: 'What was sent to anybody, newest first.',
  query: z.strictObject({ ...pageQuery, job_id: id.optional(), status: deliveryStatus.optional() }),
  responses: { 200: pageOf(delivery) },
  problems: [],
})

export const getDelivery = endpoint({
  method: 'GET',
  path: '/api/webhook-deliveries/{delivery_id}',
  role: 'viewer',
  action: null,
  tag: 'Webhooks',
  summary: 'One delivery.',
  params: deliveryPath,
  responses: { 200: delivery },
  problems: ['delivery_not_found'],
})

export const replayDelivery = endpoint({
  method: 'POST',
  path: '/api/webhook-deliveries/{delivery_id}/replay',
  role: 'admin',
  action: 'webhook.replay',
  tag: 'Webhooks',
  summary: 'Send an ended delivery again, with the same id.',
  params: deliveryPath,
  body: z.strictObject({}).meta({ examples: [{}] }),
  isBodyOptional: true,
  responses: { 202: delivery },
  problems: ['delivery_not_found', 'delivery_pending', 'conflict'],
})

export const getDefaultSecret = endpoint({
  method: 'GET',
  path: '/api/webhook-secret',
  role: 'admin',
  // It is made when somebody first asks for it.
  action: 'webhook-secret.create',
  tag: 'Webhooks',
  summary: 'The secret that signs what is sent to the `webhook_url` of Jobs.',
  responses: { 200: z.object({ secret }) },
  problems: [],
})

export const rotateDefaultSecret = endpoint({
  method: 'POST',
  path: '/api/webhook-secret/rotate',
  role: 'admin',
  action: 'webhook-secret.rotate',
  tag: 'Webhooks',
  summary: 'A new secret for the `webhook_url` of Jobs. The old one signs too for a day.',
  body: z.strictObject({}).meta({ examples: [{}] }),
  isBodyOptional: true,
  responses: { 200: rotatedSecret },
  problems: [],
})
