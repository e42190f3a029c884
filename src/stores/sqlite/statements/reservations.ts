import type { Reservation, ReservationReason, ReservationStatus } from '../../../domain/reservation.ts'
import type { RunStatus } from '../../../domain/run.ts'
import type { Page } from '../../../store/jobs.ts'
import type { NewTicket, ReservationFilter } from '../../../store/reservations.ts'
import type { Connection, SqlRow, SqlValue } from '../connection.ts'
import type { Interned, Transaction } from '../transaction.ts'
import { internLane, internPolicy, laneById } from './interned.ts'
import { nodeSeqOf } from './nodes.ts'
import { canStartNow, isHandled } from './tickets.ts'

export {
  finishDirectRuns,
  listDirectOccupancies,
  recordDirectChild,
  releaseDirectOccupancies,
} from './direct-runs.ts'

const INSERT_TICKET = `
insert into pawl_reservations (reservation_id, lane_id, policy_id, status, caller_seq, created_by, created_at, renewed_at, params)
values (?, ?, ?, 'WAITING', ?, ?, ?, ?, ?)`

export function openTicket(transaction: Transaction, ticket: NewTicket, now: number): 'waiting' | 'busy' | 'no-node' {
  const { connection } = transaction
  if (!isHandled(connection, ticket.type)) return 'no-node'
  const lane = internLane(transaction, ticket.type, ticket.policy.resources)
  if (ticket.onBusy === 'reject' && !canStartNow(transaction, lane, now)) return 'busy'
  connection.run(
    INSERT_TICKET,
    ticket.reservationId,
    lane.laneId,
    internPolicy(transaction, ticket.policy),
    nodeSeqOf(connection, ticket.callerNodeId),
    ticket.createdBy,
    now,
    now,
    ticket.params,
  )
  transaction.stirs.add('tickets')
  return 'waiting'
}

// Rows changed: tickets that still wait.
const RENEW = `
update pawl_reservations
set renewed_at = ?
where reservation_id in (select value from json_each(?)) and status = 'WAITING'`

const SELECT_STILL_WAITING = `
select reservation_id
from pawl_reservations
where reservation_id in (select value from json_each(?)) and status = 'WAITING'`

export function renewTickets({ connection }: Transaction, reservationIds: readonly string[], now: number): string[] {
  const ids = JSON.stringify(reservationIds)
  if (connection.run(RENEW, now, ids) === 0) return []
  return connection.all<{ reservation_id: string }>(SELECT_STILL_WAITING, ids).map((row) => row.reservation_id)
}

// 1 row: it will not be served. 0 rows: it was served before, or it is over.
const RELEASE_TICKET = `
update pawl_reservations
set status = 'RELEASED', ended_at = ?, reason = ?
where reservation_id = ? and status = 'WAITING'`

const SELECT_STATUS = 'select status from pawl_reservations where reservation_id = ?'

export function releaseTicket(
  transaction: Transaction,
  reservationId: string,
  reason: ReservationReason,
  now: number,
): 'released' | 'running' | 'ended' | 'not-found' {
  const { connection } = transaction
  if (connection.run(RELEASE_TICKET, now, reason, reservationId) === 1) {
    noteTicketsGone(transaction)
    return 'released'
  }
  const status = connection.get<{ status: ReservationStatus }>(SELECT_STATUS, reservationId)?.status
  if (status === undefined) return 'not-found'
  return status === 'RUNNING' ? 'running' : 'ended'
}

// Rows changed: tickets whose callers have not been heard of. It reads as many as wait.
const EXPIRE_TICKETS = `
update pawl_reservations
set status = 'EXPIRED', ended_at = ?, reason = 'expired'
where status = 'WAITING' and renewed_at < ?`

export function expireTickets(transaction: Transaction, renewedBefore: number, now: number): number {
  const expired = transaction.connection.run(EXPIRE_TICKETS, now, renewedBefore)
  if (expired > 0) noteTicketsGone(transaction)
  return expired
}

// Rows changed: tickets that a dead node had opened. It reads as many as wait.
const EXPIRE_TICKETS_OF_NODE = `
update pawl_reservations
set status = 'EXPIRED', ended_at = ?, reason = 'expired'
where status = 'WAITING' and caller_seq = (select node_seq from pawl_nodes where node_id = ?)`

