import type { Delivery, DeliveryStatus } from '../../../domain/webhook.ts'
import type { Page } from '../../../store/jobs.ts'
import type { DeliveryAttempt, DeliveryFilter, ReplayPage, ReplayRequest } from '../../../store/webhooks.ts'
import { type DeliveryRow, readLease, STATUS_AFTER, toDelivery } from '../../shared/delivery-rows.ts'
import { readCursor } from '../../shared/list-spots.ts'
import type { Connection, SqlValue } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { releaseSenders } from './delivery-leases.ts'
import { DELIVERY_COLUMNS } from './delivery-rows.ts'
import { disableReceiver, lockReceivers } from './webhooks.ts'

export { leaseDeliveries } from './delivery-leases.ts'

// 1 row: recorded. 0 rows: somebody else has it, or it was recorded before, or its webhook was removed.
const RECORD_ATTEMPT = `
update pawl.deliveries
set status = $1, next_attempt_at = $2, attempts = attempts + 1, last_attempt_at = $3, last_status_code = $4,
  last_error = $5, latency_ms = $6, response_excerpt = $7, sender_seq = null, leased_until = null
where delivery_seq = $8 and sender_seq = $9 and leased_until = $10`

/** In the order of their numbers, as everybody locks them. */
export async function recordDeliveryAttempts(
  transaction: Transaction,
  attempts: readonly DeliveryAttempt[],
): Promise<('recorded' | 'late')[]> {
  const inOrder = attempts
    .map((attempt, index) => ({ attempt, index, seq: readLease(attempt.lease).seq }))
    .sort((a, b) => a.seq - b.seq)
  const disabling = inOrder.filter(({ attempt }) => attempt.disableWebhook !== null)
  await lockReceivers(
    transaction,
    disabling.map(({ seq }) => seq),
  )
  const results: ('recorded' | 'late')[] = []
  for (const { attempt, index } of inOrder) results[index] = await recordAttempt(transaction, attempt)
  return results
}

