import { checkOf } from './probe.ts'

/**
 * What the members of a group `g` say, as one row: the last Job of each chain counts, as long as it belongs to the group.
 * A settled group may have lost members to pruning.
 */
export const RECOUNT_OF_MEMBERS = `
select count(*) as total,
  count(*) filter (where j.cancelled_at is null and r.status = 'COMPLETED') as completed,
  count(*) filter (where j.cancelled_at is null and r.status = 'FAILED') as failed,
  count(*) filter (where j.cancelled_at is null and r.status = 'SKIPPED') as skipped,
  count(*) filter (where j.cancelled_at is not null) as cancelled
from pawl.jobs j
left join pawl.runs r on r.seq = j.seq
where j.group_id = g.group_id
  and not exists (select 1 from pawl.jobs next where next.retry_of = j.job_id and next.group_id = j.group_id)`

/** Whether a group `g` says something else than its members. */
export const IS_MISCOUNTED = `(
  select case when g.finished_at is not null and m.total < g.total
    then g.completed + g.failed + g.skipped + g.cancelled <> g.total
    else (g.total, g.completed, g.failed, g.skipped, g.cancelled, g.finished_at is not null)
      is distinct from
      (m.total, m.completed, m.failed, m.skipped, m.cancelled, m.completed + m.failed + m.skipped + m.cancelled = m.total)
  end
  from (${RECOUNT_OF_MEMBERS}) as m
)`

const SELECT_MISCOUNTED = `
select g.group_id as id
from pawl.groups g
where ${IS_MISCOUNTED}`

export const groups = checkOf('I13', 'The counts of a group are those of its members.', [
  {
    sql: SELECT_MISCOUNTED,
    message: 'Groups count their members wrongly, or have settled too early or not at all.',
    advice: 'Use --fix: it counts their members anew.',
    remedy: 'groups',
  },
])
