import { assert } from '../../../domain/errors.ts'
import type { LeasedDelivery, LeasePage, LeaseRequest } from '../../../store/webhooks.ts'
import { toDelivery, writeLease } from '../../shared/delivery-rows.ts'
import { compareTurns, ENDPOINTS_MAX, FEW, shareOut } from '../../shared/delivery-turns.ts'
import type { Connection, SqlRow } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { getDeliveryRow } from './delivery-rows.ts'
import { findJob, findRun } from './history.ts'
import { findLiveNodeSeq } from './nodes.ts'
import { findDefaultSecrets, findReceiver } from './webhooks.ts'

/** An endpoint whose turn it is, with as many due deliveries as it may still be sent. */
interface Turn {
  readonly endpoint: string
  readonly receiver: Receiver
  readonly due: readonly number[]
}

type Receiver = Pick<LeasedDelivery, 'secrets'> & {
  /** Null: each Job's own. */
  readonly url: string | null
}

export function leaseDeliveries(transaction: Transaction, request: LeaseRequest): LeasePage {
  const senderSeq = findLiveNodeSeq(transaction.connection, request.nodeId)
  if (senderSeq === null || request.limit <= 0) return { leased: [], after: request.after, isCutShort: false }
  const { turns, after, isCutShort } = takeTurns(transaction, request)
  const counts = shareOut(
    turns.map(({ due }) => due.length),
    request.limit,
  )
  const leased = turns.flatMap((turn, index) =>
    turn.due.slice(0, counts[index]).map((seq) => lease(transaction, request, senderSeq, turn, seq)),
  )
  return { leased, after, isCutShort }
}

const SELECT_DUE = `
select delivery_seq
from pawl_deliveries indexed by pawl_deliveries_due
where status = 'PENDING' and endpoint = ? and next_attempt_at <= ?
order by next_attempt_at, delivery_seq
limit ?`

/** Until enough endpoints have something to send, or the round closes. */
function takeTurns(
  transaction: Transaction,
  { now, limit, perEndpoint, after, until }: LeaseRequest,
): Pick<LeasePage, 'after' | 'isCutShort'> & { readonly turns: Turn[] } {
  const { connection } = transaction
  const underWay = countUnderWay(transaction, now)
  const turns: Turn[] = []
  let last = after
  let looks = 0
  for (const { endpoint, next_attempt_at, webhook_seq } of endpointsInTurn(connection, now, after ?? '', until ?? '')) {
    if (looks++ === ENDPOINTS_MAX) return { turns, after: last, isCutShort: true }
    last = endpoint
    const free = perEndpoint - (underWay.get(endpoint) ?? 0)
    const receiver = free <= 0 || next_attempt_at > now ? null : findReceiverOf(connection, webhook_seq, now)
    if (receiver === null) continue
    const due = connection.all<{ delivery_seq: number }>(SELECT_DUE, endpoint, now, free)
    turns.push({ endpoint, receiver, due: due.map(({ delivery_seq }) => delivery_seq) })
    if (turns.length === limit) break
  }
  return { turns, after: turns.at(-1)?.endpoint ?? after, isCutShort: false }
}

interface EndpointRow extends SqlRow {
  endpoint: string
  next_attempt_at: number
  webhook_seq: number | null
}

const SELECT_FIRST_DUE = `
select endpoint, next_attempt_at, webhook_seq
from pawl_deliveries indexed by pawl_deliveries_next
where status = 'PENDING' and next_attempt_at <= ?
order by next_attempt_at
limit ?`

/** The endpoints with something due, and perhaps others; those after this one first. */
function endpointsInTurn(connection: Connection, now: number, after: string, until: string): Iterable<EndpointRow> {
  const rows = connection.all<EndpointRow>(SELECT_FIRST_DUE, now, FEW)
  if (rows.length === FEW) return hop(connection, after, until)
  const found = [...new Map(rows.map((row) => [row.endpoint, row])).values()]
  return found.sort((a, b) => compareTurns(a.endpoint, b.endpoint, after))
}

