import { assert } from '../../../domain/errors.ts'
import type { DeliveryRow } from '../../shared/delivery-rows.ts'
import type { Connection } from '../connection.ts'

export const DELIVERY_COLUMNS = `
  d.delivery_seq, d.delivery_id, w.webhook_id, j.job_id, r.run_id, d.event, d.will_retry, d.status, d.attempts,
  d.last_attempt_at, d.last_status_code, d.last_error, d.latency_ms, d.response_excerpt, d.next_attempt_at, d.created_at`

// Cross join: the deliveries are read in their own order, and each leads to the rest.
export const JOINED_TO_DELIVERIES = `
cross join pawl_jobs j on j.seq = d.job_seq
left join pawl_runs r on r.seq = d.job_seq
left join pawl_webhooks w on w.webhook_seq = d.webhook_seq`

const SELECT_DELIVERY_BY_SEQ = `select ${DELIVERY_COLUMNS} from pawl_deliveries d ${JOINED_TO_DELIVERIES} where d.delivery_seq = ?`

export function getDeliveryRow(connection: Connection, seq: number): DeliveryRow<number> {
  const row = connection.get<DeliveryRow<number>>(SELECT_DELIVERY_BY_SEQ, seq)
  assert(row !== undefined, `delivery number ${seq} is not there`)
  return row
}
