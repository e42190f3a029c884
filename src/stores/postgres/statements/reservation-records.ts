import type { Reservation, ReservationReason, ReservationStatus } from '../../../domain/reservation.ts'
import type { RunStatus } from '../../../domain/run.ts'
import type { Page } from '../../../store/jobs.ts'
import type { PruneReservationsRequest, ReservationFilter } from '../../../store/reservations.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

const RESERVATION_COLUMNS = `
  s.reservation_seq, s.reservation_id, l.type, s.status, s.params, c.node_id as caller_id, n.node_id, s.created_by,
  s.created_at, s.renewed_at, s.started_at, s.ended_at, s.outcome, s.reason, s.error, s.result`

const JOINED_TO_RESERVATIONS = `
join pawl.lanes l on l.lane_id = s.lane_id
join pawl.nodes c on c.node_seq = s.caller_seq
left join pawl.nodes n on n.node_seq = s.node_seq`

interface ReservationRow {
  reservation_seq: number
  reservation_id: string
  type: string
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

const SELECT_RESERVATIONS = `
select ${RESERVATION_COLUMNS}
from pawl.reservations s
${JOINED_TO_RESERVATIONS}
where s.reservation_id = any($1::text[])`

export async function findReservations(
  connection: Connection,
  reservationIds: readonly string[],
): Promise<Reservation[]> {
  const rows = await connection.all<ReservationRow>(SELECT_RESERVATIONS, reservationIds)
  const byId = new Map(rows.map((row) => [row.reservation_id, row]))
  return reservationIds.flatMap((id) => {
    const row = byId.get(id)
    return row === undefined ? [] : [toReservation(row)]
  })
}

// One row per reservation that is known.
const SELECT_STATUSES = 'select reservation_id, status from pawl.reservations where reservation_id = any($1::text[])'

export async function findReservationStatuses(
  connection: Connection,
  reservationIds: readonly string[],
): Promise<ReadonlyMap<string, ReservationStatus>> {
  const rows = await connection.all<{ reservation_id: string; status: ReservationStatus }>(
    SELECT_STATUSES,
    reservationIds,
  )
  return new Map(rows.map((row) => [row.reservation_id, row.status]))
}

// The last page before a number, newest first. `offset 0` keeps the few that are active apart: they are found by their own
// index, and then sorted.
const pageOf = (reservations: string): string => `
select ${RESERVATION_COLUMNS}
from (
  select *
  from (${reservations}) found
  where reservation_seq < $1
  order by reservation_seq desc
  limit $2
) s
${JOINED_TO_RESERVATIONS}
order by s.reservation_seq desc`

/** Written out, because a bound status would find no index: those of the active ones hold nothing else. */
const PAGES: Readonly<Record<ReservationStatus | 'ANY', string>> = {
  ANY: pageOf('select * from pawl.reservations'),
  WAITING: pageOf("select * from pawl.reservations where status = 'WAITING' offset 0"),
  RUNNING: pageOf("select * from pawl.reservations where status = 'RUNNING' offset 0"),
  RELEASED: pageOf("select * from pawl.reservations where status = 'RELEASED'"),
  EXPIRED: pageOf("select * from pawl.reservations where status = 'EXPIRED'"),
}

/** Newest first. A cursor is the number of the last one of the page before. */
export async function listReservations(
  connection: Connection,
  { status, limit, cursor }: ReservationFilter,
): Promise<Page<Reservation>> {
  const before = cursor == null ? Number.MAX_SAFE_INTEGER : Number(cursor)
  const rows = await connection.all<ReservationRow>(PAGES[status ?? 'ANY'], before, limit)
  const last = rows.at(-1)
  return {
    items: rows.map(toReservation),
    nextCursor: rows.length === limit && last !== undefined ? String(last.reservation_seq) : null,
  }
}

function toReservation(row: ReservationRow): Reservation {
  return {
    reservationId: row.reservation_id,
    type: row.type,
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
from pawl.reservations
where reservation_seq > $1
order by reservation_seq
limit $2`

const IS_PRUNABLE = `
  s.reservation_seq > $1 and s.reservation_seq <= $2 and s.ended_at < $3
  and not exists (
    select 1
    from pawl.direct_occupancies d
    where d.reservation_seq = s.reservation_seq
  )`

// Rows changed: records of the page that are old enough. One whose body still executes keeps its record.
const DELETE_RESERVATIONS = `
delete from pawl.reservations s
where ${IS_PRUNABLE}`

// How many the statement above would remove.
const COUNT_RESERVATIONS = `
select count(*) as reservations
from pawl.reservations s
where ${IS_PRUNABLE}`

export async function pruneReservations(
  { connection }: Transaction,
  request: PruneReservationsRequest,
): Promise<{ removed: number; nextCursor: string | null }> {
  const page = await findPageOfOldest(connection, request)
  if (page === null) return { removed: 0, nextCursor: null }
  const removed = await connection.run(DELETE_RESERVATIONS, page.after, page.last, request.endedBefore)
  return { removed, nextCursor: page.nextCursor }
}

export async function countPrunableReservations(
  connection: Connection,
  request: PruneReservationsRequest,
): Promise<{ reservations: number; nextCursor: string | null }> {
  const page = await findPageOfOldest(connection, request)
  if (page === null) return { reservations: 0, nextCursor: null }
  const { after, last, nextCursor } = page
  const row = await connection.get<{ reservations: number }>(COUNT_RESERVATIONS, after, last, request.endedBefore)
  return { reservations: row?.reservations ?? 0, nextCursor }
}

async function findPageOfOldest(
  connection: Connection,
  { endedBefore, limit, cursor }: PruneReservationsRequest,
): Promise<{ after: number; last: number; nextCursor: string | null } | null> {
  const after = cursor === null ? 0 : Number(cursor)
  const rows = await connection.all<{ reservation_seq: number; created_at: number }>(
    SELECT_PAGE_OF_OLDEST,
    after,
    limit,
  )
  const last = rows.at(-1)?.reservation_seq
  if (last === undefined) return null
  // Rows follow the time of their making, but a clock may have been ahead for a while: a whole page must be too young.
  const isLastPage = rows.length < limit || rows.every((row) => row.created_at >= endedBefore)
  return { after, last, nextCursor: isLastPage ? null : String(last) }
}