// The first pending delivery of the next endpoint: one step in the index, however many deliveries lie in between.
const SELECT_NEXT_ENDPOINT = `
select endpoint, next_attempt_at, webhook_seq
from pawl_deliveries indexed by pawl_deliveries_due
where status = 'PENDING' and endpoint > ?
order by endpoint, next_attempt_at
limit 1`

/** From endpoint to endpoint, so that the many deliveries of one that does not answer cost no more than its first. */
function* hop(connection: Connection, after: string, until: string): Generator<EndpointRow> {
  const hasComeAround = after < until
  const next = (from: string) => connection.get<EndpointRow>(SELECT_NEXT_ENDPOINT, from)
  for (let row = next(after); row !== undefined; row = next(row.endpoint)) {
    if (hasComeAround && row.endpoint > until) return
    yield row
  }
  if (hasComeAround) return
  for (let row = next(''); row !== undefined && row.endpoint <= until; row = next(row.endpoint)) yield row
}

/** Null: it waits, because its webhook is disabled or nothing could sign it. */
function findReceiverOf(connection: Connection, webhookSeq: number | null, now: number): Receiver | null {
  if (webhookSeq !== null) return findReceiver(connection, webhookSeq, now)
  const secrets = findDefaultSecrets(connection, now)
  return secrets === null ? null : { url: null, secrets }
}

// As many rows as deliveries are being sent right now on the whole store.
const SELECT_UNDER_WAY = `
select d.endpoint, d.leased_until, d.sender_seq, n.ended_at
from pawl_deliveries d indexed by pawl_deliveries_sender
cross join pawl_nodes n on n.node_seq = d.sender_seq
where d.sender_seq is not null`

interface UnderWayRow extends SqlRow {
  endpoint: string
  leased_until: number
  sender_seq: number
  ended_at: number | null
}

function countUnderWay(transaction: Transaction, now: number): Map<string, number> {
  const counts = new Map<string, number>()
  const gone = new Set<number>()
  for (const row of transaction.connection.all<UnderWayRow>(SELECT_UNDER_WAY)) {
    if (row.ended_at !== null) gone.add(row.sender_seq)
    else if (row.leased_until > now) counts.set(row.endpoint, (counts.get(row.endpoint) ?? 0) + 1)
  }
  for (const senderSeq of gone) releaseSender(transaction, senderSeq, now)
  return counts
}

// Rows changed: deliveries that somebody else may send now.
const RELEASE = `
update pawl_deliveries
set sender_seq = null, leased_until = null, next_attempt_at = ?
where sender_seq = ?`

export function releaseSender(transaction: Transaction, senderSeq: number, now: number): number {
  const released = transaction.connection.run(RELEASE, now, senderSeq)
  if (released > 0) transaction.stirs.add('deliveries')
  return released
}

// While it is leased it is not due; when the lease is over it is, without anybody doing anything.
const LEASE = `
update pawl_deliveries
set sender_seq = ?, leased_until = ?, next_attempt_at = ?
where delivery_seq = ?`

function lease(
  { connection, interned }: Transaction,
  { now, leasedUntil }: LeaseRequest,
  senderSeq: number,
  { receiver }: Turn,
  seq: number,
): LeasedDelivery {
  connection.run(LEASE, senderSeq, leasedUntil, leasedUntil, seq)
  const row = getDeliveryRow(connection, seq)
  const job = findJob(connection, interned, row.job_id, now)
  assert(job !== null, `delivery ${row.delivery_id} tells of a job that is not there`)
  return {
    delivery: toDelivery(row),
    url: receiver.url ?? job.webhookUrl ?? '',
    secrets: receiver.secrets,
    job,
    run: row.run_id === null ? null : findRun(connection, interned, { runId: row.run_id }),
    lease: writeLease({ seq, senderSeq, leasedUntil }),
  }
}
