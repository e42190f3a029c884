import { checkOf } from './probe.ts'
import { JOBS, LANE_JOBS } from './walks.ts'

/** A Job `j` that should be in the list of its lane, and is not. */
export const IS_MISSING_IN_LANE = `
  j.seq <= (select value from pawl_counters where name = 'last_lane_job')
  and not exists (select 1 from pawl_lane_jobs e where e.lane_id = j.lane_id and e.seq = j.seq)`

/** A row `e` of a Job that does not exist, that has another lane, or that is not to be in the list yet and would be there twice. */
export const IS_WRONG_IN_LANE = `
  not exists (
    select 1
    from pawl_jobs j
    where j.seq = e.seq and j.lane_id = e.lane_id
      and j.seq <= (select value from pawl_counters where name = 'last_lane_job')
  )`

/** The highest number that a Job has or had. No later one gets it. */
export const LAST_NUMBER = `
  max(
    coalesce((select max(seq) from pawl_jobs), 0),
    coalesce((select value from pawl_counters where name = 'last_pruned_job'), 0)
  )`

const SELECT_TOO_FAR = `
select c.name || ' is ' || c.value as id
from pawl_counters c
where c.name = 'last_lane_job' and c.value > ${LAST_NUMBER}`

const SELECT_UNCOUNTED = `
select 'last_lane_job' as id
where not exists (select 1 from pawl_counters where name = 'last_lane_job')`

const SELECT_NOT_FOUND_BY_TYPE = `
select j.job_id as id
from pawl_jobs j
where j.seq > ? and j.seq <= ? and ${IS_MISSING_IN_LANE}`

const SELECT_WRONG_LANES = `
select 'job number ' || e.seq as id
from pawl_lane_jobs e
where (e.lane_id, e.seq) > (?, ?) and (e.lane_id, e.seq) <= (?, ?) and ${IS_WRONG_IN_LANE}`

const ADVICE = 'Use --fix: it makes the list anew from the Jobs.'

export const lanes = checkOf('types', 'Jobs are found by the type they have, and by no other.', [
  {
    sql: SELECT_UNCOUNTED,
    message: 'It is not known which Jobs are in the list of their type.',
    advice: ADVICE,
    remedy: 'types',
  },
  {
    sql: SELECT_TOO_FAR,
    message: 'The list of Jobs by type goes up to a number that no Job has had: the next ones would be missing there.',
    advice: ADVICE,
    remedy: 'types',
  },
  {
    sql: SELECT_NOT_FOUND_BY_TYPE,
    walk: JOBS,
    message: 'Jobs are not found by their type.',
    advice: ADVICE,
    remedy: 'types',
  },
  {
    sql: SELECT_WRONG_LANES,
    walk: LANE_JOBS,
    message: 'Jobs are found by a type that they do not have, or twice.',
    advice: ADVICE,
    remedy: 'types',
  },
])
