import type { Delivery, Webhook } from '../domain/webhook.ts'
import type { OperationContext } from '../operations/context.ts'
import type { PageOptions } from '../operations/read-history.ts'
import type { RemoveOptions } from '../operations/revisions.ts'
import { changeWebhook } from '../operations/webhook-change.ts'
import * as log from '../operations/webhook-deliveries.ts'
import type { WebhookChange, WebhookOptions } from '../operations/webhook-options.ts'
import * as secrets from '../operations/webhook-secrets.ts'
import * as operations from '../operations/webhooks.ts'
import type { AddressGuard } from '../platform/webhook-address.ts'
import type { Page } from '../store/jobs.ts'
import type { Call } from './templates.ts'

/** Who is told of the ends of Jobs: `scheduler.webhooks`. Deliveries are sent while any node of the store lives. */
export class Webhooks {
  readonly #context: OperationContext
  readonly #guard: AddressGuard
  readonly #call: Call

  /** @internal */
  constructor(context: OperationContext, guard: AddressGuard, call: Call) {
    this.#context = context
    this.#guard = guard
    this.#call = call
  }

  /** Tells this URL of the ends of Jobs from now on. The secret that signs is shown this once. */
  create(options: WebhookOptions): Promise<operations.NewWebhook> {
    return this.#call(() => operations.createWebhook(this.#context, this.#guard, options))
  }

  /** What is pending goes to the new URL; enabling sends what waited. */
  change(webhookId: string, change: WebhookChange): Promise<Webhook> {
    return this.#call(() => changeWebhook(this.#context, this.#guard, webhookId, change))
  }

  /** What was pending has failed. Its log stays. */
  remove(webhookId: string, options?: RemoveOptions): Promise<void> {
    return this.#call(() => operations.removeWebhook(this.#context, webhookId, options))
  }

  get(webhookId: string): Promise<Webhook> {
    return this.#call(() => operations.getWebhook(this.#context, webhookId))
  }

  /** Newest first. */
  list(options?: PageOptions): Promise<Page<Webhook>> {
    return this.#call(() => operations.listWebhooks(this.#context, options))
  }

  /** Replaces the secret. The one before signs too for 24 hours. */
  rotateSecret(webhookId: string): Promise<secrets.RotatedSecret> {
    return this.#call(() => secrets.rotateWebhookSecret(this.#context, webhookId))
  }

  /** What was to be told to whom, and what came of it, newest first. */
  deliveries(options?: log.DeliveryListOptions): Promise<Page<Delivery>> {
    return this.#call(() => log.listDeliveries(this.#context, options))
  }

  getDelivery(deliveryId: string): Promise<Delivery> {
    return this.#call(() => log.getDelivery(this.#context, deliveryId))
  }

  /** Sends an ended delivery again, with the same id. */
  replay(deliveryId: string): Promise<Delivery> {
    return this.#call(() => log.replayDelivery(this.#context, deliveryId))
  }

  /** Sends all ended deliveries of a webhook again that have this status. Returns how many. */
  replayAll(webhookId: string, options: log.ReplayOptions): Promise<{ readonly count: number }> {
    return this.#call(() => log.replayDeliveries(this.#context, webhookId, options))
  }

  /** What signs deliveries to the `webhookUrl` of Jobs. */
  defaultSecret(): Promise<string> {
    return this.#call(() => secrets.getDefaultSecret(this.#context))
  }

  /** Replaces the default secret. The one before signs too for 24 hours. */
  rotateDefaultSecret(): Promise<secrets.RotatedSecret> {
    return this.#call(() => secrets.rotateDefaultSecret(this.#context))
  }
}
