import { IN_QUEUE } from '../../rows.ts'
import { CHAIN_SEQ, isChainLive, OCCUPIED_CHAINS, outcomeOfChain } from './pieces.ts'
import { checkOf } from './probe.ts'
import { EDGES, JOBS } from './walks.ts'

/** For how many parents the chain of a Job `j` waits, as its edges say. */
export const UNMET_EDGES = `(
  select count(*)
  from pawl_dependencies d
  where d.child_seq = ${CHAIN_SEQ} and d.met = 0
)`

/** Whether a body of an earlier attempt of a Job `j` executes, as the occupancies say. */
export const HAS_BUSY_PREDECESSOR = `(j.chain_id is not null and j.chain_id in ${OCCUPIED_CHAINS})`

const SELECT_WRONG_UNMET = `
select j.job_id as id
from pawl_jobs j
cross join pawl_queue q on ${IN_QUEUE}
where j.seq > ? and j.seq <= ? and q.unmet_parents <> ${UNMET_EDGES}`

const SELECT_WRONG_PREDECESSOR = `
select j.job_id as id
from pawl_jobs j
cross join pawl_queue q on ${IN_QUEUE}
where j.seq > ? and j.seq <= ? and q.awaits_predecessor <> ${HAS_BUSY_PREDECESSOR}`

// Looks at every Job that is ready, in an index that holds nothing else.
const SELECT_READY_THOUGH_HELD = `
select j.job_id as id
from pawl_queue q
cross join pawl_jobs j on j.seq = q.seq
where q.ready = 1 and (q.unmet_parents > 0 or q.awaits_predecessor = 1)`

// Five seconds, because its time may have come between the moment that is the present here and the snapshot.
const SELECT_READY_EARLY = `
select j.job_id as id
from pawl_queue q
cross join pawl_jobs j on j.seq = q.seq
where q.ready = 1 and q.run_at > ? + 5000`

const SELECT_WRONG_PARENTS = `
select j.job_id as id
from pawl_jobs j
where j.seq > ? and j.seq <= ?
  and j.parents <> (select count(*) from pawl_dependencies d where d.child_seq = ${CHAIN_SEQ})`

// 0 and 1: the child lives. 2 and 3: its chain has settled.
const SELECT_WRONG_EDGES = `
select child.job_id as id
from pawl_dependencies d
cross join pawl_jobs child on child.seq = d.child_seq
where d.child_seq > ? and d.child_seq <= ? and (d.met <= 1) <> ${isChainLive('child.job_id')}
group by child.job_id`

// As many rows as bodies execute right now.
const SELECT_STARTED_EARLY = `
select j.job_id as id
from pawl_occupancies o
cross join pawl_runs r on r.seq = o.seq
cross join pawl_jobs j on j.seq = o.seq
where r.status is null and j.parents > 0 and ${UNMET_EDGES} > 0`

/**
 * Edges `d` of live children to a parent that has settled in a way that releases or cancels them, though no order to do so
 * is on its way. Of the members behind a failed one, the group itself says what becomes.
 */
export const IS_FORGOTTEN = `
  d.met = 0
  and not exists (select 1 from pawl_cascades c where c.subject = parent.job_id or c.subject = child.group_id)
  and ${isChainLive('child.job_id')}
  and case ${outcomeOfChain('parent.job_id')}
    when 'COMPLETED' then 1
    when 'SKIPPED' then 1
    when 'FAILED' then d.on_failure <> 'wait' or d.of_group = 1
    when 'CANCELLED' then d.on_failure <> 'wait' or d.of_group = 1
    else 0
  end`

const SELECT_FORGOTTEN = `
select child.job_id as id
from pawl_dependencies d
cross join pawl_jobs child on child.seq = d.child_seq
cross join pawl_jobs parent on parent.seq = d.parent_seq
where d.child_seq > ? and d.child_seq <= ? and ${IS_FORGOTTEN}
group by child.job_id`

// One that is met may be pruned, when its child had settled and was retried by hand afterwards.
const SELECT_ORPHANS = `
select child.job_id as id
from pawl_dependencies d
cross join pawl_jobs child on child.seq = d.child_seq
where d.child_seq > ? and d.child_seq <= ? and d.met = 0
  and not exists (select 1 from pawl_jobs parent where parent.seq = d.parent_seq)
group by child.job_id`

const RECOUNTS = 'Use --fix: it counts anew.'
const REPORT = 'Restore a backup if the file was changed by hand; else report this as a bug of Pawl.'

export const dependencies = checkOf(
  'I12',
  'A child starts only after its parents, and nothing waits for ever on a parent that has settled.',
  [
    {
      sql: SELECT_WRONG_UNMET,
      walk: JOBS,
      message: 'Queued Jobs wait for more or fewer parents than they have left.',
      advice: RECOUNTS,
      remedy: 'queue',
    },
    {
      sql: SELECT_WRONG_PREDECESSOR,
      walk: JOBS,
      message: 'Queued retries wait for a body that has ended, or do not wait for one that has not.',
      advice: RECOUNTS,
      remedy: 'queue',
    },
    {
      sql: SELECT_READY_THOUGH_HELD,
      message: 'Queued Jobs count as ready, though they wait for a parent or for a body of their predecessor.',
      advice: RECOUNTS,
      remedy: 'queue',
    },
    {
      sql: SELECT_READY_EARLY,
      takesNow: true,
      severity: 'warning',
      message: 'Queued Jobs count as ready before their time. That is right only if the clock was set back.',
      advice: 'If the clock is right, change their time once more, or report this as a bug of Pawl.',
    },
    {
      sql: SELECT_WRONG_PARENTS,
      walk: JOBS,
      message: 'Jobs have more or fewer parents than they were accepted with.',
      advice: REPORT,
    },
    {
      sql: SELECT_WRONG_EDGES,
      walk: EDGES,
      message: 'Dependencies say that a child waits or lives that does not, or the reverse.',
      advice: REPORT,
    },
    {
      sql: SELECT_STARTED_EARLY,
      message: 'Jobs execute before their parents have settled.',
      advice: REPORT,
    },
    {
      sql: SELECT_FORGOTTEN,
      walk: EDGES,
      message: 'Jobs wait for a parent that has settled, and nobody will tell them.',
      advice: 'Use --fix: it orders that they are told.',
      remedy: 'dependents',
    },
    {
      sql: SELECT_ORPHANS,
      walk: EDGES,
      message: 'Jobs wait for a parent that does not exist any more.',
      advice: REPORT,
    },
  ],
)
