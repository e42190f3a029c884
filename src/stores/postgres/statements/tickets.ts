import { TICKET_EXPIRES_MS } from '../../../domain/reservation.ts'
import type { ClaimedTicket } from '../../../store/reservations.ts'
import type { ClaimRequest } from '../../../store/runs.ts'
import type { PermitCounts } from '../../shared/permit-counts.ts'
import type { Connection } from '../connection.ts'
import type { Lane, Transaction } from '../transaction.ts'
import { countPermits, surveyForTicket } from './claim-survey.ts'
import { FreePlaces } from './free-places.ts'
import { policyById } from './interned.ts'
import type { Permit } from './permits.ts'
import { type WaitingLane, WaitingLine } from './waiting-line.ts'

export interface ChosenTicket {
  readonly lane: Lane
  readonly seq: number
}

/**
 * Chooses the tickets that can start on the claiming node, oldest first, and takes from the permits what the others hold
 * back: their own kind of permits always, the permit to run at all only where another node has a place ready for them.
 */
export async function chooseTickets(
  connection: Connection,
  request: ClaimRequest,
  nodeSeq: number,
  waiting: readonly WaitingLane[],
  permits: PermitCounts,
  lost: ReadonlySet<number>,
): Promise<ChosenTicket[]> {
  const elsewhere = new FreePlaces(connection, nodeSeq)
  const line = new WaitingLine(connection, waiting, renewedSince(request.now), lost)
  const chosen: ChosenTicket[] = []
  // What is left of the line holds nothing back from a node that takes nothing more.
  while (chosen.length < request.limit) {
    const ticket = await line.next()
    if (ticket === null) break
    const { lane } = ticket
    if (permits.canTake(lane) && request.types.has(lane.type)) {
      permits.take(lane)
      chosen.push(ticket)
    } else await waitFurther(line, lane, permits, elsewhere)
  }
  return chosen
}

/**
 * A ticket that is not served now takes a place that is free for it elsewhere, or holds back its own kind of permits. What
 * is free only becomes less on the way along the line, so a lane that finds neither will not find it further behind.
 */
async function waitFurther(line: WaitingLine, lane: Lane, permits: PermitCounts, places: FreePlaces): Promise<void> {
  if (permits.canTake(lane) && (await places.take(lane.type))) permits.take(lane)
  else if (permits.holdBack(lane) === 'nothing-left') line.skip(lane)
}

function renewedSince(now: number): number {
  return now - TICKET_EXPIRES_MS
}

// One row per ticket that starts. One that is missing was served, renewed or released by another at this very moment.
const START_TICKETS = `
with locked as materialized (
  select reservation_seq
  from pawl.reservations
  where reservation_seq = any($1::bigint[]) and status = 'WAITING'
  order by reservation_seq
  for update skip locked
),
served as (
  update pawl.reservations s
  set status = 'RUNNING', node_seq = $2, started_at = $3
  from locked
  where s.reservation_seq = locked.reservation_seq
  returning s.reservation_seq, s.reservation_id, s.lane_id, s.policy_id, s.params
),
occupied as (
  insert into pawl.direct_occupancies (reservation_seq, node_seq, lane_id)
  select reservation_seq, $2, lane_id
  from served
),
permitted as (
  update pawl.permits p
  set reservation_seq = served.reservation_seq
  from unnest($4::text[], $5::integer[], $6::bigint[]) as given (name, slot, reservation_seq)
  join served on served.reservation_seq = given.reservation_seq
  where p.name = given.name and p.slot = given.slot
)
select reservation_seq, reservation_id, policy_id, params
from served
order by reservation_seq`

interface StartedRow {
  reservation_seq: number
  reservation_id: string
  policy_id: number
  params: string
}

/** Starts tickets, each with the permits that were locked for it. Those that were lost are left out. */
export async function startTickets(
  transaction: Transaction,
  { nodeId, now }: ClaimRequest,
  nodeSeq: number,
  chosen: readonly { readonly ticket: ChosenTicket; readonly permits: readonly Permit[] }[],
): Promise<ClaimedTicket[]> {
  if (chosen.length === 0) return []
  const { connection, interned } = transaction
  const given = chosen.flatMap(({ ticket, permits }) => permits.map((permit) => ({ ...permit, seq: ticket.seq })))
  const rows = await connection.runReturningAll<StartedRow>(
    START_TICKETS,
    chosen.map(({ ticket }) => ticket.seq),
    nodeSeq,
    now,
    given.map(({ name }) => name),
    given.map(({ slot }) => slot),
    given.map(({ seq }) => seq),
  )
  const types = new Map(chosen.map(({ ticket }) => [ticket.seq, ticket.lane.type]))
  const served: ClaimedTicket[] = []
  for (const row of rows) {
    transaction.noteReservation(row.reservation_id)
    served.push({
      claim: { reservationId: row.reservation_id, nodeId, ref: row.reservation_seq },
      type: types.get(row.reservation_seq) ?? '',
      params: row.params,
      policy: await policyById(connection, interned, row.policy_id),
      startedAt: now,
    })
  }
  return served
}

/** Whether some node that claims handles the type, wherever it stands in the line. */
export function isHandled(connection: Connection, type: string): Promise<boolean> {
  return new FreePlaces(connection, null).isHandled(type)
}

/** Whether a ticket that came now could start at once, behind those that wait already. */
export async function canStartNow(connection: Connection, lane: Lane, now: number): Promise<boolean> {
  const survey = await surveyForTicket(connection, lane)
  const permits = countPermits(survey)
  const places = new FreePlaces(connection, null)
  const line = new WaitingLine(connection, survey.waiting, renewedSince(now))
  while (permits.canTake(lane)) {
    const earlier = await line.next()
    if (earlier === null) return places.take(lane.type)
    await waitFurther(line, earlier.lane, permits, places)
  }
  return false
}
