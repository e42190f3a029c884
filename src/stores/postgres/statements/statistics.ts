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
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { ADD_UP } from './tallies.ts'

const COLUMNS = 'began_at, node_seq, executed, completed, failed, skipped, cancelled, run_ms, wait_ms'

const SUMS = `sum(s.executed) as executed, sum(s.completed) as completed, sum(s.failed) as failed, sum(s.skipped) as skipped,
  sum(s.cancelled) as cancelled, sum(s.run_ms) as run_ms, sum(s.wait_ms) as wait_ms`

// Reads all rows: no more than hours are kept apart, nodes within the latest of them, and minutes within the last few.
const SELECT_TOTALS = `
select coalesce(sum(executed), 0) as executed, coalesce(sum(completed), 0) as completed, coalesce(sum(failed), 0) as failed,
  coalesce(sum(skipped), 0) as skipped, coalesce(sum(cancelled), 0) as cancelled
from pawl.statistics`

export async function readTotals(connection: Connection): Promise<Counts> {
  return (await connection.get<Counts>(SELECT_TOTALS)) ?? NOTHING_COUNTED
}

// Minutes that were not added up yet come as their hour.
const SELECT_HOURS = `
select s.began_at - s.began_at % ${HOUR_MS} as hour_at, n.node_id, ${SUMS}
from pawl.statistics s
left join pawl.nodes n on n.node_seq = s.node_seq
where s.began_at >= $1
group by 1, s.node_seq, n.node_id
order by 1, s.node_seq
limit $2`

export async function listHours(connection: Connection, from: number, limit: number): Promise<HourOfNode[]> {
  return (await connection.all<HourRow>(SELECT_HOURS, firstHourFrom(from), limit)).map(toHour)
}

const SELECT_MINUTES = `
select s.began_at as minute_at, ${SUMS}
from pawl.statistics s
where s.began_at >= $1 and s.began_at < $2
group by s.began_at
order by s.began_at`

export async function listMinutes(connection: Connection, from: number, before: number): Promise<MinuteCounts[]> {
  return (await connection.all<MinuteRow>(SELECT_MINUTES, from, before)).map(toMinute)
}

/** The row of an hour begins with it, and so does that of its first minute: there the others are added. */
const IS_LATER_MINUTE = `s.began_at % ${HOUR_MS} <> 0`

// The minutes in which a page begins and ends. Null: there are none.
const SELECT_PAGE = `
select min(page.began_at) as first_at, max(page.began_at) as last_at
from (
  select s.began_at
  from pawl.statistics s
  where s.began_at < $1 and ${IS_LATER_MINUTE}
  order by s.began_at
  limit $2
) page`

// As many rows as the page has, and the hours to which they belong. Locked in the order in which counting transactions lock them.
const LOCK_PAGE = `
select began_at
from pawl.statistics
where began_at between $1 and $2
order by began_at, node_seq
for update`

// As many rows as were added up. That is what was removed, so nothing that a node counts meanwhile is lost: it comes before, or
// makes a new row.
const FOLD_MINUTES = `
with folded as (
  delete from pawl.statistics s
  where s.began_at <= $1 and ${IS_LATER_MINUTE}
  returning *
),
added as (
  insert into pawl.statistics as kept (${COLUMNS})
  select s.began_at - s.began_at % ${HOUR_MS}, s.node_seq, ${SUMS}
  from folded s
  group by 1, 2
  order by 1, 2
  ${ADD_UP}
)
select count(*) as folded
from folded`

export async function foldMinutes(
  { connection }: Transaction,
  { before, limit }: Parameters<StatisticsStore['foldMinutes']>[0],
): Promise<number> {
  const page = await connection.get<{ first_at: number | null; last_at: number | null }>(SELECT_PAGE, before, limit)
  if (page === undefined || page.first_at === null || page.last_at === null) return 0
  await connection.all(LOCK_PAGE, page.first_at - (page.first_at % HOUR_MS), page.last_at)
  return (await connection.get<{ folded: number }>(FOLD_MINUTES, page.last_at))?.folded ?? 0
}

// As many rows as will be added up. Locked in the order in which counting transactions lock them.
const LOCK_HOURS = `
select began_at
from pawl.statistics
where began_at < $1
order by began_at, node_seq
for update`

// As many rows as hours of which a node still had a row of its own, or a minute. What is added up is what was removed, as above.
const FOLD_NODES = `
with folded as (
  delete from pawl.statistics s
  where s.began_at < $1 and (s.node_seq <> 0 or ${IS_LATER_MINUTE})
  returning *
)
insert into pawl.statistics as kept (${COLUMNS})
select s.began_at - s.began_at % ${HOUR_MS}, 0, ${SUMS}
from folded s
group by 1
order by 1
${ADD_UP}`

// 1 row, or none where nothing is to be added up.
const FOLD_HOURS = `
with folded as (
  delete from pawl.statistics
  where began_at < $1 and began_at > 0 and node_seq = 0
  returning *
)
insert into pawl.statistics as kept (${COLUMNS})
select 0, 0, ${SUMS}
from folded s
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
