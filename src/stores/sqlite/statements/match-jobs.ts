import type { JobFilter } from '../../../store/jobs.ts'
import { type Spot, seqsOf } from '../../shared/list-spots.ts'
import type { Connection, SqlRow } from '../connection.ts'
import { IN_QUEUE, JOB_COLUMNS, type JobRow, statusOf } from '../rows.ts'

// The given Jobs in the given order, as far as they match. What is null matches everything. A cross join keeps the order
// of the tables, so that the list is gone through from its beginning and no further than needed.
const SELECT_MATCHING = `
select j.priority, j.position, j.created_at, j.seq
from json_each(?) as listed
cross join pawl_jobs j on j.seq = listed.value
cross join pawl_lanes l on l.lane_id = j.lane_id
left join pawl_queue q on ${IN_QUEUE}
left join pawl_runs r on r.seq = j.seq
where l.type = coalesce(?, l.type)
  and (? is null or exists (select 1 from pawl_job_tags t where t.tag = ? and t.seq = j.seq))
  and j.group_id is coalesce(?, j.group_id)
  and j.schedule_id is coalesce(?, j.schedule_id)
  and j.template_id is coalesce(?, j.template_id)
  and (
    ? is null
    or ? = case
      when j.cancelled_at is not null then 'CANCELLED'
      when q.seq is not null then 'QUEUED'
      when r.status is null then 'RUNNING'
      else 'FINISHED'
    end
  )
  and (? is null or r.status = ?)
  and j.created_at >= ?
  and j.created_at < ?
limit ?`

export interface PlaceRow extends SqlRow {
  priority: number
  position: number
  created_at: number
  seq: number
}

/** Of the given Jobs, the first so many that match, with their places in the queue. */
export function selectMatching(
  connection: Connection,
  spots: readonly Spot[],
  filter: JobFilter,
  limit: number,
): PlaceRow[] {
  if (spots.length === 0) return []
  const { type = null, tag = null, groupId = null, scheduleId = null, templateId = null, status = null } = filter
  const { outcome = null, createdFrom = 0, createdBefore = Number.MAX_SAFE_INTEGER } = filter
  return connection.all<PlaceRow>(
    SELECT_MATCHING,
    JSON.stringify(seqsOf(spots)),
    type,
    tag,
    tag,
    groupId,
    scheduleId,
    templateId,
    status,
    status,
    outcome,
    outcome,
    createdFrom,
    createdBefore,
    limit,
  )
}

const SELECT_LISTED = `
select ${JOB_COLUMNS}
from json_each(?) as listed
cross join pawl_jobs j on j.seq = listed.value
left join pawl_queue q on ${IN_QUEUE}
left join pawl_runs r on r.seq = j.seq`

/** The given Jobs in the given order. One that another process has pruned or moved on meanwhile is left out. */
export function readListed(connection: Connection, spots: readonly Spot[], { status }: JobFilter): JobRow[] {
  const rows = spots.length === 0 ? [] : connection.all<JobRow>(SELECT_LISTED, JSON.stringify(seqsOf(spots)))
  return status === undefined ? rows : rows.filter((row) => statusOf(row) === status)
}
