import type { Job } from '../domain/job.ts'
import type { Run } from '../domain/run.ts'
import type { Delivery, DeliveryStatus, Webhook } from '../domain/webhook.ts'
import type { Page } from './jobs.ts'

/** Secrets that sign at an instant: the present one, and the one before it while a rotation lasts. */
export type SigningSecrets = readonly [string, ...string[]]

/** A delivery that this node is to send, with all that its message is made of. */
export interface LeasedDelivery {
  readonly delivery: Delivery
  readonly url: string
  readonly secrets: SigningSecrets
  readonly job: Job
  readonly run: Run | null
  /** How the store finds its row again, and knows that nobody else has taken it meanwhile. */
  readonly lease: string
}

export interface LeaseRequest {
  readonly nodeId: string
  readonly now: number
  readonly leasedUntil: number
  readonly limit: number
  /** Of one endpoint: a webhook, or the origin of the URLs of Jobs. */
  readonly perEndpoint: number
  /** `after` of the answer before, so that endpoints take turns. Null: from the first. */
  readonly after: string | null
  /** Where the round closes: `after` of its first call, also for those that go on where one was cut short. */
  readonly until: string | null
}

export interface LeasePage {
  readonly leased: readonly LeasedDelivery[]
  readonly after: string | null
  /** There were too many endpoints for one call; the next goes on behind, until the round closes. */
  readonly isCutShort: boolean
}

/** What came of one attempt. */
export interface DeliveryAttempt {
  readonly lease: string
  readonly deliveryId: string
  readonly at: number
  readonly statusCode: number | null
  readonly error: string | null
  readonly latencyMs: number
  readonly responseExcerpt: string | null
  readonly next:
    | { readonly kind: 'delivered' }
    | { readonly kind: 'again'; readonly at: number }
    | { readonly kind: 'failed' }
  /** Set: the receiver asked never to be told again. */
  readonly disableWebhook: string | null
}

export interface DeliveryFilter {
  readonly webhookId?: string
  readonly jobId?: string
  readonly status?: DeliveryStatus
  readonly limit: number
  readonly cursor?: string | null
}

export interface WebhookFilter {
  readonly limit: number
  readonly cursor?: string | null
}

export interface ReplayRequest {
  readonly webhookId: string
  readonly status: Exclude<DeliveryStatus, 'PENDING'>
  /** Only what was to be told at this instant or later. Null: all. */
  readonly since: number | null
  readonly limit: number
  /** `nextCursor` of the page before. */
  readonly cursor: string | null
  readonly now: number
}

export interface ReplayPage {
  readonly replayed: number
  /** Null: that was the last page. */
  readonly nextCursor: string | null
}

export interface WebhookStore {
  createWebhook(webhook: Webhook, secret: string): Promise<void>

  /** Replaces what may change. `stale`: somebody changed it since that revision. */
  changeWebhook(change: { readonly webhook: Webhook; readonly now: number }): Promise<'changed' | 'stale' | 'not-found'>

  /** The old secret signs too until `previousUntil`. */
  rotateWebhookSecret(
    webhookId: string,
    secret: string,
    previousUntil: number,
    now: number,
  ): Promise<'rotated' | 'not-found'>

  /** Its log stays; what was pending has failed. `stale`: it is not at that revision. */
  removeWebhook(webhookId: string, now: number, revision?: number | null): Promise<'removed' | 'stale' | 'not-found'>

  findWebhook(webhookId: string): Promise<Webhook | null>

  /** Newest first. */
  listWebhooks(filter: WebhookFilter): Promise<Page<Webhook>>

  /** The secret that signs deliveries to the `webhook_url` of Jobs. The given one is stored if there is none yet. */
  declareDefaultSecret(secret: string): Promise<string>

  /** Replaces the default secret; the old one signs too until `previousUntil`. */
  rotateDefaultSecret(secret: string, previousUntil: number): Promise<void>

  /**
   * Takes due deliveries to send, at most `perEndpoint` of each endpoint at once on the whole store, so that one that never answers
   * delays no other. A lease that is over, or whose node is gone, counts for nothing. Disabled webhooks wait, and so do
   * the URLs of Jobs while no default secret is declared.
   *
   * Each endpoint gives its oldest; all give one before any gives another. They take turns, beginning after `after`.
   */
  leaseDeliveries(request: LeaseRequest): Promise<LeasePage>

  /** Records attempts. `late`: the lease was over and somebody else has it; nothing was changed. */
  recordDeliveryAttempts(attempts: readonly DeliveryAttempt[]): Promise<readonly ('recorded' | 'late')[]>

  /** Gives back leases of deliveries that were not sent after all, or all of a dead node. */
  releaseDeliveries(nodeId: string, now: number): Promise<number>

  /**
   * The first instant after this one at which a pending delivery becomes due or a lease is over, or null. With 0 it tells
   * whether anything is due; with the present, when to look again after all that could be leased was.
   */
  nextDeliveryAt(after: number): Promise<number | null>

  findDelivery(deliveryId: string): Promise<Delivery | null>

  /** Newest first. */
  listDeliveries(filter: DeliveryFilter): Promise<Page<Delivery>>

  /**
   * Sends an ended delivery again, with the same id and fresh attempts. `pending`: it is under way already. `removed`: its
   * webhook is.
   */
  replayDelivery(deliveryId: string, now: number): Promise<'replayed' | 'pending' | 'removed' | 'not-found'>

  /** The same for many of one webhook, from the newest: looks at up to `limit` of them. Nothing is replayed of a removed one. */
  replayDeliveries(request: ReplayRequest): Promise<ReplayPage>
}
