import type { Delivery, DeliveryStatus } from '../../../domain/webhook.ts'
import type { Page } from '../../../store/jobs.ts'
import type { DeliveryAttempt, DeliveryFilter, ReplayPage, ReplayRequest } from '../../../store/webhooks.ts'
import { type DeliveryRow, readLease, STATUS_AFTER, toDelivery } from '../../shared/delivery-rows.ts'
import { readCursor } from '../../shared/list-spots.ts'
import type { Connection, SqlRow, SqlValue } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { releaseSender } from './delivery-leases.ts'
import { DELIVERY_COLUMNS, JOINED_TO_DELIVERIES } from './delivery-rows.ts'
import { disableReceiver } from './webhooks.ts'

export { leaseDeliveries } from './delivery-leases.ts'

// 1 row: recorded. 0 rows: somebody else has it, or it was recorded before, or its webhook was removed.
const RECORD_ATTEMPT = `
update pawl_deliveries
set status = ?, next_attempt_at = ?, attempts = attempts + 1, last_attempt_at = ?, last_status_code = ?, last_error = ?,
  latency_ms = ?, response_excerpt = ?, sender_seq = null, leased_until = null
where delivery_seq = ? and sender_seq = ? and leased_until = ?`

export function recordDeliveryAttempts(
  transaction: Transaction,
  attempts: readonly DeliveryAttempt[],
): ('recorded' | 'late')[] {
  return attempts.map((attempt) => recordAttempt(transaction, attempt))
}

function recordAttempt(transaction: Transaction, attempt: DeliveryAttempt): 'recorded' | 'late' {
  const { lease, at, statusCode, error, latencyMs, responseExcerpt, next, disableWebhook } = attempt
  const { seq, senderSeq, leasedUntil } = readLease(lease)
  const recorded = transaction.connection.run(
    RECORD_ATTEMPT,
    STATUS_AFTER[next.kind],
    next.kind === 'again' ? next.at : null,
    at,
    statusCode,
    error,
    latencyMs,
    responseExcerpt,
    seq,
    senderSeq,
    leasedUntil,
  )
  if (recorded === 0) return 'late'
  if (disableWebhook !== null) disableReceiver(transaction, seq, disableWebhook, at)
  return 'recorded'
}

const SELECT_SENDER = 'select node_seq from pawl_nodes where node_id = ?'

export function releaseDeliveries(transaction: Transaction, nodeId: string, now: number): number {
  const node = transaction.connection.get<{ node_seq: number }>(SELECT_SENDER, nodeId)
  return node === undefined ? 0 : releaseSender(transaction, node.node_seq, now)
}

const SELECT_NEXT_AT = `
select next_attempt_at
from pawl_deliveries indexed by pawl_deliveries_next
where status = 'PENDING' and next_attempt_at > ?
order by next_attempt_at
limit 1`

export function nextDeliveryAt(connection: Connection, after: number): number | null {
  return connection.get<{ next_attempt_at: number }>(SELECT_NEXT_AT, after)?.next_attempt_at ?? null
}

const SELECT_DELIVERY = `select ${DELIVERY_COLUMNS} from pawl_deliveries d ${JOINED_TO_DELIVERIES} where d.delivery_id = ?`

export function findDelivery(connection: Connection, deliveryId: string): Delivery | null {
  const row = connection.get<DeliveryRow<number>>(SELECT_DELIVERY, deliveryId)
  return row === undefined ? null : toDelivery(row)
}

