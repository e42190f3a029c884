import { TICKET_EXPIRES_MS } from '../../../domain/reservation.ts'
import type { ClaimedTicket } from '../../../store/reservations.ts'
import type { ClaimRequest } from '../../../store/runs.ts'
import type { Connection, SqlRow } from '../connection.ts'
import type { Lane, Transaction } from '../transaction.ts'
import { FreePlaces } from './free-places.ts'
import { laneById, policyById } from './interned.ts'
import { Permits } from './permits.ts'

/** Tickets that one claim looks at, from the oldest on. Those behind them wait until some of these are served. */
const TICKETS_LOOKED_AT_MAX = 1_000

// Those whose callers are known to wait, in the order of their arrival. Mostly there are none, and then the index is empty.
const SELECT_WAITING = `
select reservation_seq, lane_id
from pawl_reservations
where status = 'WAITING' and renewed_at >= ?
order by reservation_seq
limit ${TICKETS_LOOKED_AT_MAX}`

export interface WaitingTicket {
  readonly seq: number
  readonly lane: Lane
}

export function findWaitingTickets({ connection, interned }: Transaction, now: number): WaitingTicket[] {
  return connection
    .all<{ reservation_seq: number; lane_id: number }>(SELECT_WAITING, now - TICKET_EXPIRES_MS)
    .map((row) => ({ seq: row.reservation_seq, lane: laneById(connection, interned, row.lane_id) }))
}

/**
 * Serves the tickets that can start on the claiming node, oldest first, and takes from the permits what the others hold
 * back: their own kind of permits always, the permit to run at all only where another node has a place ready for them.
 */
export function serveTickets(
  transaction: Transaction,
  request: ClaimRequest,
  nodeSeq: number,
  waiting: readonly WaitingTicket[],
  permits: Permits,
): ClaimedTicket[] {
  const elsewhere = new FreePlaces(transaction.connection, nodeSeq)
  const served: ClaimedTicket[] = []
  for (const { seq, lane } of waiting) {
    // What is left of the line holds nothing back from a node that takes nothing more.
    if (served.length === request.limit) break
    if (!permits.canTake(lane)) permits.holdBack(lane)
    else if (request.types.has(lane.type)) {
      permits.take(lane)
      served.push(startTicket(transaction, request, nodeSeq, seq, lane))
    } else if (elsewhere.take(lane.type)) permits.take(lane)
    else permits.holdBack(lane)
  }
  if (served.length > 0) transaction.stirs.add('reservations')
  return served
}

// Always 1 row: inside the write lock nobody else can have served it.
const START_TICKET = `
update pawl_reservations
set status = 'RUNNING', node_seq = ?, started_at = ?
where reservation_seq = ?
returning reservation_id, policy_id, params`

interface StartedRow extends SqlRow {
  reservation_id: string
  policy_id: number
  params: string
}

const INSERT_OCCUPANCY = 'insert into pawl_direct_occupancies (reservation_seq, node_seq, lane_id) values (?, ?, ?)'

function startTicket(
  { connection, interned }: Transaction,
  { nodeId, now }: ClaimRequest,
  nodeSeq: number,
  seq: number,
  lane: Lane,
): ClaimedTicket {
  const row = connection.runReturning<StartedRow>(START_TICKET, nodeSeq, now, seq) as StartedRow
  connection.run(INSERT_OCCUPANCY, seq, nodeSeq, lane.laneId)
  return {
    claim: { reservationId: row.reservation_id, nodeId, ref: seq },
    type: lane.type,
    params: row.params,
    policy: policyById(connection, interned, row.policy_id),
    startedAt: now,
  }
}

/** Whether some node that claims handles the type, wherever it stands in the line. */
export function isHandled(connection: Connection, type: string): boolean {
  return new FreePlaces(connection, null).isHandled(type)
}

/** Whether a ticket that came now could start at once, behind those that wait already. */
export function canStartNow(transaction: Transaction, lane: Lane, now: number): boolean {
  const waiting = findWaitingTickets(transaction, now)
  const permits = new Permits(transaction, [lane, ...waiting.map((ticket) => ticket.lane)])
  const places = new FreePlaces(transaction.connection, null)
  for (const earlier of waiting) {
    if (permits.canTake(earlier.lane) && places.take(earlier.lane.type)) permits.take(earlier.lane)
    else permits.holdBack(earlier.lane)
  }
  return permits.canTake(lane) && places.take(lane.type)
}
