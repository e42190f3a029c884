import { type ReadyLane, type RunningBody, type StoreVitals, VITALS_LISTED_MAX } from '../../../store/checks.ts'
import type { Connection, SqlRow } from '../connection.ts'
import { readSchemaState } from '../migrations/index.ts'
import type { Steps } from './checks/probe.ts'

/** All of it must read one snapshot, and so do not mind that it reads much: only a person asks for it. */
export function* readVitals(connection: Connection, now: number): Steps<Omit<StoreVitals, 'files'>> {
  const { version, latest } = readSchemaState(connection, 'the database')
  const latestInstants = readLatestInstants(connection)
  yield
  const readyLanes = readReadyLanes(connection, now)
  yield
  const dueDeliveries = readDueDeliveries(connection, now)
  yield
  const bodies = readBodies(connection)
  const cascades = readCascades(connection)
  return { schema: { version: version ?? 0, latest }, latestInstants, bodies, readyLanes, cascades, dueDeliveries }
}

// Of what grows, the latest rows.
const SELECT_LATEST_INSTANTS = `
select 'a job was accepted' as what, max(created_at) as at
from (select created_at from pawl_jobs order by seq desc limit 1000)
union all
select 'a run started', max(started_at) from pawl_runs
union all
select 'a run ended', max(finished_at)
from (select finished_at from pawl_runs order by seq desc limit 1000)
union all
select 'an event was written', max(at)
from (select at from pawl_events order by seq desc limit 1000)
union all
select 'a node started', max(started_at)
from (select started_at from pawl_nodes order by node_seq desc limit 1000)
union all
select 'a schedule was planned', max(planned_at) from pawl_schedules where enabled = 1
union all
select 'a slot was fired', max(last_slot_at) from pawl_schedules where enabled = 1
union all
select 'a ticket was renewed', max(renewed_at) from pawl_reservations where status = 'WAITING'`

function readLatestInstants(connection: Connection): StoreVitals['latestInstants'] {
  const rows = connection.all<{ what: string; at: number | null }>(SELECT_LATEST_INSTANTS)
  return rows.flatMap(({ what, at }) => (at === null ? [] : [{ what, at }]))
}

// Whoever looks for damage must not fail because of it.
const TIMEOUT = "case when json_valid(p.body) then p.body ->> '$.timeoutMs' end"

// As many rows as bodies execute right now.
const SELECT_BODIES = `
select 'job' as kind, j.job_id as id, l.type, l.resources, n.node_id, r.started_at,
  ${TIMEOUT} as timeout_ms, r.status is not null as is_ended
from pawl_occupancies o
cross join pawl_runs r on r.seq = o.seq
cross join pawl_jobs j on j.seq = o.seq
cross join pawl_lanes l on l.lane_id = o.lane_id
cross join pawl_policies p on p.policy_id = j.policy_id
cross join pawl_nodes n on n.node_seq = o.node_seq
union all
select 'direct', s.reservation_id, l.type, l.resources, n.node_id, s.started_at, ${TIMEOUT}, s.status <> 'RUNNING'
from pawl_direct_occupancies d
cross join pawl_reservations s on s.reservation_seq = d.reservation_seq
cross join pawl_lanes l on l.lane_id = d.lane_id
cross join pawl_policies p on p.policy_id = s.policy_id
cross join pawl_nodes n on n.node_seq = d.node_seq
limit ${VITALS_LISTED_MAX}`

interface BodyRow extends SqlRow {
  kind: RunningBody['kind']
  id: string
  type: string
  resources: string
  node_id: string
  started_at: number
  timeout_ms: number | null
  is_ended: number
}

function readBodies(connection: Connection): RunningBody[] {
  return connection.all<BodyRow>(SELECT_BODIES).map((row) => ({
    kind: row.kind,
    id: row.id,
    type: row.type,
    resources: JSON.parse(row.resources) as string[],
    nodeId: row.node_id,
    startedAt: row.started_at,
    timeoutMs: row.timeout_ms,
    isEnded: row.is_ended === 1,
  }))
}

// One row per lane; its `seq` is that of the Job for which the minimum holds.
const SELECT_READY_LANES = `
select q.lane_id, count(*) as jobs, min(max(q.run_at, q.created_at)) as since, q.seq
from pawl_queue q
where q.unmet_parents = 0 and q.awaits_predecessor = 0 and q.run_at <= ?
group by q.lane_id`

const SELECT_READY_JOB = `
select j.job_id, l.type, l.resources, (
    select max(max(coalesce(r.finished_at, 0), coalesce(p.cancelled_at, 0)))
    from pawl_dependencies d
    cross join pawl_jobs chain on chain.seq = d.parent_seq
    cross join pawl_jobs p on p.job_id = chain.job_id or p.chain_id = chain.job_id
    left join pawl_runs r on r.seq = p.seq
    where j.parents > 0 and d.child_seq = coalesce((select seq from pawl_jobs where job_id = j.chain_id), j.seq)
  ) as released_at
from pawl_jobs j
cross join pawl_lanes l on l.lane_id = j.lane_id
where j.seq = ?`

interface ReadyJobRow extends SqlRow {
  job_id: string
  type: string
  resources: string
  released_at: number | null
}

function readReadyLanes(connection: Connection, now: number): ReadyLane[] {
  const lanes = connection.all<{ jobs: number; since: number; seq: number }>(SELECT_READY_LANES, now)
  return lanes.flatMap(({ jobs, since, seq }) => {
    const row = connection.get<ReadyJobRow>(SELECT_READY_JOB, seq)
    if (row === undefined) return []
    return {
      type: row.type,
      resources: JSON.parse(row.resources) as string[],
      count: jobs,
      jobId: row.job_id,
      // It may have been due for long, and released by its last parent only now.
      since: Math.max(since, row.released_at ?? 0),
    }
  })
}

const SELECT_CASCADES = 'select count(*) as count, min(created_at) as oldest_at from pawl_cascades'

function readCascades(connection: Connection): StoreVitals['cascades'] {
  const row = connection.get<{ count: number; oldest_at: number | null }>(SELECT_CASCADES)
  return row === undefined || row.oldest_at === null ? null : { count: row.count, oldestAt: row.oldest_at }
}

// Its `delivery_id` is that of the oldest. While one is being sent, it is not due.
const SELECT_DUE_DELIVERIES = `
select count(*) as count, min(d.next_attempt_at) as oldest_at, d.delivery_id
from pawl_deliveries d
left join pawl_webhooks w on w.webhook_seq = d.webhook_seq
where d.status = 'PENDING' and d.next_attempt_at <= ? and (d.webhook_seq is null or w.enabled = 1)`

function readDueDeliveries(connection: Connection, now: number): StoreVitals['dueDeliveries'] {
  const row = connection.get<{ count: number; oldest_at: number | null; delivery_id: string }>(
    SELECT_DUE_DELIVERIES,
    now,
  )
  if (row === undefined || row.oldest_at === null) return null
  return { count: row.count, oldestAt: row.oldest_at, deliveryId: row.delivery_id }
}
