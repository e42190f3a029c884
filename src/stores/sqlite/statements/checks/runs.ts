import { checkOf } from './probe.ts'
import { RESERVATIONS, RUNS } from './walks.ts'

const SELECT_HALF_ENDED = `
select run_id as id
from pawl_runs
where seq > ? and seq <= ?
  and (
    (status is null) <> (finished_at is null)
    or (status is not 'FAILED' and (reason is not null or will_retry = 1))
    or (status is not 'COMPLETED' and result is not null)
  )`

// Only an abort makes a Job CANCELLED that has a Run.
const SELECT_TWO_ENDS = `
select r.run_id as id
from pawl_runs r
cross join pawl_jobs j on j.seq = r.seq
where r.seq > ? and r.seq <= ? and (j.cancelled_at is not null) <> (r.reason is 'cancelled')`

const SELECT_TWO_ENDS_OF_DIRECTS = `
select reservation_id as id
from pawl_reservations
where reservation_seq > ? and reservation_seq <= ?
  and (status = 'WAITING' or status = 'RUNNING') <> (ended_at is null)`

const REPORT = 'Restore a backup if the file was changed by hand; else report this as a bug of Pawl.'

export const runs = checkOf('I3', 'A Run ends once, and its end says one thing.', [
  {
    sql: SELECT_HALF_ENDED,
    walk: RUNS,
    message: 'Runs are half ended: status, end, reason and result contradict each other.',
    advice: REPORT,
  },
  {
    sql: SELECT_TWO_ENDS,
    walk: RUNS,
    message: 'Runs and their Jobs say different things about whether they were cancelled.',
    advice: REPORT,
  },
  {
    sql: SELECT_TWO_ENDS_OF_DIRECTS,
    walk: RESERVATIONS,
    message: 'Direct executions are half ended: their status and their end contradict each other.',
    advice: REPORT,
  },
])

const SELECT_FAILED_WITHOUT_CAUSE = `
select run_id as id
from pawl_runs
where seq > ? and seq <= ? and status = 'FAILED'
  and (
    reason is null
    or reason not in ('error', 'timeout', 'crash', 'shutdown', 'cancelled', 'invalid-params', 'unserialisable-result', 'result-too-large')
  )`

const SELECT_DIRECT_WITHOUT_CAUSE = `
select reservation_id as id
from pawl_reservations
where reservation_seq > ? and reservation_seq <= ? and outcome = 'FAILED' and reason is null`

export const causes = checkOf('I16', 'No Run is FAILED without a cause.', [
  { sql: SELECT_FAILED_WITHOUT_CAUSE, walk: RUNS, message: 'Runs are FAILED without a known reason.', advice: REPORT },
  {
    sql: SELECT_DIRECT_WITHOUT_CAUSE,
    walk: RESERVATIONS,
    message: 'Direct executions are FAILED without a reason.',
    advice: REPORT,
  },
])
