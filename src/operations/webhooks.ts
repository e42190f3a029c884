import { PawlError } from '../domain/errors.ts'
import { readText, refuseUnknownKeys } from '../domain/options.ts'
import type { Webhook } from '../domain/webhook.ts'
import type { AddressGuard } from '../platform/webhook-address.ts'
import { newWebhookSecret } from '../platform/webhook-signature.ts'
import type { Page } from '../store/jobs.ts'
import type { OperationContext } from './context.ts'
import { type PageOptions, readPage } from './read-history.ts'
import { otherRevision, type RemoveOptions, readRemoveOptions } from './revisions.ts'
import { readWebhookOptions, type WebhookOptions } from './webhook-options.ts'

/** A webhook with the secret that signs what it is sent. It is shown this once. */
export type NewWebhook = Webhook & { readonly secret: string }

/** Tells somebody of the ends of Jobs from now on. */
export async function createWebhook(
  context: OperationContext,
  guard: AddressGuard,
  options: WebhookOptions,
): Promise<NewWebhook> {
  const definition = await readWebhookOptions(guard, options)
  const now = context.clock.now()
  const webhook: Webhook = {
    ...definition,
    webhookId: context.newId(),
    disabledReason: null,
    revision: 1,
    createdAt: now,
    updatedAt: now,
  }
  const secret = newWebhookSecret()
  await context.store.createWebhook(webhook, secret)
  return { ...webhook, secret }
}

/** Nothing more is sent to it. What was pending has failed; its log stays. */
export async function removeWebhook(
  context: OperationContext,
  webhookId: string,
  options: RemoveOptions = {},
): Promise<void> {
  const revision = readRemoveOptions(options)
  const result = await context.store.removeWebhook(readText(webhookId, 'webhookId'), context.clock.now(), revision)
  if (result === 'not-found') throw webhookNotFound(webhookId)
  if (result === 'stale') throw otherRevision('webhook', revision)
}

export async function getWebhook(context: OperationContext, webhookId: string): Promise<Webhook> {
  const webhook = await context.store.findWebhook(readText(webhookId, 'webhookId'))
  if (webhook === null) throw webhookNotFound(webhookId)
  return webhook
}

/** Newest first. */
export async function listWebhooks(context: OperationContext, options: PageOptions = {}): Promise<Page<Webhook>> {
  refuseUnknownKeys(options, ['limit', 'cursor'], '')
  return context.store.listWebhooks(readPage(options))
}

export function webhookNotFound(webhookId: string): PawlError {
  return new PawlError('webhook_not_found', `There is no webhook ${webhookId}. It never existed, or it was removed.`, {
    details: { webhookId },
  })
}