/** A cursor is the number of the last one of the page before. */
export function listDeliveries(connection: Connection, filter: DeliveryFilter): Page<Delivery> {
  const { webhookId, jobId, status, cursor, limit } = filter
  const conditions: string[] = []
  const values: SqlValue[] = []
  const add = (condition: string, value: SqlValue): void => {
    conditions.push(condition)
    values.push(value)
  }
  if (webhookId !== undefined)
    add('d.webhook_seq = (select webhook_seq from pawl_webhooks where webhook_id = ?)', webhookId)
  if (jobId !== undefined) add('d.job_seq = (select seq from pawl_jobs where job_id = ?)', jobId)
  if (cursor != null) add('d.delivery_seq < ?', readCursor(cursor, 1)[0] ?? 0)
  if (status !== undefined) add('d.status = ?', status)
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
  const from = `from pawl_deliveries d ${orderedBy(filter)} ${JOINED_TO_DELIVERIES}`
  const sql = `select ${DELIVERY_COLUMNS} ${from} ${where} order by d.delivery_seq desc limit ?`
  const rows = connection.all<DeliveryRow<number>>(sql, ...values, limit)
  const last = rows[rows.length - 1]
  const nextCursor = rows.length === limit && last !== undefined ? String(last.delivery_seq) : null
  return { items: rows.map(toDelivery), nextCursor }
}

/** A page is read newest first and stops when it is full, so it must not be sorted: the planner is told how. */
function orderedBy({ webhookId, jobId, status }: DeliveryFilter): string {
  if (jobId !== undefined) return 'indexed by pawl_deliveries_job'
  if (webhookId === undefined) return status === undefined ? 'not indexed' : 'indexed by pawl_deliveries_status'
  return status === undefined ? 'indexed by pawl_deliveries_webhook' : 'indexed by pawl_deliveries_webhook_status'
}

// 1 row: it is pending again. 0 rows: it is not there, is pending already, or its webhook was removed.
const REPLAY = `
update pawl_deliveries
set status = 'PENDING', attempts = 0, next_attempt_at = ?
where delivery_seq = ? and status <> 'PENDING'
  and not exists (
    select 1
    from pawl_webhooks w
    where w.webhook_seq = pawl_deliveries.webhook_seq and w.deleted_at is not null
  )`

function replay(transaction: Transaction, seq: number, now: number): boolean {
  const isReplayed = transaction.connection.run(REPLAY, now, seq) === 1
  if (isReplayed) transaction.stirs.add('deliveries')
  return isReplayed
}

const SELECT_STATUS = 'select delivery_seq, status from pawl_deliveries where delivery_id = ?'

export function replayDelivery(
  transaction: Transaction,
  deliveryId: string,
  now: number,
): 'replayed' | 'pending' | 'removed' | 'not-found' {
  const row = transaction.connection.get<{ delivery_seq: number; status: DeliveryStatus }>(SELECT_STATUS, deliveryId)
  if (row === undefined) return 'not-found'
  if (row.status === 'PENDING') return 'pending'
  return replay(transaction, row.delivery_seq, now) ? 'replayed' : 'removed'
}

const SELECT_PAGE = `
select delivery_seq, created_at
from pawl_deliveries indexed by pawl_deliveries_webhook_status
where webhook_seq = ? and status = ? and delivery_seq < ?
order by delivery_seq desc
limit ?`

interface ReplayRow extends SqlRow {
  delivery_seq: number
  created_at: number
}

const SELECT_LIVE_WEBHOOK = 'select webhook_seq from pawl_webhooks where webhook_id = ? and deleted_at is null'

export function replayDeliveries(transaction: Transaction, request: ReplayRequest): ReplayPage {
  const { connection } = transaction
  const { status, since, limit, cursor, now } = request
  const webhook = connection.get<{ webhook_seq: number }>(SELECT_LIVE_WEBHOOK, request.webhookId)
  if (webhook === undefined) return { replayed: 0, nextCursor: null }
  const rows = connection.all<ReplayRow>(SELECT_PAGE, webhook.webhook_seq, status, ...readCursor(cursor, 1), limit)
  const isYoungEnough = (row: ReplayRow): boolean => since === null || row.created_at >= since
  const replayed = rows.filter((row) => isYoungEnough(row) && replay(transaction, row.delivery_seq, now)).length
  // Numbers follow the time of the events, but a clock may have been ahead for a while: a whole page must be too old.
  const isLastPage = rows.length < limit || !rows.some(isYoungEnough)
  return { replayed, nextCursor: isLastPage ? null : String(rows[rows.length - 1]?.delivery_seq) }
}
