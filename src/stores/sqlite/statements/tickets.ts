import { TICKET_EXPIRES_MS } from '../../../domain/reservation.ts'
import type { ClaimedTicket } from '../../../store/reservations.ts'
import type { ClaimRequest } from '../../../store/runs.ts'
import type { PermitCounts } from '../../shared/permit-counts.ts'
import type { Connection, SqlRow } from '../connection.ts'
import type { Lane, Transaction } from '../transaction.ts'
import { FreePlaces } from './free-places.ts'
import { policyById } from './interned.ts'
import { countPermits } from './permits.ts'
import { findWaitingLanes, type WaitingLane, WaitingLine } from './waiting-line.ts'

/**
 * Serves the tickets that can start on the claiming node, oldest first, and takes from the permits what the others hold
 * back: their own kind of permits always, the permit to run at all only where another node has a place ready for them.
 */
export function serveTickets(
  transaction: Transaction,
  request: ClaimRequest,
  nodeSeq: number,
  waiting: readonly WaitingLane[],
  permits: PermitCounts,
): ClaimedTicket[] {
  const elsewhere = new FreePlaces(transaction.connection, nodeSeq)
  const line = new WaitingLine(transaction, waiting, renewedSince(request.now))
  const served: ClaimedTicket[] = []
  // What is left of the line holds nothing back from a node that takes nothing more.
  while (served.length < request.limit) {
    const ticket = line.next()
    if (ticket === null) break
    const { lane, seq } = ticket
    if (permits.canTake(lane) && request.types.has(lane.type)) {
      permits.take(lane)
      served.push(startTicket(transaction, request, nodeSeq, seq, lane))
    } else waitFurther(line, lane, permits, elsewhere)
  }
  return served
}

/**
 * A ticket that is not served now takes a place that is free for it elsewhere, or holds back its own kind of permits. What
 * is free only becomes less on the way along the line, so a lane that finds neither will not find it further behind.
 */
function waitFurther(line: WaitingLine, lane: Lane, permits: PermitCounts, places: FreePlaces): void {
  if (permits.canTake(lane) && places.take(lane.type)) permits.take(lane)
  else if (permits.holdBack(lane) === 'nothing-left') line.skip(lane)
}

function renewedSince(now: number): number {
  return now - TICKET_EXPIRES_MS
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
  transaction: Transaction,
  { nodeId, now }: ClaimRequest,
  nodeSeq: number,
  seq: number,
  lane: Lane,
): ClaimedTicket {
  const { connection, interned } = transaction
  const row = connection.runReturning<StartedRow>(START_TICKET, nodeSeq, now, seq) as StartedRow
  connection.run(INSERT_OCCUPANCY, seq, nodeSeq, lane.laneId)
  transaction.noteReservation(row.reservation_id)
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
  const waiting = findWaitingLanes(transaction)
  const permits = countPermits(transaction, [lane, ...waiting.map((one) => one.lane)])
  const places = new FreePlaces(transaction.connection, null)
  const line = new WaitingLine(transaction, waiting, renewedSince(now))
  while (permits.canTake(lane)) {
    const earlier = line.next()
    if (earlier === null) return places.take(lane.type)
    waitFurther(line, earlier.lane, permits, places)
  }
  return false
}
