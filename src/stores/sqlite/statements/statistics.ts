import type { Counts, EndedCounts, HourOfNode, QueueCounts, StatisticsStore } from '../../../store/statistics.ts'
import { type HourRow, NOTHING_COUNTED, toHour } from '../../shared/hour-rows.ts'
import type { Connection, SqlRow } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { ADD_UP } from './tallies.ts'

// Reads all rows: no more than hours are kept apart, and nodes within the latest of them.
const SELECT_TOTALS = `
select coalesce(sum(executed), 0) as executed, coalesce(sum(completed), 0) as completed, coalesce(sum(failed), 0) as failed,
  coalesce(sum(skipped), 0) as skipped, coalesce(sum(cancelled), 0) as cancelled
from pawl_statistics`

export function readTotals(connection: Connection): Counts {
  return connection.get<SqlRow & Counts>(SELECT_TOTALS) ?? NOTHING_COUNTED
}

const SELECT_HOURS = `
select s.hour_at, n.node_id, s.executed, s.completed, s.failed, s.skipped, s.cancelled, s.run_ms, s.wait_ms
from pawl_statistics s
left join pawl_nodes n on n.node_seq = s.node_seq
where s.hour_at >= ?
order by s.hour_at, s.node_seq
limit ?`

export function listHours(connection: Connection, from: number, limit: number): HourOfNode[] {
  return connection.all<HourRow>(SELECT_HOURS, from, limit).map(toHour)
}

// As many rows as hours of which a node still had a row of its own.
const FOLD_NODES = `
insert into pawl_statistics (hour_at, node_seq, executed, completed, failed, skipped, cancelled, run_ms, wait_ms)
select hour_at, 0, sum(executed), sum(completed), sum(failed), sum(skipped), sum(cancelled), sum(run_ms), sum(wait_ms)
from pawl_statistics
where hour_at < ? and node_seq <> 0
group by hour_at
${ADD_UP}`

const DELETE_FOLDED_NODES = 'delete from pawl_statistics where hour_at < ? and node_seq <> 0'

// 1 row, of which the sums are null where nothing is to be added up; then it is left out.
const FOLD_HOURS = `
insert into pawl_statistics (hour_at, node_seq, executed, completed, failed, skipped, cancelled, run_ms, wait_ms)
select 0, 0, sum(executed), sum(completed), sum(failed), sum(skipped), sum(cancelled), sum(run_ms), sum(wait_ms)
from pawl_statistics
where hour_at < ? and hour_at > 0 and node_seq = 0
having count(*) > 0
${ADD_UP}`

const DELETE_FOLDED_HOURS = 'delete from pawl_statistics where hour_at < ? and hour_at > 0 and node_seq = 0'

export function foldHours(
  { connection }: Transaction,
  { nodesBefore, hoursBefore }: Parameters<StatisticsStore['foldHours']>[0],
): void {
  // An hour is added to the others only when it is one row.
  const before = Math.max(nodesBefore, hoursBefore)
  connection.run(FOLD_NODES, before)
  connection.run(DELETE_FOLDED_NODES, before)
  connection.run(FOLD_HOURS, hoursBefore)
  connection.run(DELETE_FOLDED_HOURS, hoursBefore)
}

const COUNT_QUEUED = 'select count(*) as n from (select 1 from pawl_queue limit ?)'

const COUNT_READY = 'select count(*) as n from (select 1 from pawl_queue where ready = 1 limit ?)'

// They become ready with the next claim.
const COUNT_DUE = `
select count(*) as n
from (
  select 1
  from pawl_queue
  where ready = 0 and awaits_predecessor = 0 and unmet_parents = 0 and run_at <= ?
  limit ?
)`

// Looks at as many rows as bodies execute right now: a cross join keeps the order of the tables.
const COUNT_RUNNING = `
select count(*) as n
from pawl_occupancies o
cross join pawl_runs r on r.seq = o.seq
where r.status is null`

const COUNT_WAITING_TICKETS = `
select count(*) as n
from (select 1 from pawl_reservations where status = 'WAITING' limit ?)`

const COUNT_RUNNING_DIRECTS = `
select count(*) as n
from (select 1 from pawl_reservations where status = 'RUNNING' limit ?)`

// One seek per lane.
const SELECT_OLDEST_HEAD = `
select min((
  select max(q.run_at, q.created_at)
  from pawl_queue q
  where q.ready = 1 and q.lane_id = l.lane_id
  order by q.priority desc, q.position, q.created_at
  limit 1
)) as since
from pawl_lanes l`

const SELECT_OLDEST_DUE = `
select min(run_at) as since
from pawl_queue
where ready = 0 and awaits_predecessor = 0 and unmet_parents = 0 and run_at <= ?`

export function countQueue(connection: Connection, countMax: number, now: number): QueueCounts {
  const count = (sql: string, ...values: number[]) => connection.get<{ n: number }>(sql, ...values)?.n ?? 0
  const since = (sql: string, ...values: number[]) => connection.get<{ since: number | null }>(sql, ...values)?.since
  const ready = count(COUNT_READY, countMax)
  const oldest = [since(SELECT_OLDEST_HEAD), since(SELECT_OLDEST_DUE, now)].filter((at) => at != null)
  return {
    queued: count(COUNT_QUEUED, countMax),
    ready: ready + count(COUNT_DUE, now, countMax - ready),
    running: count(COUNT_RUNNING),
    oldestReadyAt: oldest.length === 0 ? null : Math.min(...oldest),
    waitingTickets: count(COUNT_WAITING_TICKETS, countMax),
    runningDirects: count(COUNT_RUNNING_DIRECTS, countMax),
  }
}

// Newest first, past the few that execute.
const COUNT_FINISHED = `
select count(*) as n
from (select 1 from pawl_runs where seq > 0 and status is not null order by seq desc limit ?) as ended`

const COUNT_CANCELLED = `
select count(*) as n
from (select 1 from pawl_jobs where seq > 0 and cancelled_at is not null order by seq desc limit ?) as ended`

export function countEnded(connection: Connection, countMax: number): EndedCounts {
  const count = (sql: string) => connection.get<{ n: number }>(sql, countMax)?.n ?? 0
  return { finished: count(COUNT_FINISHED), cancelled: count(COUNT_CANCELLED) }
}
