import { type JobAhead, type LaneAhead, LISTED_MAX, RANK_MAX, type Rank } from '../../../domain/standing.ts'
import type { Connection, SqlRow } from '../connection.ts'
import type { JobRow } from '../rows.ts'
import type { Interned } from '../transaction.ts'
import { laneById } from './interned.ts'
import type { TakenPermits } from './taken-permits.ts'

/** Where a row of the queue stands. */
interface PlaceRow extends SqlRow {
  priority: number
  position: number
  created_at: number
  seq: number
}

// One seek per lane that has a ready Job, however many Jobs there are.
const SELECT_NEXT_READY_LANE = `
select lane_id
from pawl_queue
where ready = 1 and lane_id > ?
order by lane_id
limit 1`

// The Jobs of one lane before a place, counted up to a number. Two ranges of the lane's part of the index: those of higher
// priority, then those before it at its own.
const COUNT_MORE_URGENT = `
select count(*) as ahead
from (select 1 from pawl_queue where ready = 1 and lane_id = ? and priority > ? limit ?)`

const COUNT_EARLIER = `
select count(*) as ahead
from (
  select 1
  from pawl_queue
  where ready = 1 and lane_id = ? and priority = ? and (position, created_at, seq) < (?, ?, ?)
  limit ?
)`

const SELECT_HEADS = `
select priority, position, created_at, seq
from pawl_queue
where ready = 1 and lane_id = ?
order by priority desc, position, created_at
limit ?`

/** As many due Jobs become ready with the next claim; further ones are not counted. */
const DUE_MAX = 1_000

// Jobs whose time has come since the last claim. With a node that claims there are hardly any.
const SELECT_DUE = `
select priority, position, created_at, seq, lane_id
from pawl_queue
where ready = 0 and awaits_predecessor = 0 and unmet_parents = 0 and run_at <= ?
order by run_at
limit ${DUE_MAX}`

const SELECT_AHEAD = 'select job_id, lane_id from pawl_jobs where seq = ?'

/** Where a Job stands among those that could start if there were places and permits for all. */
export function readRank(
  connection: Connection,
  interned: Interned,
  permits: TakenPermits,
  job: JobRow,
  now: number,
): Rank {
  const due = connection.all<PlaceRow & { lane_id: number }>(SELECT_DUE, now).filter((row) => compare(row, job) < 0)
  const dueByLane = new Map<number, number>()
  for (const { lane_id } of due) dueByLane.set(lane_id, (dueByLane.get(lane_id) ?? 0) + 1)
  const lanes: LaneAhead[] = []
  const first: PlaceRow[] = [...due]
  let ahead = due.length
  const add = (laneId: number, count: number) => {
    if (count > 0) lanes.push({ ...permits.kindOf(laneById(connection, interned, laneId)), count })
  }
  for (let laneId = nextReadyLane(connection, 0); laneId !== null; laneId = nextReadyLane(connection, laneId)) {
    const isCounted = ahead < RANK_MAX
    const count = isCounted ? countAhead(connection, laneId, job, RANK_MAX - ahead) : 0
    ahead += count
    add(laneId, count + (dueByLane.get(laneId) ?? 0))
    dueByLane.delete(laneId)
    if (isCounted && count === 0) continue
    first.push(...connection.all<PlaceRow>(SELECT_HEADS, laneId, LISTED_MAX).filter((row) => compare(row, job) < 0))
  }
  for (const [laneId, count] of dueByLane) add(laneId, count)
  return {
    ahead: Math.min(ahead, RANK_MAX),
    first: first
      .sort(compare)
      .slice(0, LISTED_MAX)
      .map((row) => toJobAhead(connection, interned, row)),
    lanes: ahead < RANK_MAX ? lanes : null,
  }
}

function nextReadyLane(connection: Connection, after: number): number | null {
  return connection.get<{ lane_id: number }>(SELECT_NEXT_READY_LANE, after)?.lane_id ?? null
}

function countAhead(connection: Connection, laneId: number, job: JobRow, max: number): number {
  const { priority, position, created_at, seq } = job
  const urgent = connection.get<{ ahead: number }>(COUNT_MORE_URGENT, laneId, priority, max)?.ahead ?? 0
  if (urgent >= max) return urgent
  const rest = max - urgent
  const row = connection.get<{ ahead: number }>(COUNT_EARLIER, laneId, priority, position, created_at, seq, rest)
  return urgent + (row?.ahead ?? 0)
}

function compare(a: PlaceRow, b: PlaceRow): number {
  return b.priority - a.priority || a.position - b.position || a.created_at - b.created_at || a.seq - b.seq
}

function toJobAhead(connection: Connection, interned: Interned, { seq, priority }: PlaceRow): JobAhead {
  const row = connection.get<{ job_id: string; lane_id: number }>(SELECT_AHEAD, seq)
  return { jobId: row?.job_id ?? '', type: laneById(connection, interned, row?.lane_id ?? 0).type, priority }
}
