import type { NewJob } from '../../../store/jobs.ts'
import type { SqlValue } from '../connection.ts'

/** A Job that is about to be written, with all that was decided about it. */
export interface JobToInsert {
  readonly job: NewJob
  readonly laneId: number
  readonly policyId: number
  readonly now: number
  /** Null: the next number. */
  readonly seq: number | null
  readonly groupId: string | null
  readonly parents: number
  readonly unmetParents: number
  /** Another one that is written with it waits for it. */
  readonly awaited: boolean
}

/**
 * Numbers Jobs and writes them with their places in the queue and their tags, however many, in one statement. `${…}` goes on
 * from `numbered`, which has one row per Job.
 */
export const INSERT_NUMBERED = `
with given as (
  select *
  from unnest(
    $1::bigint[], $2::text[], $3::integer[], $4::integer[], $5::integer[], $6::bigint[], $7::bigint[], $8::text[],
    $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::bigint[], $17::text[],
    $18::integer[], $19::text[], $20::integer[], $21::boolean[]
  ) with ordinality as given (
    seq, job_id, lane_id, policy_id, priority, run_at, created_at, name, tags, created_by, business_key, idempotency_key,
    params, template_id, schedule_id, slot_at, group_id, parents, webhook_url, unmet_parents, awaited, place
  )
  order by place
),
numbered as materialized (
  select coalesce(g.seq, nextval('pawl.job_seq')) as number, g.*
  from given g
),
accepted as (
  insert into pawl.jobs (
    seq, job_id, lane_id, policy_id, priority, position, run_at, created_at, name, tags, created_by, business_key,
    idempotency_key, params, template_id, schedule_id, slot_at, group_id, parents, webhook_url, awaited
  )
  select number, job_id, lane_id, policy_id, priority, number * 100, run_at, created_at, name, tags, created_by,
    business_key, idempotency_key, params, template_id, schedule_id, slot_at, group_id, parents, webhook_url, awaited
  from numbered
),
queued as (
  insert into pawl.queue (seq, lane_id, ready, unmet_parents, priority, position, run_at, created_at)
  select number, lane_id, run_at <= created_at and unmet_parents = 0, unmet_parents, priority, number * 100, run_at,
    created_at
  from numbered
),
tagged as (
  insert into pawl.job_tags (tag, seq)
  select distinct tag, n.number
  from numbered n, json_array_elements_text(n.tags::json) tag
  where n.tags is not null
)`

/** The values of `INSERT_NUMBERED`, one list per column. */
export function columnsOf(rows: readonly JobToInsert[]): SqlValue[] {
  return [
    rows.map(({ seq }) => seq),
    rows.map(({ job }) => job.jobId),
    rows.map(({ laneId }) => laneId),
    rows.map(({ policyId }) => policyId),
    rows.map(({ job }) => job.priority),
    rows.map(({ job, now }) => job.runAt ?? now),
    rows.map(({ now }) => now),
    rows.map(({ job }) => job.name),
    rows.map(({ job }) => (job.tags.length === 0 ? null : JSON.stringify(job.tags))),
    rows.map(({ job }) => job.createdBy),
    rows.map(({ job }) => job.businessKey),
    rows.map(({ job }) => job.idempotency?.key ?? null),
    rows.map(({ job }) => job.params),
    rows.map(({ job }) => job.templateId),
    rows.map(({ job }) => job.scheduleId),
    rows.map(({ job }) => job.slotAt),
    rows.map(({ groupId }) => groupId),
    rows.map(({ parents }) => parents),
    rows.map(({ job }) => job.webhookUrl),
    rows.map(({ unmetParents }) => unmetParents),
    rows.map(({ awaited }) => awaited),
  ]
}
