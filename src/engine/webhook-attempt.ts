import { nextDeliveryAttemptAt } from '../domain/webhook.ts'
import type { PostResult } from '../platform/webhook-post.ts'
import type { DeliveryAttempt } from '../store/webhooks.ts'

const GONE = 410

/** What an attempt means: whether it was the last, and when the next one is. */
export type AttemptVerdict = Omit<DeliveryAttempt, 'lease' | 'deliveryId'>

/** @param attempts how many there were with this one */
export function judgeAttempt(result: PostResult, attempts: number, now: number): AttemptVerdict {
  const statusCode = result.statusCode ?? null
  const seen = {
    at: now,
    statusCode,
    latencyMs: result.latencyMs,
    responseExcerpt: result.kind === 'answered' && result.excerpt !== '' ? result.excerpt : null,
    disableWebhook: null,
  }
  if (result.kind === 'answered' && isSuccess(result.statusCode)) {
    return { ...seen, error: null, next: { kind: 'delivered' } }
  }
  const error = result.kind === 'failed' ? result.message : describeAnswer(result.statusCode)
  if (statusCode === GONE) {
    return { ...seen, error, next: { kind: 'failed' }, disableWebhook: 'the receiver answered 410 (gone)' }
  }
  const nextAt = nextDeliveryAttemptAt(attempts, now, result.kind === 'answered' ? result.retryAfterMs : null)
  return { ...seen, error, next: nextAt === null ? { kind: 'failed' } : { kind: 'again', at: nextAt } }
}

function isSuccess(statusCode: number): boolean {
  return statusCode >= 200 && statusCode < 300
}

function describeAnswer(statusCode: number): string {
  if (statusCode === GONE) return 'The receiver answered 410: it wants no more deliveries.'
  if (statusCode >= 300 && statusCode < 400) return `The receiver answered ${statusCode}; redirects are not followed.`
  return `The receiver answered ${statusCode}.`
}
