import type { JobFilter } from '../../../store/jobs.ts'
import { downward } from '../../shared/list-spots.ts'
import type { Connection, SqlValue } from '../connection.ts'
import { walkLane } from './lane-jobs.ts'
import { mergeWalks, type Walk, walkAlong } from './list-walks.ts'

// Each of these reads one index, newest Job first. None passes over a row that does not belong to it.

const SELECT_NEWEST = `
select seq
from pawl_jobs
where seq < ?
order by seq desc
limit ? offset ?`

const SELECT_TAGGED = `
select seq
from pawl_job_tags
where tag = ? and seq < ?
order by seq desc
limit ? offset ?`

const SELECT_OF_GROUP = `
select seq
from pawl_jobs indexed by pawl_jobs_group
where group_id = ? and seq < ?
order by seq desc
limit ? offset ?`

const SELECT_OF_SCHEDULE = `
select seq
from pawl_jobs indexed by pawl_jobs_schedule
where schedule_id = ? and seq < ?
order by seq desc
limit ? offset ?`

const SELECT_OF_TEMPLATE = `
select seq
from pawl_jobs indexed by pawl_jobs_template
where template_id = ? and seq < ?
order by seq desc
limit ? offset ?`

// As many rows as bodies execute right now.
const SELECT_RUNNING = `
select o.seq
from pawl_occupancies o
cross join pawl_runs r on r.seq = o.seq
where o.seq < ? and r.status is null
order by o.seq desc
limit ? offset ?`

// Jobs that have started, also those that execute, and those whose body was aborted.
const SELECT_WITH_RUN = `
select seq
from pawl_runs
where seq < ?
order by seq desc
limit ? offset ?`

const SELECT_CANCELLED = `
select seq
from pawl_jobs indexed by pawl_jobs_cancelled
where cancelled_at is not null and seq < ?
order by seq desc
limit ? offset ?`

// Jobs whose Run has failed, also those whose body was aborted because they were cancelled.
const SELECT_FAILED = `
select seq
from pawl_runs indexed by pawl_runs_failed_newest
where status = 'FAILED' and seq < ?
order by seq desc
limit ? offset ?`

function walkBy(connection: Connection, sql: string, ...values: SqlValue[]): Walk {
  return walkAlong(([before = 0], rows, offset) =>
    connection.all<{ seq: number }>(sql, ...values, before, rows, offset).map(({ seq }) => [seq]),
  )
}

/** All Jobs. */
export function walkNewest(connection: Connection): Walk {
  return walkBy(connection, SELECT_NEWEST)
}

/** Jobs that have a Run. */
export function walkWithRun(connection: Connection): Walk {
  return walkBy(connection, SELECT_WITH_RUN)
}

const SELECT_LANES = 'select lane_id from pawl_lanes where type = ?'

/** The lanes of a type: one for each set of resources that its Jobs take, so a few. */
export function lanesOf(connection: Connection, type: string): number[] {
  return connection.all<{ lane_id: number }>(SELECT_LANES, type).map(({ lane_id }) => lane_id)
}

/** Jobs of a type. */
export function walkType(connection: Connection, type: string): Walk {
  const lanes = lanesOf(connection, type)
  return mergeWalks(
    lanes.map((laneId) => walkLane(connection, laneId)),
    downward,
  )
}

/** Jobs whose Run has failed. */
export function walkFailed(connection: Connection): Walk {
  return walkBy(connection, SELECT_FAILED)
}

/** What leads to a tag, a group, a schedule or a template. */
export function walkMarks(connection: Connection, filter: JobFilter): Walk[] {
  const { groupId, tag, scheduleId, templateId } = filter
  const walks: Walk[] = []
  if (groupId !== undefined) walks.push(walkBy(connection, SELECT_OF_GROUP, groupId))
  if (tag !== undefined) walks.push(walkBy(connection, SELECT_TAGGED, tag))
  if (scheduleId !== undefined) walks.push(walkBy(connection, SELECT_OF_SCHEDULE, scheduleId))
  if (templateId !== undefined) walks.push(walkBy(connection, SELECT_OF_TEMPLATE, templateId))
  return walks
}

/** What leads to a status that has an index of its own, or nearly. */
export function walkStatus(connection: Connection, status: 'RUNNING' | 'FINISHED' | 'CANCELLED'): Walk {
  switch (status) {
    case 'RUNNING':
      return walkBy(connection, SELECT_RUNNING)
    case 'FINISHED':
      return walkWithRun(connection)
    case 'CANCELLED':
      return walkBy(connection, SELECT_CANCELLED)
  }
}
