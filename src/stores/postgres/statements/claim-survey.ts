import type { ClaimRequest } from '../../../store/runs.ts'
import { PermitCounts } from '../../shared/permit-counts.ts'
import type { Connection } from '../connection.ts'
import type { Lane } from '../transaction.ts'
import { isDue } from './due.ts'
import { LIMITS_OF_LANE, LIMITS_STAY } from './limits.ts'
import { type LimitLeft, PERMITS_LEFT } from './permits.ts'
import type { WaitingLane } from './waiting-line.ts'

/**
 * The lanes that have a ready Job: one seek for each, however many Jobs there are. From behind, because there the Jobs are that
 * wait: at the head of a lane stand the dead rows of those that have started, as long as an old snapshot keeps them.
 */
export const READY_LANES = `
ready_lane (lane_id) as (
  (
    select q.lane_id
    from pawl.queue q
    where q.ready
    order by q.lane_id desc
    limit 1
  )
  union all
  select next.lane_id
  from ready_lane before
  cross join lateral (
    select q.lane_id
    from pawl.queue q
    where q.ready and q.lane_id < before.lane_id
    order by q.lane_id desc
    limit 1
  ) next
)`

/** The lanes that have a waiting ticket, with the oldest of each. Mostly there is none, and then the index is empty. */
const WAITING_LANES = `
waiting_lane (lane_id, reservation_seq, renewed_at) as (
  (
    select s.lane_id, s.reservation_seq, s.renewed_at
    from pawl.reservations s
    where s.status = 'WAITING'
    order by s.lane_id, s.reservation_seq
    limit 1
  )
  union all
  select next.lane_id, next.reservation_seq, next.renewed_at
  from waiting_lane before
  cross join lateral (
    select s.lane_id, s.reservation_seq, s.renewed_at
    from pawl.reservations s
    where s.status = 'WAITING' and s.lane_id > before.lane_id
    order by s.lane_id, s.reservation_seq
    limit 1
  ) next
)`

const SURVEYED = `
waiting as materialized (
  select l.lane_id, l.type, l.resources, w.reservation_seq, w.renewed_at
  from waiting_lane w
  join pawl.lanes l on l.lane_id = w.lane_id
),
limit_name as materialized (
  select distinct taken.name, taken.is_resource
  from (
    select type, resources from ready
    union
    select type, resources from waiting
  ) l
  cross join lateral (${LIMITS_OF_LANE}) taken
),
limit_left as (${PERMITS_LEFT})`

const SURVEYED_COLUMNS = `
  coalesce((select json_agg(ready) from ready), '[]')::text as ready,
  coalesce((select json_agg(waiting) from waiting), '[]')::text as waiting,
  coalesce((select json_agg(limit_left) from limit_left), '[]')::text as limits`

// 1 row. `node_seq` is null for a node that has left, or was declared dead; until the transaction ends it is not.
const SURVEY = `
with recursive ${READY_LANES},
${WAITING_LANES},
node as materialized (
  select node_seq
  from pawl.nodes
  where node_id = $1 and ended_at is null
  for key share
),
ready as materialized (
  select l.lane_id, l.type, l.resources
  from ready_lane r
  join pawl.lanes l on l.lane_id = r.lane_id
  where l.type = any($2::text[])
),
${SURVEYED}
select (select node_seq from node) as node_seq, ${LIMITS_STAY} as limits_stay, ${isDue('$3')} as is_due,
${SURVEYED_COLUMNS}`

// 1 row: the same for one lane that has no Job.
const SURVEY_FOR_TICKET = `
with recursive ${WAITING_LANES},
ready as materialized (
  select l.lane_id, l.type, l.resources
  from pawl.lanes l
  where l.lane_id = $1
),
${SURVEYED}
select null::integer as node_seq, false as is_due,
${SURVEYED_COLUMNS}`

interface SurveyRow {
  node_seq: number | null
  is_due: boolean
  ready: string
  waiting: string
  limits: string
}

interface LaneRow {
  lane_id: number
  type: string
  resources: string
}

/** What a claim must know before it decides. Nothing of it is locked: what is decided on is locked then, or lost. */
export interface Survey {
  readonly nodeSeq: number | null
  /** A delayed Job has become due, and is not among the ready ones yet. */
  readonly isDue: boolean
  /** Lanes with a ready Job of a type that may be claimed. */
  readonly ready: readonly Lane[]
  readonly waiting: readonly WaitingLane[]
  /** The limits that these lanes take. */
  readonly limits: ReadonlyMap<string, LimitLeft>
}

export async function surveyQueue(connection: Connection, { nodeId, types, now }: ClaimRequest): Promise<Survey> {
  const claimable = [...types.keys()].filter((type) => (types.get(type) ?? 0) > 0)
  return toSurvey((await connection.get<SurveyRow>(SURVEY, nodeId, claimable, now)) as SurveyRow)
}

export async function surveyForTicket(connection: Connection, { laneId }: Lane): Promise<Survey> {
  return toSurvey((await connection.get<SurveyRow>(SURVEY_FOR_TICKET, laneId)) as SurveyRow)
}

function toSurvey(row: SurveyRow): Survey {
  const waiting = JSON.parse(row.waiting) as (LaneRow & { reservation_seq: number; renewed_at: number })[]
  const limits = JSON.parse(row.limits) as LimitLeft[]
  return {
    nodeSeq: row.node_seq,
    isDue: row.is_due,
    ready: (JSON.parse(row.ready) as LaneRow[]).map(toLane),
    waiting: waiting.map((one) => ({
      lane: toLane(one),
      oldest: { seq: one.reservation_seq, renewedAt: one.renewed_at },
    })),
    limits: new Map(limits.map((limit) => [limit.name, limit])),
  }
}

function toLane({ lane_id: laneId, type, resources }: LaneRow): Lane {
  return { laneId, type, resources: JSON.parse(resources) as string[] }
}

/** `lost`: permits that look free and are not, because somebody has locked them. */
export function countPermits({ limits }: Survey, lost?: ReadonlyMap<string, number>): PermitCounts {
  return new PermitCounts(new Map([...limits].map(([name, { left }]) => [name, left - (lost?.get(name) ?? 0)])))
}
