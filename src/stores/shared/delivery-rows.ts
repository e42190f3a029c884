import type { Delivery, DeliveryStatus, WebhookEvent } from '../../domain/webhook.ts'
import type { DeliveryAttempt } from '../../store/webhooks.ts'

/** `Flag`: how the database keeps a truth value. */
export type DeliveryRow<Flag extends boolean | number> = {
  delivery_seq: number
  delivery_id: string
  webhook_id: string | null
  job_id: string
  run_id: string | null
  event: WebhookEvent
  will_retry: Flag
  status: DeliveryStatus
  attempts: number
  last_attempt_at: number | null
  last_status_code: number | null
  last_error: string | null
  latency_ms: number | null
  response_excerpt: string | null
  next_attempt_at: number | null
  created_at: number
}

export function toDelivery(row: DeliveryRow<boolean | number>): Delivery {
  return {
    deliveryId: row.delivery_id,
    webhookId: row.webhook_id,
    jobId: row.job_id,
    runId: row.run_id,
    event: row.event,
    willRetry: Boolean(row.will_retry),
    status: row.status,
    attempts: row.attempts,
    lastAttemptAt: row.last_attempt_at,
    lastStatusCode: row.last_status_code,
    lastError: row.last_error,
    latencyMs: row.latency_ms,
    responseExcerpt: row.response_excerpt,
    nextAttemptAt: row.next_attempt_at,
    createdAt: row.created_at,
  }
}

export const STATUS_AFTER: Readonly<Record<DeliveryAttempt['next']['kind'], DeliveryStatus>> = {
  delivered: 'DELIVERED',
  again: 'PENDING',
  failed: 'FAILED',
}

/** How a leased delivery is found again, and whether it is still the same lease. */
export interface Lease {
  readonly seq: number
  readonly senderSeq: number
  readonly leasedUntil: number
}

export function writeLease({ seq, senderSeq, leasedUntil }: Lease): string {
  return [seq, senderSeq, leasedUntil].join(':')
}

export function readLease(lease: string): Lease {
  const [seq = 0, senderSeq = 0, leasedUntil = 0] = lease.split(':').map(Number)
  return { seq, senderSeq, leasedUntil }
}
