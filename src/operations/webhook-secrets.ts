import { readText } from '../domain/options.ts'
import { newWebhookSecret } from '../platform/webhook-signature.ts'
import type { OperationContext } from './context.ts'
import { webhookNotFound } from './webhooks.ts'

/** How long a replaced secret signs too, so that receivers can change theirs without losing anything. */
const PREVIOUS_SIGNS_MS = 24 * 3_600_000

/** A new secret, which is shown this once. */
export interface RotatedSecret {
  readonly secret: string
  /** Until then the one before signs too, epoch milliseconds. */
  readonly previousUntil: number
}

export async function rotateWebhookSecret(context: OperationContext, webhookId: string): Promise<RotatedSecret> {
  const rotated = rotateNow(context)
  const { secret, previousUntil } = rotated
  const now = context.clock.now()
  const result = await context.store.rotateWebhookSecret(readText(webhookId, 'webhookId'), secret, previousUntil, now)
  if (result === 'not-found') throw webhookNotFound(webhookId)
  return rotated
}

/** The secret that signs what is sent to the `webhookUrl` of Jobs. It is made when it is first needed. */
export function getDefaultSecret(context: OperationContext): Promise<string> {
  return context.store.declareDefaultSecret(newWebhookSecret())
}

export async function rotateDefaultSecret(context: OperationContext): Promise<RotatedSecret> {
  const rotated = rotateNow(context)
  await context.store.rotateDefaultSecret(rotated.secret, rotated.previousUntil)
  return rotated
}

function rotateNow({ clock }: OperationContext): RotatedSecret {
  return { secret: newWebhookSecret(), previousUntil: clock.now() + PREVIOUS_SIGNS_MS }
}
