import { checkOf } from './probe.ts'

const SELECT_HALF_ENDED = `
select run_id as id
from pawl.runs
where (status is null) <> (finished_at is null)
  or (status is distinct from 'FAILED' and (reason is not null or will_retry))
  or (status is distinct from 'COMPLETED' and result is not null)`

// Only an abort makes a Job CANCELLED that has a Run.
const SELECT_TWO_ENDS = `
select r.run_id as id
from pawl.runs r
join pawl.jobs j on j.seq = r.seq
where (j.cancelled_at is not null) <> (r.reason is not distinct from 'cancelled')`

const SELECT_TWO_ENDS_OF_DIRECTS = `
select reservation_id as id
from pawl.reservations
where (status = 'WAITING' or status = 'RUNNING') <> (ended_at is null)`

const REPORT = 'Restore a backup if rows were changed by hand; else report this as a bug of Pawl.'

export const runs = checkOf('I3', 'A Run ends once, and its end says one thing.', [
  {
    sql: SELECT_HALF_ENDED,
    message: 'Runs are half ended: status, end, reason and result contradict each other.',
    advice: REPORT,
  },
  {
    sql: SELECT_TWO_ENDS,
    message: 'Runs and their Jobs say different things about whether they were cancelled.',
    advice: REPORT,
  },
  {
    sql: SELECT_TWO_ENDS_OF_DIRECTS,
    message: 'Direct executions are half ended: their status and their end contradict each other.',
    advice: REPORT,
  },
])

const SELECT_FAILED_WITHOUT_CAUSE = `
select run_id as id
from pawl.runs
where status = 'FAILED'
  and (
    reason is null
    or reason not in ('error', 'timeout', 'crash', 'shutdown', 'cancelled', 'invalid-params', 'unserialisable-result', 'result-too-large')
  )`

const SELECT_DIRECT_WITHOUT_CAUSE = `
select reservation_id as id
from pawl.reservations
where outcome = 'FAILED' and reason is null`

export const causes = checkOf('I16', 'No Run is FAILED without a cause.', [
  { sql: SELECT_FAILED_WITHOUT_CAUSE, message: 'Runs are FAILED without a known reason.', advice: REPORT },
  {
    sql: SELECT_DIRECT_WITHOUT_CAUSE,
    message: 'Direct executions are FAILED without a reason.',
    advice: REPORT,
  },
])

/** Runs `r` that failed or were skipped, and are not found by that, or not as they are. */
export const IS_UNLISTED = `
  r.status in ('FAILED', 'SKIPPED')
  and not exists (
    select 1
    from pawl.uncompleted_runs u
    where u.status = r.status and u.started_at = r.started_at and u.seq = r.seq and u.will_retry = r.will_retry
  )`

/** Rows `u` that stand for no such Run. */
export const IS_LISTED_WRONGLY = `
  not exists (
    select 1
    from pawl.runs r
    where r.seq = u.seq and r.status = u.status and r.started_at = u.started_at and r.will_retry = u.will_retry
  )`

const SELECT_UNLISTED = `
select r.run_id as id
from pawl.runs r
where ${IS_UNLISTED}`

const SELECT_LISTED_WRONGLY = `
select 'run of job number ' || u.seq as id
from pawl.uncompleted_runs u
where ${IS_LISTED_WRONGLY}`

const LISTS_ANEW = 'Use --fix: it makes the list anew from the Runs.'

export const uncompletedRuns = checkOf('uncompleted-runs', 'Runs that failed or were skipped are found by that.', [
  {
    sql: SELECT_UNLISTED,
    message: 'Runs failed or were skipped, but are not found by that.',
    advice: LISTS_ANEW,
    remedy: 'uncompleted-runs',
  },
  {
    sql: SELECT_LISTED_WRONGLY,
    message: 'Runs are found as failed or skipped that are not, or not as they are.',
    advice: LISTS_ANEW,
    remedy: 'uncompleted-runs',
  },
])
