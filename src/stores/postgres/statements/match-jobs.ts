import type { JobFilter } from '../../../store/jobs.ts'
import { type Spot, seqsOf } from '../../shared/list-spots.ts'
import type { Connection } from '../connection.ts'
import { FROM_JOBS, IN_QUEUE, JOB_COLUMNS, type JobRow, statusOf } from '../rows.ts'

// The given Jobs in the given order, as far as they match. What is null matches everything.
const SELECT_MATCHING = `
select j.priority, j.position, j.created_at, j.seq
from unnest($1::bigint[]) with ordinality as listed (seq, place)
join pawl.jobs j on j.seq = listed.seq
join pawl.lanes l on l.lane_id = j.lane_id
left join pawl.queue q on ${IN_QUEUE}
left join pawl.runs r on r.seq = j.seq
where ($2::text is null or l.type = $2)
  and ($3::text is null or exists (select 1 from pawl.job_tags t where t.tag = $3 and t.seq = j.seq))
  and ($4::text is null or j.group_id = $4)
  and ($5::text is null or j.schedule_id = $5)
  and ($6::text is null or j.template_id = $6)
  and (
    $7::text is null
    or $7 = case
      when j.cancelled_at is not null then 'CANCELLED'
      when q.seq is not null then 'QUEUED'
      when r.status is null then 'RUNNING'
      else 'FINISHED'
    end
  )
  and ($8::text is null or r.status = $8)
  and j.created_at >= $9
  and j.created_at < $10
order by listed.place
limit $11`

/** Where a Job stands, or would stand, in the queue. */
export interface PlaceRow {
  priority: number
  position: number
  created_at: number
  seq: number
}

/** Of the given Jobs, the first so many that match, with their places in the queue. */
export async function selectMatching(
  connection: Connection,
  spots: readonly Spot[],
  filter: JobFilter,
  limit: number,
): Promise<PlaceRow[]> {
  if (spots.length === 0) return []
  const { type = null, tag = null, groupId = null, scheduleId = null, templateId = null, status = null } = filter
  const { outcome = null, createdFrom = 0, createdBefore = Number.MAX_SAFE_INTEGER } = filter
  const wanted = [type, tag, groupId, scheduleId, templateId, status, outcome, createdFrom, createdBefore]
  return connection.all<PlaceRow>(SELECT_MATCHING, seqsOf(spots), ...wanted, limit)
}

const SELECT_LISTED = `
select ${JOB_COLUMNS}
${FROM_JOBS}
join unnest($1::bigint[]) with ordinality as listed (seq, place) on listed.seq = j.seq
order by listed.place`

/** The given Jobs in the given order. One that somebody has pruned or moved on meanwhile is left out. */
export async function readListed(
  connection: Connection,
  spots: readonly Spot[],
  { status }: JobFilter,
): Promise<JobRow[]> {
  const rows = spots.length === 0 ? [] : await connection.all<JobRow>(SELECT_LISTED, seqsOf(spots))
  return status === undefined ? rows : rows.filter((row) => statusOf(row) === status)
}
