import { TICKET_EXPIRES_MS } from '../../../domain/reservation.ts'
import { COUNTED_MAX, LISTED_MAX, type TicketLane } from '../../../domain/standing.ts'
import type { Connection, SqlRow } from '../connection.ts'
import type { Interned } from '../transaction.ts'
import { laneById } from './interned.ts'
import type { TakenPermits } from './taken-permits.ts'

// One seek per lane that has a waiting ticket, however many wait in it.
const SELECT_NEXT_TICKET_LANE = `
select lane_id
from pawl_reservations
where status = 'WAITING' and lane_id > ?
order by lane_id
limit 1`

// Those whose callers are known to wait, counted up to a number.
const COUNT_WAITING = `
select count(*) as waiting
from (
  select 1
  from pawl_reservations
  where status = 'WAITING' and lane_id = ? and renewed_at >= ?
  limit ${COUNTED_MAX}
)`

const SELECT_OLDEST = `
select s.reservation_id, s.created_by, s.created_at, c.node_id, c.name
from pawl_reservations s
join pawl_nodes c on c.node_seq = s.caller_seq
where s.status = 'WAITING' and s.lane_id = ? and s.renewed_at >= ?
order by s.reservation_seq
limit ${LISTED_MAX}`

interface TicketRow extends SqlRow {
  reservation_id: string
  created_by: string | null
  created_at: number
  node_id: string
  name: string
}

/** The tickets that are served before any Job, by what they need. */
export function readTicketLanes(
  connection: Connection,
  interned: Interned,
  permits: TakenPermits,
  now: number,
): TicketLane[] {
  const renewedSince = now - TICKET_EXPIRES_MS
  const lanes: TicketLane[] = []
  for (let last = 0; ; ) {
    const laneId = connection.get<{ lane_id: number }>(SELECT_NEXT_TICKET_LANE, last)?.lane_id
    if (laneId === undefined) return lanes
    last = laneId
    const waiting = connection.get<{ waiting: number }>(COUNT_WAITING, laneId, renewedSince)?.waiting ?? 0
    if (waiting === 0) continue
    const lane = laneById(connection, interned, laneId)
    const oldest = connection.all<TicketRow>(SELECT_OLDEST, laneId, renewedSince).map((row) => ({
      reservationId: row.reservation_id,
      type: lane.type,
      createdBy: row.created_by,
      callerNodeId: row.node_id,
      callerName: row.name,
      createdAt: row.created_at,
    }))
    lanes.push({ ...permits.kindOf(lane), waiting, oldest })
  }
}
