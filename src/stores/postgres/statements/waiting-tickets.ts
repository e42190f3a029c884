import { TICKET_EXPIRES_MS } from '../../../domain/reservation.ts'
import { COUNTED_MAX, LISTED_MAX, type TicketLane, type WaitingTicket } from '../../../domain/standing.ts'
import type { Connection } from '../connection.ts'
import type { TakenPermits } from './taken-permits.ts'

// One seek per lane that has a waiting ticket, however many wait in it. Those whose callers are known to wait are counted, up
// to a number.
const SELECT_TICKET_LANES = `
with recursive waiting_lane (lane_id) as (
  (
    select s.lane_id
    from pawl.reservations s
    where s.status = 'WAITING'
    order by s.lane_id
    limit 1
  )
  union all
  select next.lane_id
  from waiting_lane before
  cross join lateral (
    select s.lane_id
    from pawl.reservations s
    where s.status = 'WAITING' and s.lane_id > before.lane_id
    order by s.lane_id
    limit 1
  ) next
)
select l.lane_id, l.type, l.resources, (
    select count(*)
    from (
      select 1
      from pawl.reservations s
      where s.status = 'WAITING' and s.lane_id = l.lane_id and s.renewed_at >= $1
      limit ${COUNTED_MAX}
    ) counted
  ) as waiting
from waiting_lane w
join pawl.lanes l on l.lane_id = w.lane_id
order by l.lane_id`

interface LaneRow {
  lane_id: number
  type: string
  resources: string
  waiting: number
}

const SELECT_OLDEST = `
select s.reservation_id, s.created_by, s.created_at, c.node_id, c.name
from pawl.reservations s
join pawl.nodes c on c.node_seq = s.caller_seq
where s.status = 'WAITING' and s.lane_id = $1 and s.renewed_at >= $2
order by s.reservation_seq
limit ${LISTED_MAX}`

interface TicketRow {
  reservation_id: string
  created_by: string | null
  created_at: number
  node_id: string
  name: string
}

/** The tickets that are served before any Job, by what they need. */
export async function readTicketLanes(
  connection: Connection,
  permits: TakenPermits,
  now: number,
): Promise<TicketLane[]> {
  const renewedSince = now - TICKET_EXPIRES_MS
  const lanes: TicketLane[] = []
  for (const row of await connection.all<LaneRow>(SELECT_TICKET_LANES, renewedSince)) {
    if (row.waiting === 0) continue
    const kind = permits.kindOf({ type: row.type, resources: JSON.parse(row.resources) as string[] })
    const tickets = await connection.all<TicketRow>(SELECT_OLDEST, row.lane_id, renewedSince)
    lanes.push({ ...kind, waiting: row.waiting, oldest: tickets.map((ticket) => toTicket(row.type, ticket)) })
  }
  return lanes
}

function toTicket(type: string, row: TicketRow): WaitingTicket {
  return {
    reservationId: row.reservation_id,
    type,
    createdBy: row.created_by,
    callerNodeId: row.node_id,
    callerName: row.name,
    createdAt: row.created_at,
  }
}
