import type { Webhook } from '../domain/webhook.ts'
import type { AddressGuard } from '../platform/webhook-address.ts'
import { CHANGE_ATTEMPTS_MAX } from './change-template.ts'
import type { OperationContext } from './context.ts'
import { changedMeanwhile, readExpectedRevision, refuseOtherRevision } from './revisions.ts'
import { readWebhookChange, type WebhookChange } from './webhook-options.ts'
import { getWebhook, webhookNotFound } from './webhooks.ts'

/** Changes whom is told, and of what, from now on. What is pending goes to the new URL. Enabling sends what waited. */
export async function changeWebhook(
  context: OperationContext,
  guard: AddressGuard,
  webhookId: string,
  options: WebhookChange,
): Promise<Webhook> {
  const change = await readWebhookChange(guard, options)
  const expected = readExpectedRevision(options.revision)
  for (let attempt = 1; attempt <= CHANGE_ATTEMPTS_MAX; attempt++) {
    const current = await getWebhook(context, webhookId)
    refuseOtherRevision('webhook', current.revision, expected)
    // The reason is that of whoever disabled it without being a person. Now a person has said what shall be.
    const disabledReason = change.enabled === undefined ? current.disabledReason : null
    const webhook = { ...current, ...change, disabledReason }
    const now = context.clock.now()
    const result = await context.store.changeWebhook({ webhook, now })
    if (result === 'changed') return { ...webhook, revision: current.revision + 1, updatedAt: now }
    if (result === 'not-found') throw webhookNotFound(webhookId)
  }
  throw changedMeanwhile('webhook')
}
