import { IN_QUEUE } from '../../rows.ts'
import { checkOf } from './probe.ts'
import { JOBS, RESERVATIONS, RUNS } from './walks.ts'

// The lists of all numbers in the queue are made only when a Job was found that is not at its place there.
const SELECT_STATELESS = `
select j.job_id as id
from pawl_jobs j
where j.seq > ? and j.seq <= ? and j.cancelled_at is null
  and case
    when exists (select 1 from pawl_runs r where r.seq = j.seq) then 0
    when exists (select 1 from pawl_queue q where ${IN_QUEUE}) then 0
    else j.seq not in (select seq from pawl_queue) and j.seq not in (select seq from pawl_occupancies)
  end`

const SELECT_QUEUED_AGAIN = `
select j.job_id as id
from pawl_jobs j
cross join pawl_queue q on ${IN_QUEUE}
left join pawl_runs r on r.seq = j.seq
where j.seq > ? and j.seq <= ? and (j.cancelled_at is not null or r.seq is not null)`

const SELECT_QUEUED_NOTHING = `
select q.seq as id
from pawl_queue q
where not exists (select 1 from pawl_jobs j where j.seq = q.seq)`

const SELECT_RUNS_OF_NOTHING = `
select r.run_id as id
from pawl_runs r
where r.seq > ? and r.seq <= ? and not exists (select 1 from pawl_jobs j where j.seq = r.seq)`

const SELECT_HOMELESS_RUNS = `
select j.job_id as id
from pawl_runs r
cross join pawl_jobs j on j.seq = r.seq
where r.seq > ? and r.seq <= ? and r.status is null
  and not exists (select 1 from pawl_occupancies o where o.seq = r.seq)`

const SELECT_BODIES_WITHOUT_RUN = `
select coalesce(j.job_id, o.seq) as id
from pawl_occupancies o
left join pawl_jobs j on j.seq = o.seq
where not exists (select 1 from pawl_runs r where r.seq = o.seq)`

const SELECT_HOMELESS_DIRECTS = `
select s.reservation_id as id
from pawl_reservations s
where s.reservation_seq > ? and s.reservation_seq <= ? and s.status = 'RUNNING'
  and not exists (select 1 from pawl_direct_occupancies d where d.reservation_seq = s.reservation_seq)`

const SELECT_BODIES_NEVER_SERVED = `
select coalesce(s.reservation_id, d.reservation_seq) as id
from pawl_direct_occupancies d
left join pawl_reservations s on s.reservation_seq = d.reservation_seq
where s.reservation_seq is null or s.status = 'WAITING' or s.started_at is null`

const RECOVERS =
  'Start a node, or use --fix: recovery ends the Job as crashed, and tries it again if its policy says so.'
const REPORT = 'Restore a backup if the file was changed by hand; else report this as a bug of Pawl.'

export const jobs = checkOf('I5', 'No Job is RUNNING without a Run, and there is no Run without a Job.', [
  {
    sql: SELECT_STATELESS,
    walk: JOBS,
    message: 'Jobs are neither queued nor cancelled, and yet have no Run.',
    advice: RECOVERS,
    remedy: 'recovery',
  },
  {
    sql: SELECT_QUEUED_AGAIN,
    walk: JOBS,
    message: 'Jobs stand in the queue though they have a Run or were cancelled.',
    advice: REPORT,
  },
  {
    sql: SELECT_QUEUED_NOTHING,
    message: 'The queue has rows of Jobs that do not exist.',
    advice: REPORT,
  },
  { sql: SELECT_RUNS_OF_NOTHING, walk: RUNS, message: 'Runs belong to no Job.', advice: REPORT },
  {
    sql: SELECT_HOMELESS_RUNS,
    walk: RUNS,
    message: 'Jobs are RUNNING, but nothing says where their bodies execute.',
    advice: RECOVERS,
    remedy: 'recovery',
  },
  {
    sql: SELECT_BODIES_WITHOUT_RUN,
    message: 'Bodies are recorded as executing, but they have no Run.',
    advice: RECOVERS,
    remedy: 'recovery',
  },
  {
    sql: SELECT_HOMELESS_DIRECTS,
    walk: RESERVATIONS,
    message: 'Direct executions are RUNNING, but nothing says where their bodies execute.',
    advice: REPORT,
  },
  {
    sql: SELECT_BODIES_NEVER_SERVED,
    message: 'Bodies of direct executions are recorded as executing, but their tickets were never served.',
    advice: REPORT,
  },
])

const SELECT_UNREADABLE_PARAMS = `
select job_id as id
from pawl_jobs
where seq > ? and seq <= ? and not json_valid(params)`

const SELECT_UNREADABLE_RESULTS = `
select run_id as id
from pawl_runs
where seq > ? and seq <= ? and result is not null and not json_valid(result)`

export const snapshots = checkOf('I7', 'Params and results are as they were written.', [
  {
    sql: SELECT_UNREADABLE_PARAMS,
    walk: JOBS,
    message: 'The params of Jobs are not JSON any more.',
    advice: 'Restore a backup: what they were cannot be known.',
  },
  {
    sql: SELECT_UNREADABLE_RESULTS,
    walk: RUNS,
    message: 'The results of Runs are not JSON any more.',
    advice: 'Restore a backup: what they were cannot be known.',
  },
])

/** Rows of the queue that stand elsewhere than their Jobs say, as pairs `q` and `j`. */
export const FROM_MISPLACED = `
from pawl_queue q
cross join pawl_jobs j on j.seq = q.seq
where (q.priority, q.position, q.created_at, q.lane_id, q.run_at)
  is not (j.priority, j.position, j.created_at, j.lane_id, j.run_at)`

const SELECT_MISPLACED = `select j.job_id as id ${FROM_MISPLACED}`

export const places = checkOf('I8', 'Jobs stand in the queue where their own rows say.', [
  {
    sql: SELECT_MISPLACED,
    message: 'The place of Jobs in the queue, their time or their kind is not what the Jobs themselves say.',
    advice: 'Use --fix: it puts them where the Jobs say.',
    remedy: 'queue',
  },
])
