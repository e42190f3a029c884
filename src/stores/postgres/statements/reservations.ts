import type { ReservationReason, ReservationStatus } from '../../../domain/reservation.ts'
import type { NewTicket } from '../../../store/reservations.ts'
import type { Transaction } from '../transaction.ts'
import { internLane, internPolicy } from './interned.ts'
import { nodeSeqOf } from './nodes.ts'
import { canStartNow, isHandled } from './tickets.ts'

export {
  finishDirectRuns,
  listDirectOccupancies,
  recordDirectChild,
  releaseDirectOccupancies,
} from './direct-runs.ts'
export {
  countPrunableReservations,
  findReservationStatuses,
  findReservations,
  listReservations,
  pruneReservations,
} from './reservation-records.ts'

// Those that are to be rejected unless they can start now are taken one after the other: two that come together must not both
// find the same permit. The name of the schema is written in, so that stores in one database do not wait for each other.
const LOCK_REJECTING = "select pg_advisory_xact_lock(hashtextextended('pawl.reservations', 0))"

const INSERT_TICKET = `
insert into pawl.reservations (reservation_id, lane_id, policy_id, status, caller_seq, created_by, created_at, renewed_at, params)
values ($1, $2, $3, 'WAITING', $4, $5, $6, $6, $7)`

export async function openTicket(
  transaction: Transaction,
  ticket: NewTicket,
  now: number,
): Promise<'waiting' | 'busy' | 'no-node'> {
  const { connection } = transaction
  if (!(await isHandled(connection, ticket.type))) return 'no-node'
  const lane = internLane(transaction, ticket.type, ticket.policy.resources)
  if (ticket.onBusy === 'reject') {
    await connection.get(LOCK_REJECTING)
    if (!(await canStartNow(connection, lane, now))) return 'busy'
  }
  await connection.run(
    INSERT_TICKET,
    ticket.reservationId,
    lane.laneId,
    await internPolicy(transaction, ticket.policy),
    await nodeSeqOf(connection, ticket.callerNodeId),
    ticket.createdBy,
    now,
    ticket.params,
  )
  transaction.stirs.add('tickets')
  return 'waiting'
}

// One row per ticket that still waits. One that somebody is about to serve or release is left out: its caller looks at it, and
// if it waits after all, it is renewed the next time.
const RENEW = `
with waiting as materialized (
  select reservation_seq
  from pawl.reservations
  where reservation_id = any($1::text[]) and status = 'WAITING'
  order by reservation_seq
  for update skip locked
)
update pawl.reservations s
set renewed_at = $2
from waiting
where s.reservation_seq = waiting.reservation_seq
returning s.reservation_id`

export async function renewTickets(
  { connection }: Transaction,
  reservationIds: readonly string[],
  now: number,
): Promise<string[]> {
  return (await connection.runReturningAll<IdRow>(RENEW, reservationIds, now)).map((row) => row.reservation_id)
}

// 1 row: it will not be served. 0 rows: it was served before, or it is over. Waits for a claim that is about to serve it.
const RELEASE_TICKET = `
update pawl.reservations
set status = 'RELEASED', ended_at = $1, reason = $2
where reservation_id = $3 and status = 'WAITING'`

const SELECT_STATUS = 'select status from pawl.reservations where reservation_id = $1'

export async function releaseTicket(
  transaction: Transaction,
  reservationId: string,
  reason: ReservationReason,
  now: number,
): Promise<'released' | 'running' | 'ended' | 'not-found'> {
  const { connection } = transaction
  if ((await connection.run(RELEASE_TICKET, now, reason, reservationId)) === 1) {
    noteTicketGone(transaction, reservationId)
    return 'released'
  }
  const status = (await connection.get<{ status: ReservationStatus }>(SELECT_STATUS, reservationId))?.status
  if (status === undefined) return 'not-found'
  return status === 'RUNNING' ? 'running' : 'ended'
}

interface IdRow {
  reservation_id: string
}

// One row per ticket whose caller has not been heard of. It reads as many as wait. Of those that somebody is just serving or
// renewing, what is left is found the next time.
const EXPIRE_NOT_RENEWED = `
with gone as materialized (
  select reservation_seq
  from pawl.reservations
  where status = 'WAITING' and renewed_at < $2
  order by reservation_seq
  for update skip locked
)
update pawl.reservations s
set status = 'EXPIRED', ended_at = $1, reason = 'expired'
from gone
where s.reservation_seq = gone.reservation_seq
returning s.reservation_id`

export async function expireTickets(transaction: Transaction, renewedBefore: number, now: number): Promise<number> {
  const rows = await transaction.connection.runReturningAll<IdRow>(EXPIRE_NOT_RENEWED, now, renewedBefore)
  return noteExpired(transaction, rows)
}

// One row per ticket that a dead node had opened. It reads as many as wait.
const EXPIRE_OF_NODE = `
with gone as materialized (
  select reservation_seq
  from pawl.reservations
  where status = 'WAITING' and caller_seq = (select node_seq from pawl.nodes where node_id = $2)
  order by reservation_seq
  for update skip locked
)
update pawl.reservations s
set status = 'EXPIRED', ended_at = $1, reason = 'expired'
from gone
where s.reservation_seq = gone.reservation_seq
returning s.reservation_id`

export async function expireTicketsOf(transaction: Transaction, nodeId: string, now: number): Promise<number> {
  return noteExpired(transaction, await transaction.connection.runReturningAll<IdRow>(EXPIRE_OF_NODE, now, nodeId))
}

function noteExpired(transaction: Transaction, rows: readonly IdRow[]): number {
  for (const { reservation_id } of rows) noteTicketGone(transaction, reservation_id)
  return rows.length
}

/** What it held back is free, and whoever waits for it shall look. */
function noteTicketGone(transaction: Transaction, reservationId: string): void {
  transaction.stirs.add('tickets')
  transaction.noteReservation(reservationId)
}
