import type { LeasedDelivery, LeasePage, LeaseRequest } from '../../../store/webhooks.ts'
import { compareTurns, ENDPOINTS_MAX, FEW } from '../../shared/delivery-turns.ts'
import type { Connection } from '../connection.ts'
import { findDefaultSecrets, findReceivers } from './webhooks.ts'

/** An endpoint whose turn it is, with as many due deliveries as it may still be sent. */
export interface Turn {
  readonly endpoint: string
  readonly receiver: Receiver
  readonly due: readonly number[]
}

export type Receiver = Pick<LeasedDelivery, 'secrets'> & {
  /** Null: each Job's own. */
  readonly url: string | null
}

/** Until enough endpoints have something to send, or the round closes. */
export async function takeTurns(
  connection: Connection,
  request: LeaseRequest,
  underWay: ReadonlyMap<string, number>,
): Promise<Pick<LeasePage, 'after' | 'isCutShort'> & { readonly turns: Turn[] }> {
  const { now, limit, after, until } = request
  const turns: Turn[] = []
  let last = after
  let looks = 0
  for await (const page of endpointsInTurn(connection, now, after ?? '', until ?? '')) {
    if (looks >= ENDPOINTS_MAX) return { turns, after: last, isCutShort: true }
    looks += page.length
    last = page[page.length - 1]?.endpoint ?? last
    const found = await findTurns(connection, request, underWay, page)
    turns.push(...found.slice(0, limit - turns.length))
    if (turns.length === limit) break
  }
  return { turns, after: turns.at(-1)?.endpoint ?? after, isCutShort: false }
}

/** Those of the endpoints that can be sent something now, in their order. */
async function findTurns(
  connection: Connection,
  { now, perEndpoint }: LeaseRequest,
  underWay: ReadonlyMap<string, number>,
  endpoints: readonly EndpointRow[],
): Promise<Turn[]> {
  const freeOf = ({ endpoint }: EndpointRow) => perEndpoint - (underWay.get(endpoint) ?? 0)
  const open = endpoints.filter((row) => row.next_attempt_at <= now && freeOf(row) > 0)
  const receivers = await findReceiversOf(connection, open, now)
  const ready = open.filter(({ endpoint }) => receivers.has(endpoint))
  const due = await findDue(connection, ready, ready.map(freeOf), now)
  return ready.flatMap(({ endpoint }) => {
    const receiver = receivers.get(endpoint)
    const seqs = due.get(endpoint)
    return receiver === undefined || seqs === undefined ? [] : [{ endpoint, receiver, due: seqs }]
  })
}

/** By their endpoints. One that is missing waits, because its webhook is disabled or nothing could sign it. */
async function findReceiversOf(
  connection: Connection,
  endpoints: readonly EndpointRow[],
  now: number,
): Promise<ReadonlyMap<string, Receiver>> {
  const webhookSeqs = endpoints.flatMap(({ webhook_seq }) => (webhook_seq === null ? [] : [webhook_seq]))
  const ofWebhooks = await findReceivers(connection, webhookSeqs, now)
  const secrets = webhookSeqs.length < endpoints.length ? await findDefaultSecrets(connection, now) : null
  const receivers = new Map<string, Receiver>()
  for (const { endpoint, webhook_seq } of endpoints) {
    const ofJobs = secrets === null ? undefined : { url: null, secrets }
    const receiver = webhook_seq === null ? ofJobs : ofWebhooks.get(webhook_seq)
    if (receiver !== undefined) receivers.set(endpoint, receiver)
  }
  return receivers
}

// Of each endpoint as many as it may still be sent, the oldest first.
const SELECT_DUE = `
select open.endpoint, due.delivery_seq
from unnest($1::text[], $2::integer[]) as open (endpoint, free)
cross join lateral (
  select d.delivery_seq, d.next_attempt_at
  from pawl.deliveries d
  where d.status = 'PENDING' and d.endpoint = open.endpoint and d.next_attempt_at <= $3
  order by d.next_attempt_at, d.delivery_seq
  limit open.free
) due
order by due.next_attempt_at, due.delivery_seq`

async function findDue(
  connection: Connection,
  endpoints: readonly EndpointRow[],
  free: readonly number[],
  now: number,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const due = new Map<string, number[]>()
  if (endpoints.length === 0) return due
  const names = endpoints.map(({ endpoint }) => endpoint)
  type Row = { endpoint: string; delivery_seq: number }
  for (const { endpoint, delivery_seq } of await connection.all<Row>(SELECT_DUE, names, free, now)) {
    const seqs = due.get(endpoint)
    if (seqs === undefined) due.set(endpoint, [delivery_seq])
    else seqs.push(delivery_seq)
  }
  return due
}

interface EndpointRow {
  endpoint: string
  next_attempt_at: number
  webhook_seq: number | null
}

const SELECT_FIRST_DUE = `
select endpoint, next_attempt_at, webhook_seq
from pawl.deliveries
where status = 'PENDING' and next_attempt_at <= $1
order by next_attempt_at
limit ${FEW}`

/** The endpoints with something due, and perhaps others; those after this one first. */
async function* endpointsInTurn(
  connection: Connection,
  now: number,
  after: string,
  until: string,
): AsyncGenerator<readonly EndpointRow[]> {
  const rows = await connection.all<EndpointRow>(SELECT_FIRST_DUE, now)
  if (rows.length === FEW) return yield* hop(connection, after, until)
  const found = [...new Map(rows.map((row) => [row.endpoint, row])).values()]
  if (found.length > 0) yield found.sort((a, b) => compareTurns(a.endpoint, b.endpoint, after))
}

/** From endpoint to endpoint, so that the many deliveries of one that does not answer cost no more than its first. */
async function* hop(connection: Connection, after: string, until: string): AsyncGenerator<readonly EndpointRow[]> {
  const hasComeAround = after < until
  yield* hopBetween(connection, after, hasComeAround ? until : null)
  if (!hasComeAround) yield* hopBetween(connection, '', until)
}

/** So many endpoints are read at once. */
const HOPS = 100

// The first pending delivery of each of the next endpoints: one step in the index for each, however many deliveries lie in
// between.
const SELECT_NEXT_ENDPOINTS = `
with recursive hop as (
  (
    select endpoint, next_attempt_at, webhook_seq
    from pawl.deliveries
    where status = 'PENDING' and endpoint > $1
    order by endpoint, next_attempt_at
    limit 1
  )
  union all
  select following.*
  from hop
  cross join lateral (
    select d.endpoint, d.next_attempt_at, d.webhook_seq
    from pawl.deliveries d
    where d.status = 'PENDING' and d.endpoint > hop.endpoint
    order by d.endpoint, d.next_attempt_at
    limit 1
  ) following
)
select endpoint, next_attempt_at, webhook_seq
from hop
limit ${HOPS}`

/** Those after `from`, up to `to`, if that is given. */
async function* hopBetween(
  connection: Connection,
  from: string,
  to: string | null,
): AsyncGenerator<readonly EndpointRow[]> {
  for (let after = from; ; ) {
    const rows = await connection.all<EndpointRow>(SELECT_NEXT_ENDPOINTS, after)
    const within = to === null ? rows : rows.filter(({ endpoint }) => endpoint <= to)
    if (within.length > 0) yield within
    if (within.length < HOPS) return
    after = within[HOPS - 1]?.endpoint ?? after
  }
}
