import type { JobFilter } from '../../../store/jobs.ts'
import type { Connection, SqlValue } from '../connection.ts'
import { type Walk, walkAlong } from './list-walks.ts'

// Each of these reads one index, newest Job first. None passes over a row that does not belong to it.

const SELECT_NEWEST = `
select seq
from pawl.jobs
where seq < $1
order by seq desc
limit $2 offset $3`

// A type has one lane for each set of resources that its Jobs take, so a few. Each is read as far as the page may need it.
const SELECT_OF_TYPE = `
select of_lane.seq
from pawl.lanes l
cross join lateral (
  select j.seq
  from pawl.jobs j
  where j.lane_id = l.lane_id and j.seq < $2
  order by j.seq desc
  limit $3::bigint + $4::bigint
) of_lane
where l.type = $1
order by of_lane.seq desc
limit $3 offset $4`

const SELECT_TAGGED = `
select seq
from pawl.job_tags
where tag = $1 and seq < $2
order by seq desc
limit $3 offset $4`

const SELECT_OF_GROUP = `
select seq
from pawl.jobs
where group_id = $1 and seq < $2
order by seq desc
limit $3 offset $4`

const SELECT_OF_SCHEDULE = `
select seq
from pawl.jobs
where schedule_id = $1 and seq < $2
order by seq desc
limit $3 offset $4`

const SELECT_OF_TEMPLATE = `
select seq
from pawl.jobs
where template_id = $1 and seq < $2
order by seq desc
limit $3 offset $4`

// As many rows as bodies execute right now.
const SELECT_RUNNING = `
select o.seq
from pawl.occupancies o
join pawl.runs r on r.seq = o.seq
where o.seq < $1 and r.status is null
order by o.seq desc
limit $2 offset $3`

// Jobs that have started, also those that execute, and those whose body was aborted.
const SELECT_WITH_RUN = `
select seq
from pawl.runs
where seq < $1
order by seq desc
limit $2 offset $3`

const SELECT_CANCELLED = `
select seq
from pawl.jobs
where cancelled_at is not null and seq < $1
order by seq desc
limit $2 offset $3`

// Jobs whose Run has failed, also those whose body was aborted because they were cancelled.
const SELECT_FAILED = `
select seq
from pawl.uncompleted_runs
where status = 'FAILED' and seq < $1
order by seq desc
limit $2 offset $3`

function walkBy(connection: Connection, sql: string, ...values: SqlValue[]): Walk {
  return walkAlong(async ([before = 0], rows, offset) => {
    const found = await connection.all<{ seq: number }>(sql, ...values, before, rows, offset)
    return found.map(({ seq }) => [seq])
  })
}

/** All Jobs. */
export function walkNewest(connection: Connection): Walk {
  return walkBy(connection, SELECT_NEWEST)
}

/** Jobs that have a Run. */
export function walkWithRun(connection: Connection): Walk {
  return walkBy(connection, SELECT_WITH_RUN)
}

/** Jobs of a type. */
export function walkType(connection: Connection, type: string): Walk {
  return walkBy(connection, SELECT_OF_TYPE, type)
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
