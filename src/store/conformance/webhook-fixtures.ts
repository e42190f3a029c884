import assert from 'node:assert/strict'
import type { Delivery, Webhook } from '../../domain/webhook.ts'
import type { DeliveryAttempt, DeliveryFilter, LeasedDelivery, LeasePage, LeaseRequest } from '../webhooks.ts'
import { NOW, newId, SECOND } from './fixtures.ts'
import type { Stage } from './stage.ts'

export const SECRET = 'whsec_bGVtb24='

/** A lease of the tests lasts so long. */
export const LEASE_MS = 40 * SECOND

export function newWebhook(overrides: Partial<Webhook> = {}): Webhook {
  return {
    webhookId: newId(),
    name: null,
    url: 'https://example.com/hook',
    events: null,
    jobTypes: null,
    enabled: true,
    disabledReason: null,
    revision: 1,
    createdAt: NOW,
    updatedAt: NOW,
    ...overrides,
  }
}

/** Makes a webhook that is told once of each completed Job. */
export async function subscribe(stage: Stage, overrides: Partial<Webhook> = {}): Promise<Webhook> {
  const webhook = newWebhook({ events: ['job.settled'], ...overrides })
  await stage.store.createWebhook(webhook, SECRET)
  return webhook
}

/** All that can be leased, unless told otherwise. */
export async function lease(stage: Stage, request: Partial<LeaseRequest> = {}): Promise<readonly LeasedDelivery[]> {
  return (await leasePage(stage, request)).leased
}

export function leasePage(stage: Stage, request: Partial<LeaseRequest> = {}): Promise<LeasePage> {
  const { now = NOW + SECOND, after = null } = request
  const { nodeId } = stage
  return stage.store.leaseDeliveries({
    nodeId,
    now,
    leasedUntil: now + LEASE_MS,
    limit: 100,
    perEndpoint: 10,
    after,
    until: after,
    ...request,
  })
}

/** Leases what must be exactly one delivery. */
export async function leaseOne(stage: Stage, request: Partial<LeaseRequest> = {}): Promise<LeasedDelivery> {
  const leased = await lease(stage, request)
  assert.equal(leased.length, 1, 'exactly one delivery can be sent')
  return leased[0] as LeasedDelivery
}

/** What came of sending it: by default it arrived. */
export function attemptOf(leased: LeasedDelivery, overrides: Partial<DeliveryAttempt> = {}): DeliveryAttempt {
  return {
    lease: leased.lease,
    deliveryId: leased.delivery.deliveryId,
    at: NOW + 2 * SECOND,
    statusCode: 204,
    error: null,
    latencyMs: 12,
    responseExcerpt: null,
    next: { kind: 'delivered' },
    disableWebhook: null,
    ...overrides,
  }
}

export const refused = (next: DeliveryAttempt['next']): Partial<DeliveryAttempt> => ({
  statusCode: 503,
  error: 'The receiver answered 503.',
  responseExcerpt: 'closed for lunch',
  next,
})

export async function record(stage: Stage, ...attempts: DeliveryAttempt[]): Promise<readonly string[]> {
  return stage.store.recordDeliveryAttempts(attempts)
}

/** Oldest first. */
export async function deliveriesOf(stage: Stage, filter: Partial<DeliveryFilter> = {}): Promise<Delivery[]> {
  return (await stage.store.listDeliveries({ limit: 200, ...filter })).items.toReversed()
}

/** As `event` or `event, will retry`, oldest first. */
export async function toldOf(stage: Stage, filter: Partial<DeliveryFilter> = {}): Promise<string[]> {
  return (await deliveriesOf(stage, filter)).map(({ event, willRetry }) => `${event}${willRetry ? ', will retry' : ''}`)
}

export async function deliveryOf(stage: Stage, deliveryId: string): Promise<Delivery> {
  const delivery = await stage.store.findDelivery(deliveryId)
  assert.ok(delivery, `Delivery ${deliveryId} exists`)
  return delivery
}

/** Lets so many Jobs complete, one second after NOW. */
export async function complete(stage: Stage, count = 1): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const job = await stage.start()
    await stage.finish(job)
    ids.push(job.claim.jobId)
  }
  return ids
}
