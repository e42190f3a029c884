import type {
  Counts,
  EndedCounts,
  HourOfNode,
  MinuteCounts,
  QueueCounts,
  StatisticsStore,
} from '../../../store/statistics.ts'
import {
  firstHourFrom,
  HOUR_MS,
  type HourRow,
  type MinuteRow,
  NOTHING_COUNTED,
  toHour,
  toMinute,
} from '../../shared/hour-rows.ts'
import type { Connection, SqlRow } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { ADD_UP } from './tallies.ts'

const COLUMNS = 'began_at, node_seq, executed, completed, failed, skipped, cancelled, run_ms, wait_ms'

const SUMS = `sum(s.executed) as executed, sum(s.completed) as completed, sum(s.failed) as failed, sum(s.skipped) as skipped,
  sum(s.cancelled) as cancelled, sum(s.run_ms) as run_ms, sum(s.wait_ms) as wait_ms`

// Reads all rows: no more than hours are kept apart, nodes within the latest of them, and minutes within the last few.
const SELECT_TOTALS = `
select coalesce(sum(executed), 0) as executed, coalesce(sum(completed), 0) as completed, coalesce(sum(failed), 0) as failed,
  coalesce(sum(skipped), 0) as skipped, coalesce(sum(cancelled), 0) as cancelled
from pawl_statistics`

export function readTotals(connection: Connection): Counts {
  return connection.get<SqlRow & Counts>(SELECT_TOTALS) ?? NOTHING_COUNTED
}

// Minutes that were not added up yet come as their hour.
const SELECT_HOURS = `
select s.began_at - s.began_at % ${HOUR_MS} as hour_at, n.node_id, ${SUMS}
from pawl_statistics s
left join pawl_nodes n on n.node_seq = s.node_seq
where s.began_at >= ?
group by 1, s.node_seq
order by 1, s.node_seq
limit ?`

export function listHours(connection: Connection, from: number, limit: number): HourOfNode[] {
  return connection.all<HourRow>(SELECT_HOURS, firstHourFrom(from), limit).map(toHour)
}

const SELECT_MINUTES = `
select s.began_at as minute_at, ${SUMS}
from pawl_statistics s
where s.began_at >= ? and s.began_at < ?
group by s.began_at
order by s.began_at`

export function listMinutes(connection: Connection, from: number, before: number): MinuteCounts[] {
  return connection.all<MinuteRow>(SELECT_MINUTES, from, before).map(toMinute)
}

/** The row of an hour begins with it, and so does that of its first minute: there the others are added. */
const IS_LATER_MINUTE = `s.began_at % ${HOUR_MS} <> 0`

// The minute in which a page ends. Null: there is none.
const SELECT_PAGE_END = `
select max(began_at) as last_at
from (select s.began_at from pawl_statistics s where s.began_at < ? and ${IS_LATER_MINUTE} order by s.began_at limit ?)`

// As many rows as hours of nodes are in the page.
const FOLD_MINUTES = `
insert into pawl_statistics (${COLUMNS})
select s.began_at - s.began_at % ${HOUR_MS}, s.node_seq, ${SUMS}
from pawl_statistics s
where s.began_at <= ? and ${IS_LATER_MINUTE}
group by 1, 2
${ADD_UP}`

// As many rows as were added up.
const DELETE_FOLDED_MINUTES = `delete from pawl_statistics as s where s.began_at <= ? and ${IS_LATER_MINUTE}`

export function foldMinutes(
  { connection }: Transaction,
  { before, limit }: Parameters<StatisticsStore['foldMinutes']>[0],
): number {
  const lastAt = connection.get<{ last_at: number | null }>(SELECT_PAGE_END, before, limit)?.last_at ?? null
  if (lastAt === null) return 0
  connection.run(FOLD_MINUTES, lastAt)
  return connection.run(DELETE_FOLDED_MINUTES, lastAt)
}

// As many rows as hours of which a node still had a row of its own, or a minute.
const FOLD_NODES = `
insert into pawl_statistics (${COLUMNS})
select s.began_at - s.began_at % ${HOUR_MS}, 0, ${SUMS}
from pawl_statistics s
where s.began_at < ? and (s.node_seq <> 0 or ${IS_LATER_MINUTE})
group by 1
${ADD_UP}`

const DELETE_FOLDED_NODES = `
delete from pawl_statistics as s
where s.began_at < ? and (s.node_seq <> 0 or ${IS_LATER_MINUTE})`

// 1 row, of which the sums are null where nothing is to be added up; then it is left out.
const FOLD_HOURS = `
insert into pawl_statistics (${COLUMNS})
select 0, 0, ${SUMS}
from pawl_statistics s
where s.began_at < ? and s.began_at > 0 and s.node_seq = 0
having count(*) > 0
${ADD_UP}`

const DELETE_FOLDED_HOURS = 'delete from pawl_statistics where began_at < ? and began_at > 0 and node_seq = 0'

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
