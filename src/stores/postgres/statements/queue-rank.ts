import { type JobAhead, type LaneAhead, LISTED_MAX, RANK_MAX, type Rank } from '../../../domain/standing.ts'
import type { Connection } from '../connection.ts'
import type { JobRow } from '../rows.ts'
import type { Lane } from '../transaction.ts'
import type { PlaceRow } from './match-jobs.ts'
import type { TakenPermits } from './taken-permits.ts'

// Goes from lane to lane, one seek each, however many Jobs are ready. Of each it counts those before a place: the ones of
// higher priority, then those before it at its own. It stops counting when all lanes together have so many.
const SELECT_LANES_AHEAD = `
with recursive lanes_ahead (lane_id, counted, ahead) as (
  select 0, false, 0::bigint
  union all
  select next.lane_id, before.ahead < $5, before.ahead + urgent.jobs + earlier.jobs
  from lanes_ahead before
  cross join lateral (
    select q.lane_id
    from pawl.queue q
    where q.ready and q.lane_id > before.lane_id
    order by q.lane_id
    limit 1
  ) next
  cross join lateral (
    select count(*) as jobs
    from (
      select 1
      from pawl.queue q
      where q.ready and q.lane_id = next.lane_id and q.priority > $1
      limit greatest($5 - before.ahead, 0)
    ) of_lane
  ) urgent
  cross join lateral (
    select count(*) as jobs
    from (
      select 1
      from pawl.queue q
      where q.ready and q.lane_id = next.lane_id and q.priority = $1
        and (q.position, q.created_at, q.seq) < ($2, $3, $4)
      limit greatest($5 - before.ahead - urgent.jobs, 0)
    ) of_lane
  ) earlier
)
select a.lane_id, a.counted, a.ahead, l.type, l.resources
from lanes_ahead a
join pawl.lanes l on l.lane_id = a.lane_id
order by a.lane_id`

interface LaneAheadRow {
  lane_id: number
  /** False: enough were ahead before it was come to. */
  counted: boolean
  /** In all lanes up to this one. */
  ahead: number
  type: string
  resources: string
}

const SELECT_HEADS = `
select head.priority, head.position, head.created_at, head.seq
from unnest($1::integer[]) as given (lane_id)
cross join lateral (
  select q.priority, q.position, q.created_at, q.seq
  from pawl.queue q
  where q.ready and q.lane_id = given.lane_id
  order by q.priority desc, q.position, q.created_at, q.seq
  limit $2
) head`

/** As many due Jobs become ready with the next claim; further ones are not counted. */
const DUE_MAX = 1_000

// Jobs whose time has come since the last claim. With a node that claims there are hardly any.
const SELECT_DUE = `
select q.priority, q.position, q.created_at, q.seq, q.lane_id
from pawl.queue q
where not q.ready and not q.awaits_predecessor and q.unmet_parents = 0 and q.run_at <= $1
order by q.run_at
limit ${DUE_MAX}`

const SELECT_LANES_OF_DUE = 'select lane_id, type, resources from pawl.lanes where lane_id = any($1::integer[])'

/** Where a Job stands among those that could start if there were places and permits for all. */
export async function readRank(connection: Connection, permits: TakenPermits, job: JobRow, now: number): Promise<Rank> {
  const allDue = await connection.all<PlaceRow & { lane_id: number }>(SELECT_DUE, now)
  const due = allDue.filter((row) => compare(row, job) < 0)
  const dueByLane = new Map<number, number>()
  for (const { lane_id } of due) dueByLane.set(lane_id, (dueByLane.get(lane_id) ?? 0) + 1)
  const ready = await readReadyLanes(connection, job, RANK_MAX - due.length)
  const lanes: LaneAhead[] = []
  const add = (row: Omit<LaneAheadRow, 'counted' | 'ahead'>, count: number) => {
    if (count > 0) lanes.push({ ...permits.kindOf(toLane(row)), count })
  }
  let ahead = due.length
  for (const row of ready) {
    const count = due.length + row.ahead - ahead
    ahead += count
    add(row, count + (dueByLane.get(row.lane_id) ?? 0))
    dueByLane.delete(row.lane_id)
  }
  for (const row of await findLanes(connection, [...dueByLane.keys()])) add(row, dueByLane.get(row.lane_id) ?? 0)
  const first = [...due, ...(await readHeads(connection, ready, job))].sort(compare).slice(0, LISTED_MAX)
  return {
    ahead: Math.min(ahead, RANK_MAX),
    first: await toJobsAhead(connection, first),
    lanes: ahead < RANK_MAX ? lanes : null,
  }
}

function readReadyLanes(connection: Connection, job: JobRow, max: number): Promise<LaneAheadRow[]> {
  const { priority, position, created_at, seq } = job
  return connection.all<LaneAheadRow>(SELECT_LANES_AHEAD, priority, position, created_at, seq, Math.max(max, 0))
}

/** The first Jobs of the lanes that have some ahead, or may have. */
async function readHeads(connection: Connection, lanes: readonly LaneAheadRow[], job: JobRow): Promise<PlaceRow[]> {
  const laneIds = lanes
    .filter(({ counted, ahead }, index) => !counted || ahead > (lanes[index - 1]?.ahead ?? 0))
    .map(({ lane_id }) => lane_id)
  if (laneIds.length === 0) return []
  const heads = await connection.all<PlaceRow>(SELECT_HEADS, laneIds, LISTED_MAX)
  return heads.filter((row) => compare(row, job) < 0)
}

async function findLanes(
  connection: Connection,
  laneIds: readonly number[],
): Promise<Omit<LaneAheadRow, 'counted' | 'ahead'>[]> {
  return laneIds.length === 0 ? [] : connection.all(SELECT_LANES_OF_DUE, laneIds)
}

function toLane({ lane_id: laneId, type, resources }: Omit<LaneAheadRow, 'counted' | 'ahead'>): Lane {
  return { laneId, type, resources: JSON.parse(resources) as string[] }
}

function compare(a: PlaceRow, b: PlaceRow): number {
  return b.priority - a.priority || a.position - b.position || a.created_at - b.created_at || a.seq - b.seq
}

const SELECT_AHEAD = `
select j.seq, j.job_id, l.type
from pawl.jobs j
join pawl.lanes l on l.lane_id = j.lane_id
where j.seq = any($1::bigint[])`

async function toJobsAhead(connection: Connection, places: readonly PlaceRow[]): Promise<JobAhead[]> {
  if (places.length === 0) return []
  const seqs = places.map(({ seq }) => seq)
  const rows = await connection.all<{ seq: number; job_id: string; type: string }>(SELECT_AHEAD, seqs)
  const bySeq = new Map(rows.map((row) => [row.seq, row]))
  return places.map(({ seq, priority }) => {
    const row = bySeq.get(seq)
    return { jobId: row?.job_id ?? '', type: row?.type ?? '', priority }
  })
}
