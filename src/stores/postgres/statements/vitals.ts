import { type ReadyLane, type RunningBody, type StoreVitals, VITALS_LISTED_MAX } from '../../../store/checks.ts'
import type { Connection } from '../connection.ts'
import { readSchemaState } from '../migrations/index.ts'

/**
 * All of it must read one snapshot, and so do not mind that it reads much: only a person asks for it. What the server keeps
 * on its disk is the server's concern, so there are no files to tell of.
 */
export async function readVitals(connection: Connection, now: number): Promise<StoreVitals> {
  return {
    schema: await readSchema(connection),
    latestInstants: await readLatestInstants(connection),
    readyLanes: await readReadyLanes(connection, now),
    dueDeliveries: await readDueDeliveries(connection, now),
    bodies: await readBodies(connection),
    cascades: await readCascades(connection),
    files: null,
  }
}

// The schema is the one in which this very table is.
const SELECT_SCHEMA_NAME = `
select n.nspname as name
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where c.oid = (select tableoid from pawl.migrations limit 1)`

async function readSchema(connection: Connection): Promise<StoreVitals['schema']> {
  const { name } = (await connection.get<{ name: string }>(SELECT_SCHEMA_NAME)) ?? { name: '' }
  const { version, latest } = await readSchemaState(connection, name, 'the database')
  return { version: version ?? 0, latest }
}

// Of what grows, the latest rows.
const SELECT_LATEST_INSTANTS = `
select 'a job was accepted' as what, max(created_at) as at
from (select created_at from pawl.jobs order by seq desc limit 1000) latest
union all
select 'a run started', max(started_at) from pawl.runs
union all
select 'a run ended', max(finished_at)
from (select finished_at from pawl.runs order by seq desc limit 1000) latest
union all
select 'an event was written', max(at)
from (select at from pawl.events order by seq desc limit 1000) latest
union all
select 'a node started', max(started_at)
from (select started_at from pawl.nodes order by node_seq desc limit 1000) latest
union all
select 'a schedule was planned', max(planned_at) from pawl.schedules where enabled
union all
select 'a slot was fired', max(last_slot_at) from pawl.schedules where enabled
union all
select 'a ticket was renewed', max(renewed_at) from pawl.reservations where status = 'WAITING'`

async function readLatestInstants(connection: Connection): Promise<StoreVitals['latestInstants']> {
  const rows = await connection.all<{ what: string; at: number | null }>(SELECT_LATEST_INSTANTS)
  return rows.flatMap(({ what, at }) => (at === null ? [] : [{ what, at }]))
}

// As many rows as bodies execute right now.
const SELECT_BODIES = `
select 'job' as kind, j.job_id as id, l.type, l.resources, n.node_id, r.started_at, p.body as policy,
  r.status is not null as is_ended
from pawl.occupancies o
join pawl.runs r on r.seq = o.seq
join pawl.jobs j on j.seq = o.seq
join pawl.lanes l on l.lane_id = o.lane_id
join pawl.policies p on p.policy_id = j.policy_id
join pawl.nodes n on n.node_seq = o.node_seq
union all
select 'direct', s.reservation_id, l.type, l.resources, n.node_id, s.started_at, p.body, s.status <> 'RUNNING'
from pawl.direct_occupancies d
join pawl.reservations s on s.reservation_seq = d.reservation_seq
join pawl.lanes l on l.lane_id = d.lane_id
join pawl.policies p on p.policy_id = s.policy_id
join pawl.nodes n on n.node_seq = d.node_seq
limit ${VITALS_LISTED_MAX}`

interface BodyRow {
  kind: RunningBody['kind']
  id: string
  type: string
  resources: string
  node_id: string
  started_at: number
  policy: string
  is_ended: boolean
}

async function readBodies(connection: Connection): Promise<RunningBody[]> {
  return (await connection.all<BodyRow>(SELECT_BODIES)).map((row) => ({
    kind: row.kind,
    id: row.id,
    type: row.type,
    resources: JSON.parse(row.resources) as string[],
    nodeId: row.node_id,
    startedAt: row.started_at,
    timeoutMs: timeoutOf(row.policy),
    isEnded: row.is_ended,
  }))
}

/** Whoever looks for damage must not fail because of it. */
function timeoutOf(policy: string): number | null {
  try {
    return (JSON.parse(policy) as { timeoutMs?: number | null }).timeoutMs ?? null
  } catch {
    return null
  }
}

// One row per lane, with the Job that has waited for longest.
const SELECT_READY_LANES = `
select l.type, l.resources, ready.jobs, ready.oldest[1] as since, j.job_id, (
    select max(greatest(coalesce(r.finished_at, 0), coalesce(p.cancelled_at, 0)))
    from pawl.dependencies d
    join pawl.jobs chain on chain.seq = d.parent_seq
    join pawl.jobs p on p.job_id = chain.job_id or p.chain_id = chain.job_id
    left join pawl.runs r on r.seq = p.seq
    where j.parents > 0 and d.child_seq = coalesce((select seq from pawl.jobs where job_id = j.chain_id), j.seq)
  ) as released_at
from (
  select q.lane_id, count(*) as jobs, min(array[greatest(q.run_at, q.created_at), q.seq]) as oldest
  from pawl.queue q
  where q.unmet_parents = 0 and not q.awaits_predecessor and q.run_at <= $1
  group by q.lane_id
) ready
join pawl.lanes l on l.lane_id = ready.lane_id
join pawl.jobs j on j.seq = ready.oldest[2]`

interface ReadyLaneRow {
  type: string
  resources: string
  jobs: number
  since: number
  job_id: string
  released_at: number | null
}

async function readReadyLanes(connection: Connection, now: number): Promise<ReadyLane[]> {
  return (await connection.all<ReadyLaneRow>(SELECT_READY_LANES, now)).map((row) => ({
    type: row.type,
    resources: JSON.parse(row.resources) as string[],
    count: row.jobs,
    jobId: row.job_id,
    // It may have been due for long, and released by its last parent only now.
    since: Math.max(row.since, row.released_at ?? 0),
  }))
}

const SELECT_CASCADES = 'select count(*) as count, min(created_at) as oldest_at from pawl.cascades'

async function readCascades(connection: Connection): Promise<StoreVitals['cascades']> {
  const row = await connection.get<{ count: number; oldest_at: number | null }>(SELECT_CASCADES)
  return row === undefined || row.oldest_at === null ? null : { count: row.count, oldestAt: row.oldest_at }
}

// While one is being sent, it is not due.
const FROM_DUE_DELIVERIES = `
from pawl.deliveries d
left join pawl.webhooks w on w.webhook_seq = d.webhook_seq
where d.status = 'PENDING' and d.next_attempt_at <= $1 and (d.webhook_seq is null or w.enabled)`

const COUNT_DUE_DELIVERIES = `select count(*) as count ${FROM_DUE_DELIVERIES}`

const SELECT_OLDEST_DUE_DELIVERY = `
select d.delivery_id, d.next_attempt_at
${FROM_DUE_DELIVERIES}
order by d.next_attempt_at
limit 1`

async function readDueDeliveries(connection: Connection, now: number): Promise<StoreVitals['dueDeliveries']> {
  type Oldest = { delivery_id: string; next_attempt_at: number }
  const oldest = await connection.get<Oldest>(SELECT_OLDEST_DUE_DELIVERY, now)
  if (oldest === undefined) return null
  const { count } = (await connection.get<{ count: number }>(COUNT_DUE_DELIVERIES, now)) ?? { count: 1 }
  return { count, oldestAt: oldest.next_attempt_at, deliveryId: oldest.delivery_id }
}
