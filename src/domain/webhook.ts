/** What a webhook can be told of. */
export type WebhookEvent = 'job.run.completed' | 'job.run.failed' | 'job.run.skipped' | 'job.cancelled' | 'job.settled'

export const WEBHOOK_EVENTS: readonly WebhookEvent[] = [
  'job.run.completed',
  'job.run.failed',
  'job.run.skipped',
  'job.cancelled',
  'job.settled',
]

/** Somebody who is told of the ends of Jobs. Its secret is shown once, when it is made or rotated. */
export interface Webhook {
  readonly webhookId: string
  readonly name: string | null
  readonly url: string
  /** Null: all. */
  readonly events: readonly WebhookEvent[] | null
  /** Null: all. */
  readonly jobTypes: readonly string[] | null
  readonly enabled: boolean
  /** Why it was disabled, when it was not a person who did. */
  readonly disabledReason: string | null
  readonly revision: number
  readonly createdAt: number
  readonly updatedAt: number
}

export type DeliveryStatus = 'PENDING' | 'DELIVERED' | 'FAILED'

/** One message to one receiver, with what came of it. */
export interface Delivery {
  readonly deliveryId: string
  /** Null: it goes to the Job's own `webhook_url`. */
  readonly webhookId: string | null
  readonly jobId: string
  readonly runId: string | null
  readonly event: WebhookEvent
  readonly willRetry: boolean
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly lastAttemptAt: number | null
  readonly lastStatusCode: number | null
  readonly lastError: string | null
  readonly latencyMs: number | null
  readonly responseExcerpt: string | null
  readonly nextAttemptAt: number | null
  readonly createdAt: number
}

/** The first try, and these delays before up to three more. */
const RETRY_DELAYS_MS = [5_000, 15_000, 45_000] as const

/** A receiver may ask for more time, but not for ever. */
const RETRY_AFTER_MAX_MS = 3_600_000

/** When to try again after `attempts` failed ones, or null: it has failed. */
export function nextDeliveryAttemptAt(attempts: number, now: number, retryAfterMs: number | null): number | null {
  const delayMs = RETRY_DELAYS_MS[attempts - 1]
  if (delayMs === undefined) return null
  return now + Math.max(delayMs, Math.min(retryAfterMs ?? 0, RETRY_AFTER_MAX_MS))
}

/** Whether a webhook wants to be told of this. */
export function isSubscribed(
  webhook: { readonly events: readonly string[] | null; readonly jobTypes: readonly string[] | null },
  event: WebhookEvent,
  type: string,
): boolean {
  return (webhook.events?.includes(event) ?? true) && (webhook.jobTypes?.includes(type) ?? true)
}
