import type { z } from 'zod'
import { PawlError } from '../../domain/errors.ts'
import type { Delivery, Webhook } from '../../domain/webhook.ts'
import { wireInstant } from '../../domain/wire.ts'
import { changeWebhook } from '../../operations/webhook-change.ts'
import * as deliveries from '../../operations/webhook-deliveries.ts'
import {
  getDefaultSecret,
  type RotatedSecret,
  rotateDefaultSecret,
  rotateWebhookSecret,
} from '../../operations/webhook-secrets.ts'
import { createWebhook, getWebhook, listWebhooks, removeWebhook } from '../../operations/webhooks.ts'
import * as contract from '../contract/webhooks.ts'
import { accepted, created, done, ok } from './answer.ts'
import { dateOf, given } from './given.ts'
import { type Actor, type Route, route } from './handler.ts'
import { okPage, pageOptions } from './pages.ts'
import { expectedRevision, revisionTag } from './versions.ts'

/** Many receivers are known by nothing but their URL, so only who may change it sees all of it. */
function wireWebhook(webhook: Webhook, { role }: Actor) {
  return {
    webhook_id: webhook.webhookId,
    name: webhook.name,
    url: role === 'admin' ? webhook.url : `${new URL(webhook.url).origin}/…`,
    events: webhook.events,
    job_types: webhook.jobTypes,
    enabled: webhook.enabled,
    disabled_reason: webhook.disabledReason,
    revision: webhook.revision,
    created_at: wireInstant(webhook.createdAt),
    updated_at: wireInstant(webhook.updatedAt),
  }
}

function wireDelivery(delivery: Delivery) {
  return {
    delivery_id: delivery.deliveryId,
    webhook_id: delivery.webhookId,
    job_id: delivery.jobId,
    run_id: delivery.runId,
    event: delivery.event,
    will_retry: delivery.willRetry,
    status: delivery.status,
    attempts: delivery.attempts,
    last_attempt_at: wireInstant(delivery.lastAttemptAt),
    last_status_code: delivery.lastStatusCode,
    last_error: delivery.lastError,
    latency_ms: delivery.latencyMs,
    response_excerpt: delivery.responseExcerpt,
    next_attempt_at: wireInstant(delivery.nextAttemptAt),
    created_at: wireInstant(delivery.createdAt),
  }
}

function wireSecret({ secret, previousUntil }: RotatedSecret) {
  return { secret, previous_until: wireInstant(previousUntil) }
}

function toOptions(body: z.output<typeof contract.changeWebhook.body>) {
  const { url, events, job_types, name, enabled } = body
  return given({ url, events, jobTypes: job_types, name, enabled })
}

/** That its webhook is gone says nothing about the delivery that was named. */
function refuseRemoved(error: unknown): never {
  if (!(error instanceof PawlError) || error.code !== 'webhook_not_found') throw error
  throw new PawlError('conflict', 'The webhook of this delivery was removed, so nothing is sent to it any more.', {
    details: error.details,
  })
}

export const webhookRoutes: readonly Route[] = [
  route(contract.createWebhook, async ({ context, actor, body }) => {
    const options = { ...toOptions(body), url: body.url }
    const webhook = await createWebhook(context, context.webhookGuard, options)
    const shown = { ...wireWebhook(webhook, actor), secret: webhook.secret }
    return created(shown, `/api/webhooks/${webhook.webhookId}`, revisionTag(webhook))
  }),

  route(contract.listWebhooks, async ({ context, actor, query }) =>
    okPage(await listWebhooks(context, pageOptions(query)), (webhook) => wireWebhook(webhook, actor)),
  ),

  route(contract.getWebhook, async ({ context, actor, params }) => {
    const webhook = await getWebhook(context, params.webhook_id)
    return ok(wireWebhook(webhook, actor), revisionTag(webhook))
  }),

  route(contract.changeWebhook, async ({ context, actor, params, body, ifMatch }) => {
    const options = { ...toOptions(body), ...expectedRevision(ifMatch) }
    const webhook = await changeWebhook(context, context.webhookGuard, params.webhook_id, options)
    return ok(wireWebhook(webhook, actor), revisionTag(webhook))
  }),

  route(contract.removeWebhook, async ({ context, params, ifMatch }) => {
    await removeWebhook(context, params.webhook_id, expectedRevision(ifMatch))
    return done()
  }),

  route(contract.rotateWebhookSecret, async ({ context, params }) =>
    ok(wireSecret(await rotateWebhookSecret(context, params.webhook_id))),
  ),

  route(contract.replayWebhook, async ({ context, params, body }) => {
    const options = { status: body.status, ...given({ since: dateOf(body.since) }) }
    return accepted(await deliveries.replayDeliveries(context, params.webhook_id, options))
  }),

  route(contract.listDeliveriesOfWebhook, async ({ context, params, query }) => {
    const webhookId = params.webhook_id
    const filter = given({ status: query.status })
    const page = await deliveries.listDeliveries(context, { ...pageOptions(query), ...filter, webhookId })
    // The log of a removed webhook stays, so the log itself shows that there was one.
    const isKnown =
      page.items.length > 0 || (await deliveries.listDeliveries(context, { webhookId, limit: 1 })).items.length > 0
    if (!isKnown) await getWebhook(context, webhookId)
    return okPage(page, wireDelivery)
  }),

  route(contract.listDeliveries, async ({ context, query }) => {
    const filter = given({ jobId: query.job_id, status: query.status })
    return okPage(await deliveries.listDeliveries(context, { ...pageOptions(query), ...filter }), wireDelivery)
  }),

  route(contract.getDelivery, async ({ context, params }) =>
    ok(wireDelivery(await deliveries.getDelivery(context, params.delivery_id))),
  ),

  route(contract.replayDelivery, async ({ context, params }) =>
    accepted(wireDelivery(await deliveries.replayDelivery(context, params.delivery_id).catch(refuseRemoved))),
  ),

  route(contract.getDefaultSecret, async ({ context }) => ok({ secret: await getDefaultSecret(context) })),

  route(contract.rotateDefaultSecret, async ({ context }) => ok(wireSecret(await rotateDefaultSecret(context)))),
]