export function expireTicketsOf(transaction: Transaction, nodeId: string, now: number): number {
  const expired = transaction.connection.run(EXPIRE_TICKETS_OF_NODE, now, nodeId)
  if (expired > 0) noteTicketsGone(transaction)
  return expired
}

/** What they held back is free, and whoever waits for them shall look. */
function noteTicketsGone({ stirs }: Transaction): void {
  stirs.add('tickets')
  stirs.add('reservations')
}

const RESERVATION_COLUMNS = `
  s.reservation_seq, s.reservation_id, s.lane_id, s.status, s.params, c.node_id as caller_id, n.node_id, s.created_by,
  s.created_at, s.renewed_at, s.started_at, s.ended_at, s.outcome, s.reason, s.error, s.result`

// Cross joins: the reservations are read in their own order, and each leads to its nodes.
const FROM_RESERVATIONS = `
from pawl_reservations s
cross join pawl_nodes c on c.node_seq = s.caller_seq
left join pawl_nodes n on n.node_seq = s.node_seq`

interface ReservationRow extends SqlRow {
  reservation_seq: number
  reservation_id: string
  lane_id: number
  status: ReservationStatus
  params: string
  caller_id: string
  node_id: string | null
  created_by: string | null
  created_at: number
  renewed_at: number
  started_at: number | null
  ended_at: number | null
  outcome: RunStatus | null
  reason: ReservationReason | null
  error: string | null
  result: string | null
}

const SELECT_RESERVATION = `select ${RESERVATION_COLUMNS} ${FROM_RESERVATIONS} where s.reservation_id = ?`

export function findReservations(
  connection: Connection,
  interned: Interned,
  reservationIds: readonly string[],
): Reservation[] {
  return reservationIds.flatMap((id) => {
    const row = connection.get<ReservationRow>(SELECT_RESERVATION, id)
    return row === undefined ? [] : [toReservation(row, connection, interned)]
  })
}

/** Written out, because a bound status would find no index: those of the active ones hold nothing else. */
const STATUS_CONDITIONS: Readonly<Record<ReservationStatus, string>> = {
  WAITING: "s.status = 'WAITING'",
  RUNNING: "s.status = 'RUNNING'",
  RELEASED: "s.status = 'RELEASED'",
  EXPIRED: "s.status = 'EXPIRED'",
}

/** Newest first. A cursor is the number of the last one of the page before. */
export function listReservations(
  connection: Connection,
  interned: Interned,
  { status, limit, cursor }: ReservationFilter,
): Page<Reservation> {
  const conditions: string[] = []
  const values: SqlValue[] = []
  if (status !== undefined) conditions.push(STATUS_CONDITIONS[status])
  if (cursor != null) {
    conditions.push('s.reservation_seq < ?')
    values.push(Number(cursor))
  }
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
  const sql = `select ${RESERVATION_COLUMNS} ${FROM_RESERVATIONS} ${where} order by s.reservation_seq desc limit ?`
  const rows = connection.all<ReservationRow>(sql, ...values, limit)
  const last = rows[rows.length - 1]
  return {
    items: rows.map((row) => toReservation(row, connection, interned)),
    nextCursor: rows.length === limit && last !== undefined ? String(last.reservation_seq) : null,
  }
}

function toReservation(row: ReservationRow, connection: Connection, interned: Interned): Reservation {
  return {
    reservationId: row.reservation_id,
    type: laneById(connection, interned, row.lane_id).type,
    status: row.status,
    params: JSON.parse(row.params),
    callerNodeId: row.caller_id,
    nodeId: row.node_id,
    createdBy: row.created_by,
    createdAt: row.created_at,
    renewedAt: row.renewed_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    outcome: row.outcome,
    reason: row.reason,
    error: row.error,
    result: row.result === null ? null : JSON.parse(row.result),
  }
}

// Looks at the oldest ended ones only, and stops. One whose body still executes keeps its record.
const DELETE_RESERVATIONS = `
delete from pawl_reservations
where reservation_seq in (
  select reservation_seq
  from (
    select reservation_seq, ended_at
    from pawl_reservations
    where ended_at is not null and reservation_seq not in (select reservation_seq from pawl_direct_occupancies)
    order by reservation_seq
    limit ?
  )
  where ended_at < ?
)`

export function pruneReservations({ connection }: Transaction, endedBefore: number, limit: number): number {
  return connection.run(DELETE_RESERVATIONS, limit, endedBefore)
}
