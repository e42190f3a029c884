import { assert } from '../../../domain/errors.ts'
import type { Delivery, DeliveryStatus, WebhookEvent } from '../../../domain/webhook.ts'
import type { Connection, SqlRow } from '../connection.ts'

export const DELIVERY_COLUMNS = `
  d.delivery_seq, d.delivery_id, w.webhook_id, j.job_id, r.run_id, d.event, d.will_retry, d.status, d.attempts,
  d.last_attempt_at, d.last_status_code, d.last_error, d.latency_ms, d.response_excerpt, d.next_attempt_at, d.created_at`

// Cross join: the deliveries are read in their own order, and each leads to the rest.
export const JOINED_TO_DELIVERIES = `
cross join pawl_jobs j on j.seq = d.job_seq
left join pawl_runs r on r.seq = d.job_seq
left join pawl_webhooks w on w.webhook_seq = d.webhook_seq`

export interface DeliveryRow extends SqlRow {
  delivery_seq: number
  delivery_id: string
  webhook_id: string | null
  job_id: string
  run_id: string | null
  event: WebhookEvent
  will_retry: number
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

const SELECT_DELIVERY_BY_SEQ = `select ${DELIVERY_COLUMNS} from pawl_deliveries d ${JOINED_TO_DELIVERIES} where d.delivery_seq = ?`

export function getDeliveryRow(connection: Connection, seq: number): DeliveryRow {
  const row = connection.get<DeliveryRow>(SELECT_DELIVERY_BY_SEQ, seq)
  assert(row !== undefined, `delivery number ${seq} is not there`)
  return row
}

export function toDelivery(row: DeliveryRow): Delivery {
  return {
    deliveryId: row.delivery_id,
    webhookId: row.webhook_id,
    jobId: row.job_id,
    runId: row.run_id,
    event: row.event,
    willRetry: row.will_retry === 1,
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