async function recordAttempt(transaction: Transaction, attempt: DeliveryAttempt): Promise<'recorded' | 'late'> {
  const { lease, at, statusCode, error, latencyMs, responseExcerpt, next, disableWebhook } = attempt
  const { seq, senderSeq, leasedUntil } = readLease(lease)
  const recorded = await transaction.connection.run(
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
  if (disableWebhook !== null) await disableReceiver(transaction, seq, disableWebhook, at)
  return 'recorded'
}

const SELECT_SENDER = 'select node_seq from pawl.nodes where node_id = $1'

export async function releaseDeliveries(transaction: Transaction, nodeId: string, now: number): Promise<number> {
  const node = await transaction.connection.get<{ node_seq: number }>(SELECT_SENDER, nodeId)
  return node === undefined ? 0 : releaseSenders(transaction, [node.node_seq], now)
}

const SELECT_NEXT_AT = `
select next_attempt_at
from pawl.deliveries
where status = 'PENDING' and next_attempt_at > $1
order by next_attempt_at
limit 1`

export async function nextDeliveryAt(connection: Connection, after: number): Promise<number | null> {
  return (await connection.get<{ next_attempt_at: number }>(SELECT_NEXT_AT, after))?.next_attempt_at ?? null
}

const SELECT_DELIVERY = `select ${DELIVERY_COLUMNS} from pawl.deliveries d where d.delivery_id = $1`

export async function findDelivery(connection: Connection, deliveryId: string): Promise<Delivery | null> {
  const row = await connection.get<DeliveryRow<boolean>>(SELECT_DELIVERY, deliveryId)
  return row === undefined ? null : toDelivery(row)
}

const SELECT_JOB_SEQ = 'select seq as number from pawl.jobs where job_id = $1'
const SELECT_WEBHOOK_SEQ = 'select webhook_seq as number from pawl.webhooks where webhook_id = $1'

/** A cursor is the number of the last one of the page before. */
export async function listDeliveries(connection: Connection, filter: DeliveryFilter): Promise<Page<Delivery>> {
  const { limit, cursor } = filter
  const found = await narrowDown(connection, filter)
  if (found === null) return { items: [], nextCursor: null }
  const sql = `select ${DELIVERY_COLUMNS} from pawl.deliveries d where ${found.where} order by ${found.order} limit $2`
  const rows = await connection.all<DeliveryRow<boolean>>(sql, ...readCursor(cursor, 1), limit, ...found.values)
  const last = rows[rows.length - 1]
  const nextCursor = rows.length === limit && last !== undefined ? String(last.delivery_seq) : null
  return { items: rows.map(toDelivery), nextCursor }
}

/**
 * A page is read newest first and stops when it is full. The order is written so that the planner can take it from one index
 * only: else it may walk through the deliveries of everybody. Null: there is no such Job or webhook, so there is nothing.
 */
async function narrowDown(
  connection: Connection,
  { webhookId, jobId, status }: DeliveryFilter,
): Promise<{ where: string; order: string; values: SqlValue[] } | null> {
  const webhookSeq = webhookId === undefined ? undefined : await findNumber(connection, SELECT_WEBHOOK_SEQ, webhookId)
  const jobSeq = jobId === undefined ? undefined : await findNumber(connection, SELECT_JOB_SEQ, jobId)
  if (webhookSeq === null || jobSeq === null) return null
  if (jobSeq !== undefined) {
    const values: SqlValue[] = [jobSeq]
    const conditions = ['d.job_seq = $3', 'd.delivery_seq < $1']
    if (webhookSeq !== undefined) conditions.push(`d.webhook_seq = $${values.push(webhookSeq) + 2}`)
    if (status !== undefined) conditions.push(`d.status = $${values.push(status) + 2}`)
    // A Job has few, so they are sorted.
    return { where: conditions.join(' and '), order: 'd.delivery_seq + 0 desc', values }
  }
  if (webhookSeq === undefined) {
    return status === undefined
      ? { where: 'd.delivery_seq < $1', order: 'd.delivery_seq desc', values: [] }
      : { where: OF_STATUS, order: BY_STATUS, values: [status] }
  }
  return status === undefined
    ? { where: OF_WEBHOOK, order: BY_WEBHOOK, values: [webhookSeq] }
    : { where: OF_WEBHOOK_AND_STATUS, order: BY_WEBHOOK_AND_STATUS, values: [webhookSeq, status] }
}

const BY_STATUS = 'd.status desc, d.delivery_seq desc'
const OF_STATUS = '(d.status, d.delivery_seq) < ($3::text, $1::bigint) and d.status >= $3'
const BY_WEBHOOK = 'd.webhook_seq desc, d.delivery_seq desc'
const OF_WEBHOOK = '(d.webhook_seq, d.delivery_seq) < ($3::integer, $1::bigint) and d.webhook_seq >= $3'
const BY_WEBHOOK_AND_STATUS = 'd.webhook_seq desc, d.status desc, d.delivery_seq desc'
const OF_WEBHOOK_AND_STATUS = `
(d.webhook_seq, d.status, d.delivery_seq) < ($3::integer, $4::text, $1::bigint) and (d.webhook_seq, d.status) >= ($3, $4)`

async function findNumber(connection: Connection, sql: string, id: string): Promise<number | null> {
  return (await connection.get<{ number: number }>(sql, id))?.number ?? null
}

// As many rows as are pending again. One that is not was pending already.
const REPLAY = `
update pawl.deliveries
set status = 'PENDING', attempts = 0, next_attempt_at = $1
where status <> 'PENDING' and delivery_seq = any(array(
  select delivery_seq
  from pawl.deliveries
  where delivery_seq = any($2::bigint[])
  order by delivery_seq
  for update
))`

/** Whoever calls this holds the row of their webhook, so that nobody removes it meanwhile. */
async function replay(transaction: Transaction, seqs: readonly number[], now: number): Promise<number> {
  if (seqs.length === 0) return 0
  const replayed = await transaction.connection.run(REPLAY, now, seqs)
  if (replayed > 0) transaction.stirs.add('deliveries')
  return replayed
}

// 0 rows: there is no such delivery, or it goes to the URL of a Job.
const HOLD_RECEIVER = `
select deleted_at is not null as removed
from pawl.webhooks
where webhook_seq = (select webhook_seq from pawl.deliveries where delivery_id = $1)
for share`

const SELECT_STATUS = 'select delivery_seq, status from pawl.deliveries where delivery_id = $1'

export async function replayDelivery(
  transaction: Transaction,
  deliveryId: string,
  now: number,
): Promise<'replayed' | 'pending' | 'removed' | 'not-found'> {
  const { connection } = transaction
  const receiver = await connection.get<{ removed: boolean }>(HOLD_RECEIVER, deliveryId)
  const row = await connection.get<{ delivery_seq: number; status: DeliveryStatus }>(SELECT_STATUS, deliveryId)
  if (row === undefined) return 'not-found'
  if (row.status === 'PENDING') return 'pending'
  if (receiver?.removed === true) return 'removed'
  return (await replay(transaction, [row.delivery_seq], now)) === 1 ? 'replayed' : 'pending'
}

const SELECT_PAGE = `
select d.delivery_seq, d.created_at
from pawl.deliveries d
where ${OF_WEBHOOK_AND_STATUS}
order by ${BY_WEBHOOK_AND_STATUS}
limit $2`

interface ReplayRow {
  delivery_seq: number
  created_at: number
}

// 0 rows: it is not there, or was removed. Else it is not removed before this transaction ends.
const HOLD_LIVE_WEBHOOK = `
select webhook_seq as number
from pawl.webhooks
where webhook_id = $1 and deleted_at is null
for share`

export async function replayDeliveries(transaction: Transaction, request: ReplayRequest): Promise<ReplayPage> {
  const { connection } = transaction
  const { status, since, limit, cursor, now } = request
  const webhookSeq = await findNumber(connection, HOLD_LIVE_WEBHOOK, request.webhookId)
  if (webhookSeq === null) return { replayed: 0, nextCursor: null }
  const rows = await connection.all<ReplayRow>(SELECT_PAGE, ...readCursor(cursor, 1), limit, webhookSeq, status)
  const isYoungEnough = (row: ReplayRow): boolean => since === null || row.created_at >= since
  const wanted = rows.filter(isYoungEnough)
  const replayed = await replay(
    transaction,
    wanted.map(({ delivery_seq }) => delivery_seq),
    now,
  )
  // Numbers follow the time of the events, but a clock may have been ahead for a while: a whole page must be too old.
  const isLastPage = rows.length < limit || !rows.some(isYoungEnough)
  return { replayed, nextCursor: isLastPage ? null : String(rows[rows.length - 1]?.delivery_seq) }
}
