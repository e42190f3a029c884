import type { Counts, EndedCounts, HourOfNode, QueueCounts, StatisticsStore } from '../../../store/statistics.ts'
import { type HourRow, NOTHING_COUNTED, toHour } from '../../shared/hour-rows.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

// Reads all rows: no more than hours are kept apart, and nodes within the latest of them.
const SELECT_TOTALS = `
select coalesce(sum(executed), 0) as executed, coalesce(sum(completed), 0) as completed, coalesce(sum(failed), 0) as failed,
  coalesce(sum(skipped), 0) as skipped, coalesce(sum(cancelled), 0) as cancelled
from pawl.statistics`

export async function readTotals(connection: Connection): Promise<Counts> {
  return (await connection.get<Counts>(SELECT_TOTALS)) ?? NOTHING_COUNTED
}

const SELECT_HOURS = `
select s.hour_at, n.node_id, s.executed, s.completed, s.failed, s.skipped, s.cancelled, s.run_ms, s.wait_ms
from pawl.statistics s
left join pawl.nodes n on n.node_seq = s.node_seq
where s.hour_at >= $1
order by s.hour_at, s.node_seq
limit $2`

export async function listHours(connection: Connection, from: number, limit: number): Promise<HourOfNode[]> {
  return (await connection.all<HourRow>(SELECT_HOURS, from, limit)).map(toHour)
}

// As many rows as will be added up. Locked in the order in which counting transactions lock them.
const LOCK_HOURS = `
select hour_at
from pawl.statistics
where hour_at < $1
order by hour_at, node_seq
for update`

const ADD_UP = `
on conflict (hour_at, node_seq) do update
set executed = s.executed + excluded.executed,
  completed = s.completed + excluded.completed,
  failed = s.failed + excluded.failed,
  skipped = s.skipped + excluded.skipped,
  cancelled = s.cancelled + excluded.cancelled,
  run_ms = s.run_ms + excluded.run_ms,
  wait_ms = s.wait_ms + excluded.wait_ms`

// As many rows as hours of which a node still had a row of its own. What is added up is what was removed, so nothing that
// a node counts meanwhile is lost: it comes before, or makes a new row.
const FOLD_NODES = `
with folded as (
  delete from pawl.statistics
  where hour_at < $1 and node_seq <> 0
  returning *
)
insert into pawl.statistics as s (
  hour_at, node_seq, executed, completed, failed, skipped, cancelled, run_ms, wait_ms
)
select hour_at, 0, sum(executed), sum(completed), sum(failed), sum(skipped), sum(cancelled), sum(run_ms), sum(wait_ms)
from folded
group by hour_at
order by hour_at
${ADD_UP}`

// 1 row, or none where nothing is to be added up.
const FOLD_HOURS = `
with folded as (
  delete from pawl.statistics
  where hour_at < $1 and hour_at > 0 and node_seq = 0
  returning *
)
insert into pawl.statistics as s (
  hour_at, node_seq, executed, completed, failed, skipped, cancelled, run_ms, wait_ms
)
select 0, 0, sum(executed), sum(completed), sum(failed), sum(skipped), sum(cancelled), sum(run_ms), sum(wait_ms)
from folded
having count(*) > 0
${ADD_UP}`

export async function foldHours(
  { connection }: Transaction,
  { nodesBefore, hoursBefore }: Parameters<StatisticsStore['foldHours']>[0],
): Promise<void> {
  // An hour is added to the others only when it is one row.
  const before = Math.max(nodesBefore, hoursBefore)
  await connection.all(LOCK_HOURS, before)
  await connection.run(FOLD_NODES, before)
  await connection.run(FOLD_HOURS, hoursBefore)
}

const COUNT_QUEUED = 'select count(*) as n from (select 1 from pawl.queue limit $1) counted'

// In an order that only the index of the ready ones has: a few of them must not be looked for among a million that wait.
const COUNT_READY = `
select count(*) as n
from (
  select 1
  from pawl.queue
  where ready
  order by lane_id, priority desc, position, created_at, seq
  limit $1
) counted`

// They become ready with the next claim.
const COUNT_DUE = `
select count(*) as n
from (
  select 1
  from pawl.queue
  where not ready and not awaits_predecessor and unmet_parents = 0 and run_at <= $1
  order by run_at
  limit $2
) counted`

// Looks at as many rows as bodies execute right now.
const COUNT_RUNNING = `
select count(*) as n
from pawl.occupancies o
cross join lateral (
  select 1
  from pawl.runs r
  where r.seq = o.seq and r.status is null
  limit 1
) running`

const COUNT_WAITING_TICKETS = `
select count(*) as n
from (select 1 from pawl.reservations where status = 'WAITING' limit $1) counted`

const COUNT_RUNNING_DIRECTS = `
select count(*) as n
from (select 1 from pawl.reservations where status = 'RUNNING' limit $1) counted`

// One seek per lane.
const SELECT_OLDEST_HEAD = `
select min(head.since) as since
from pawl.lanes l
cross join lateral (
  select greatest(q.run_at, q.created_at) as since
  from pawl.queue q
  where q.ready and q.lane_id = l.lane_id
  order by q.priority desc, q.position, q.created_at
  limit 1
) head`

const SELECT_OLDEST_DUE = `
select run_at as since
from pawl.queue
where not ready and not awaits_predecessor and unmet_parents = 0 and run_at <= $1
order by run_at
limit 1`

export async function countQueue(connection: Connection, countMax: number, now: number): Promise<QueueCounts> {
  const count = async (sql: string, ...values: number[]) =>
    (await connection.get<{ n: number }>(sql, ...values))?.n ?? 0
  const since = async (sql: string, ...values: number[]) =>
    (await connection.get<{ since: number | null }>(sql, ...values))?.since
  const ready = await count(COUNT_READY, countMax)
  const oldest = [await since(SELECT_OLDEST_HEAD), await since(SELECT_OLDEST_DUE, now)].filter((at) => at != null)
  return {
    queued: await count(COUNT_QUEUED, countMax),
    ready: ready + (await count(COUNT_DUE, now, countMax - ready)),
    running: await count(COUNT_RUNNING),
    oldestReadyAt: oldest.length === 0 ? null : Math.min(...oldest),
    waitingTickets: await count(COUNT_WAITING_TICKETS, countMax),
    runningDirects: await count(COUNT_RUNNING_DIRECTS, countMax),
  }
}

// Newest first, past the few that execute.
const COUNT_FINISHED = `
select count(*) as n
from (select 1 from pawl.runs where seq > 0 and status is not null order by seq desc limit $1) as ended`

const COUNT_CANCELLED = `
select count(*) as n
from (select 1 from pawl.jobs where seq > 0 and cancelled_at is not null order by seq desc limit $1) as ended`

export async function countEnded(connection: Connection, countMax: number): Promise<EndedCounts> {
  const count = async (sql: string) => (await connection.get<{ n: number }>(sql, countMax))?.n ?? 0
  return { finished: await count(COUNT_FINISHED), cancelled: await count(COUNT_CANCELLED) }
}
