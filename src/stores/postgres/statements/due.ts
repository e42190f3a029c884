import type { Connection } from '../connection.ts'

/** Delayed Jobs, in the order in which they become due. */
const DELAYED = 'not ready and not awaits_predecessor and unmet_parents = 0'

/** Due Jobs that become ready in one claim. The rest follows with the next ones. */
const PROMOTE_MAX = 1_000

/**
 * Whether there is a delayed Job that has become due. `now` is how the statement calls the instant. Whether there is one at all
 * must not be asked: PostgreSQL might look through the whole queue for it.
 */
export const isDue = (now: `$${number}`) => `
    coalesce((select run_at from pawl.queue where ${DELAYED} order by run_at limit 1) <= ${now}, false)`

// One row: how many delayed Jobs became ready. Those that somebody else is about to change are left to the next claim.
export const PROMOTE_DUE = `
with due as materialized (
  select ctid as at
  from pawl.queue
  where ${DELAYED} and run_at <= $1
  order by run_at
  limit ${PROMOTE_MAX}
  for update skip locked
),
promoted as (
  update pawl.queue q
  set ready = true
  from due
  where q.ctid = due.at
  returning 1
)
select count(*) as promoted from promoted`

const SELECT_NEXT_DUE = `
select run_at as due
from pawl.queue
where ${DELAYED}
order by run_at
limit 1`

export async function nextDueAt(connection: Connection): Promise<number | null> {
  return (await connection.get<{ due: number }>(SELECT_NEXT_DUE))?.due ?? null
}
