import type { Reservation, ReservationReason, ReservationStatus } from '../../../domain/reservation.ts'
import type { RunStatus } from '../../../domain/run.ts'
import type { Page } from '../../../store/jobs.ts'
import type { NewTicket, PruneReservationsRequest, ReservationFilter } from '../../../store/reservations.ts'
import type { Connection, SqlRow } from '../connection.ts'
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
    noteTicketGone(transaction, reservationId)
    return 'released'
  }
  const status = connection.get<{ status: ReservationStatus }>(SELECT_STATUS, reservationId)?.status
  if (status === undefined) return 'not-found'
  return status === 'RUNNING' ? 'running' : 'ended'
}

// Tickets whose callers have not been heard of. It reads as many as wait.
const SELECT_NOT_RENEWED = `
select reservation_id
from pawl_reservations
where status = 'WAITING' and renewed_at < ?`

export function expireTickets(transaction: Transaction, renewedBefore: number, now: number): number {
  return expire(transaction, transaction.connection.all<IdRow>(SELECT_NOT_RENEWED, renewedBefore), now)
}

// Tickets that a dead node had opened. It reads as many as wait.
const SELECT_WAITING_OF_NODE = `
select reservation_id
from pawl_reservations
where status = 'WAITING' and caller_seq = (select node_seq from pawl_nodes where node_id = ?)`

export function expireTicketsOf(transaction: Transaction, nodeId: string, now: number): number {
  return expire(transaction, transaction.connection.all<IdRow>(SELECT_WAITING_OF_NODE, nodeId), now)
}

interface IdRow extends SqlRow {
  reservation_id: string
}

// Rows changed: all of them. They wait: they were found in this very transaction.
const EXPIRE_TICKETS = `
update pawl_reservations
set status = 'EXPIRED', ended_at = ?, reason = 'expired'
where reservation_id in (select value from json_each(?))`

function expire(transaction: Transaction, rows: readonly IdRow[], now: number): number {
  if (rows.length === 0) return 0
  const ids = rows.map((row) => row.reservation_id)
  for (const id of ids) noteTicketGone(transaction, id)
  return transaction.connection.run(EXPIRE_TICKETS, now, JSON.stringify(ids))
}

/** What it held back is free, and whoever waits for it shall look. */
function noteTicketGone(transaction: Transaction, reservationId: string): void {
  transaction.stirs.add('tickets')
  transaction.noteReservation(reservationId)
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

// One row per reservation that is known.
const SELECT_STATUSES = `
select s.reservation_id, s.status
from json_each(?) e
cross join pawl_reservations s on s.reservation_id = e.value`

export function findReservationStatuses(
  connection: Connection,
  reservationIds: readonly string[],
): ReadonlyMap<string, ReservationStatus> {
  const rows = connection.all<{ reservation_id: string; status: ReservationStatus }>(
    SELECT_STATUSES,
    JSON.stringify(reservationIds),
  )
  return new Map(rows.map((row) => [row.reservation_id, row.status]))
}

// As many rows as wait are sorted, and nothing but their numbers.
const WAITING_PAGE = `
select reservation_seq
from pawl_reservations indexed by pawl_reservations_waiting
where status = 'WAITING' and reservation_seq < ?
order by reservation_seq desc
limit ?`

/** Written out, because a bound status would find no index: those of the active ones hold nothing else. */
const PAGE_CONDITIONS: Readonly<Record<ReservationStatus | 'ANY', string>> = {
  ANY: 's.reservation_seq < ?',
  WAITING: `s.reservation_seq in (${WAITING_PAGE})`,
  RUNNING: "s.status = 'RUNNING' and s.reservation_seq < ?",
  RELEASED: "s.status = 'RELEASED' and s.reservation_seq < ?",
  EXPIRED: "s.status = 'EXPIRED' and s.reservation_seq < ?",
}

/** Newest first. A cursor is the number of the last one of the page before. */
export function listReservations(
  connection: Connection,
  interned: Interned,
  { status, limit, cursor }: ReservationFilter,
): Page<Reservation> {
  const condition = PAGE_CONDITIONS[status ?? 'ANY']
  const sql = `select ${RESERVATION_COLUMNS} ${FROM_RESERVATIONS} where ${condition} order by s.reservation_seq desc`
  const before = cursor == null ? Number.MAX_SAFE_INTEGER : Number(cursor)
  const rows = connection.all<ReservationRow>(status === 'WAITING' ? sql : `${sql} limit ?`, before, limit)
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

const SELECT_PAGE_OF_OLDEST = `
select reservation_seq, created_at
from pawl_reservations
where reservation_seq > ?
order by reservation_seq
limit ?`

// Rows changed: records of the page that are old enough. One whose body still executes keeps its record.
const DELETE_RESERVATIONS = `
delete from pawl_reservations
where reservation_seq > ? and reservation_seq <= ? and ended_at < ?
  and not exists (
    select 1
    from pawl_direct_occupancies d
    where d.reservation_seq = pawl_reservations.reservation_seq
  )`

// How many the statement above would remove.
const COUNT_RESERVATIONS = `
select count(*) as reservations
from pawl_reservations
where reservation_seq > ? and reservation_seq <= ? and ended_at < ?
  and not exists (
    select 1
    from pawl_direct_occupancies d
    where d.reservation_seq = pawl_reservations.reservation_seq
  )`

export function pruneReservations(
  { connection }: Transaction,
  request: PruneReservationsRequest,
): { removed: number; nextCursor: string | null } {
  const page = findPageOfOldest(connection, request)
  if (page === null) return { removed: 0, nextCursor: null }
  const removed = connection.run(DELETE_RESERVATIONS, page.after, page.last, request.endedBefore)
  return { removed, nextCursor: page.nextCursor }
}

export function countPrunableReservations(
  connection: Connection,
  request: PruneReservationsRequest,
): { reservations: number; nextCursor: string | null } {
  const page = findPageOfOldest(connection, request)
  if (page === null) return { reservations: 0, nextCursor: null }
  const row = connection.get<{ reservations: number }>(COUNT_RESERVATIONS, page.after, page.last, request.endedBefore)
  return { reservations: row?.reservations ?? 0, nextCursor: page.nextCursor }
}

function findPageOfOldest(
  connection: Connection,
  { endedBefore, limit, cursor }: PruneReservationsRequest,
): { after: number; last: number; nextCursor: string | null } | null {
  const after = cursor === null ? 0 : Number(cursor)
  const rows = connection.all<{ reservation_seq: number; created_at: number }>(SELECT_PAGE_OF_OLDEST, after, limit)
  const last = rows.at(-1)?.reservation_seq
  if (last === undefined) return null
  // Rows follow the time of their making, but a clock may have been ahead for a while: a whole page must be too young.
  const isLastPage = rows.length < limit || rows.every((row) => row.created_at >= endedBefore)
  return { after, last, nextCursor: isLastPage ? null : String(last) }
}
