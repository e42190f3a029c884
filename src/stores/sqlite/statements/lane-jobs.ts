import type { Spot } from '../../shared/list-spots.ts'
import type { Connection, SqlValue } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { followedBy, type Walk, walkAlong } from './list-walks.ts'

/**
 * Jobs are entered in the list of their lane when so many are missing there. So a commit that accepts one Job writes a page less,
 * and whoever reads the list looks at no more Jobs than these besides.
 */
const ENTERED_AT_ONCE = 512

// As many rows as Jobs were accepted since the last time. One that is there already is damage, for which no Job may be refused.
const ENTER = `
insert or ignore into pawl_lane_jobs (lane_id, seq)
select lane_id, seq
from pawl_jobs
where seq > ? and seq <= ?`

const REMEMBER_LAST = `
insert into pawl_counters (name, value)
values ('last_lane_job', ?)
on conflict (name) do update set value = excluded.value`

/**
 * Part of every transaction that accepts Jobs. The list goes up to a Job that was written, never to a number that was only taken: a
 * later Job may get that one, and would be missing.
 */
export function enterLaneJobs({ connection, lastAccepted, lastLaneJob }: Transaction): void {
  if (lastAccepted === null || lastLaneJob === null || lastAccepted - lastLaneJob < ENTERED_AT_ONCE) return
  connection.run(ENTER, lastLaneJob, lastAccepted)
  connection.run(REMEMBER_LAST, lastAccepted)
}

const SELECT_LAST_ENTERED = "select value from pawl_counters where name = 'last_lane_job'"

const SELECT_ENTERED = `
select seq
from pawl_lane_jobs
where lane_id = ? and seq < ?
order by seq desc
limit ? offset ?`

// Looks at fewer Jobs than are entered at once.
const SELECT_NOT_ENTERED = `
select seq
from pawl_jobs
where seq > ? and seq < ? and lane_id = ?
order by seq desc
limit ? offset ?`

/**
 * Jobs of a lane, newest first. Where the list ended is read once: what another process enters in it meanwhile would else be met
 * twice, or not at all.
 */
export function walkLane(connection: Connection, laneId: number): Walk {
  const last = connection.get<{ value: number }>(SELECT_LAST_ENTERED)?.value ?? 0
  const read = (sql: string, ...values: SqlValue[]) =>
    connection.all<{ seq: number }>(sql, ...values).map(({ seq }): Spot => [seq])
  const notEntered = walkAlong(([before = 0], rows, offset) =>
    read(SELECT_NOT_ENTERED, last, before, laneId, rows, offset),
  )
  const entered = walkAlong(([before = 0], rows, offset) =>
    read(SELECT_ENTERED, laneId, Math.min(before, last + 1), rows, offset),
  )
  return followedBy(notEntered, entered)
}
