import { IN_QUEUE } from '../../rows.ts'
import { checkOf } from './probe.ts'

// In the queue at any place: that it is the right one is another question.
const SELECT_STATELESS = `
select j.job_id as id
from pawl.jobs j
where j.cancelled_at is null
  and not exists (select 1 from pawl.runs r where r.seq = j.seq)
  and not exists (select 1 from pawl.queue q where q.seq = j.seq)
  and not exists (select 1 from pawl.occupancies o where o.seq = j.seq)`

const SELECT_QUEUED_AGAIN = `
select j.job_id as id
from pawl.jobs j
join pawl.queue q on ${IN_QUEUE}
left join pawl.runs r on r.seq = j.seq
where j.cancelled_at is not null or r.seq is not null`

const SELECT_QUEUED_NOTHING = `
select q.seq as id
from pawl.queue q
where not exists (select 1 from pawl.jobs j where j.seq = q.seq)`

const SELECT_RUNS_OF_NOTHING = `
select r.run_id as id
from pawl.runs r
where not exists (select 1 from pawl.jobs j where j.seq = r.seq)`

const SELECT_HOMELESS_RUNS = `
select j.job_id as id
from pawl.runs r
join pawl.jobs j on j.seq = r.seq
where r.status is null
  and not exists (select 1 from pawl.occupancies o where o.seq = r.seq)`

const SELECT_BODIES_WITHOUT_RUN = `
select coalesce(j.job_id, o.seq::text) as id
from pawl.occupancies o
left join pawl.jobs j on j.seq = o.seq
where not exists (select 1 from pawl.runs r where r.seq = o.seq)`

const SELECT_HOMELESS_DIRECTS = `
select s.reservation_id as id
from pawl.reservations s
where s.status = 'RUNNING'
  and not exists (select 1 from pawl.direct_occupancies d where d.reservation_seq = s.reservation_seq)`

const SELECT_BODIES_NEVER_SERVED = `
select coalesce(s.reservation_id, d.reservation_seq::text) as id
from pawl.direct_occupancies d
left join pawl.reservations s on s.reservation_seq = d.reservation_seq
where s.reservation_seq is null or s.status = 'WAITING' or s.started_at is null`

const RECOVERS =
  'Start a node, or use --fix: recovery ends the Job as crashed, and tries it again if its policy says so.'
const REPORT = 'Restore a backup if rows were changed by hand; else report this as a bug of Pawl.'

export const jobs = checkOf('I5', 'No Job is RUNNING without a Run, and there is no Run without a Job.', [
  {
    sql: SELECT_STATELESS,
    message: 'Jobs are neither queued nor cancelled, and yet have no Run.',
    advice: RECOVERS,
    remedy: 'recovery',
  },
  {
    sql: SELECT_QUEUED_AGAIN,
    message: 'Jobs stand in the queue though they have a Run or were cancelled.',
    advice: REPORT,
  },
  {
    sql: SELECT_QUEUED_NOTHING,
    message: 'The queue has rows of Jobs that do not exist.',
    advice: REPORT,
  },
  { sql: SELECT_RUNS_OF_NOTHING, message: 'Runs belong to no Job.', advice: REPORT },
  {
    sql: SELECT_HOMELESS_RUNS,
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
from pawl.jobs
where not pawl.is_json(params)`

const SELECT_UNREADABLE_RESULTS = `
select run_id as id
from pawl.runs
where result is not null and not pawl.is_json(result)`

export const snapshots = checkOf('I7', 'Params and results are as they were written.', [
  {
    sql: SELECT_UNREADABLE_PARAMS,
    message: 'The params of Jobs are not JSON any more.',
    advice: 'Restore a backup: what they were cannot be known.',
  },
  {
    sql: SELECT_UNREADABLE_RESULTS,
    message: 'The results of Runs are not JSON any more.',
    advice: 'Restore a backup: what they were cannot be known.',
  },
])

/** A row `q` of the queue stands elsewhere than its Job `j` says. */
export const IS_MISPLACED = `
  (q.priority, q.position, q.created_at, q.lane_id, q.run_at)
  is distinct from (j.priority, j.position, j.created_at, j.lane_id, j.run_at)`

const SELECT_MISPLACED = `
select j.job_id as id
from pawl.queue q
join pawl.jobs j on j.seq = q.seq
where ${IS_MISPLACED}`

export const places = checkOf('I8', 'Jobs stand in the queue where their own rows say.', [
  {
    sql: SELECT_MISPLACED,
    message: 'The place of Jobs in the queue, their time or their kind is not what the Jobs themselves say.',
    advice: 'Use --fix: it puts them where the Jobs say.',
    remedy: 'queue',
  },
])
