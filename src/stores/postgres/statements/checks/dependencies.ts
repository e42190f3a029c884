import { IN_QUEUE } from '../../rows.ts'
import { CHAIN_SEQ, isChainLive, OCCUPIED_CHAINS, outcomeOfChain } from './pieces.ts'
import { checkOf } from './probe.ts'

/** For how many parents the chain of a Job `j` waits, as its edges say. */
export const UNMET_EDGES = `(
  select count(*)
  from pawl.dependencies d
  where d.child_seq = ${CHAIN_SEQ} and d.met = 0
)`

/** Whether a body of an earlier attempt of a Job `j` executes, as the occupancies say. */
export const HAS_BUSY_PREDECESSOR = `(j.chain_id is not null and j.chain_id in ${OCCUPIED_CHAINS})`

const SELECT_WRONG_UNMET = `
select j.job_id as id
from pawl.jobs j
join pawl.queue q on ${IN_QUEUE}
where q.unmet_parents <> ${UNMET_EDGES}`

const SELECT_WRONG_PREDECESSOR = `
select j.job_id as id
from pawl.jobs j
join pawl.queue q on ${IN_QUEUE}
where q.awaits_predecessor <> ${HAS_BUSY_PREDECESSOR}`

const SELECT_READY_THOUGH_HELD = `
select j.job_id as id
from pawl.queue q
join pawl.jobs j on j.seq = q.seq
where q.ready and (q.unmet_parents > 0 or q.awaits_predecessor)`

// Five seconds, because its time may have come between the moment that is the present here and the snapshot.
const SELECT_READY_EARLY = `
select j.job_id as id
from pawl.queue q
join pawl.jobs j on j.seq = q.seq
where q.ready and q.run_at > $1::bigint + 5000`

const SELECT_WRONG_PARENTS = `
select j.job_id as id
from pawl.jobs j
where j.parents <> (select count(*) from pawl.dependencies d where d.child_seq = ${CHAIN_SEQ})`

// 0 and 1: the child lives. 2 and 3: its chain has settled.
const SELECT_WRONG_EDGES = `
select child.job_id as id
from pawl.dependencies d
join pawl.jobs child on child.seq = d.child_seq
where (d.met <= 1) <> ${isChainLive('child.job_id')}
group by child.job_id`

// As many rows as bodies execute right now.
const SELECT_STARTED_EARLY = `
select j.job_id as id
from pawl.occupancies o
join pawl.runs r on r.seq = o.seq
join pawl.jobs j on j.seq = o.seq
where r.status is null and j.parents > 0 and ${UNMET_EDGES} > 0`

/**
 * Edges `d` of live children to a parent that has settled in a way that releases or cancels them, though no order to do so
 * is on its way. Of the members behind a failed one, the group itself says what becomes.
 */
export const IS_FORGOTTEN = `
  d.met = 0
  and not exists (select 1 from pawl.cascades c where c.subject = parent.job_id or c.subject = child.group_id)
  and ${isChainLive('child.job_id')}
  and case ${outcomeOfChain('parent.job_id')}
    when 'COMPLETED' then true
    when 'SKIPPED' then true
    when 'FAILED' then d.on_failure <> 'wait' or d.of_group
    when 'CANCELLED' then d.on_failure <> 'wait' or d.of_group
    else false
  end`

const SELECT_FORGOTTEN = `
select child.job_id as id
from pawl.dependencies d
join pawl.jobs child on child.seq = d.child_seq
join pawl.jobs parent on parent.seq = d.parent_seq
where ${IS_FORGOTTEN}
group by child.job_id`

// One that is met may be pruned, when its child had settled and was retried by hand afterwards.
const SELECT_ORPHANS = `
select child.job_id as id
from pawl.dependencies d
join pawl.jobs child on child.seq = d.child_seq
where d.met = 0
  and not exists (select 1 from pawl.jobs parent where parent.seq = d.parent_seq)
group by child.job_id`

/** First Jobs `j` of chains for which somebody waits, without saying so: whoever settles them would tell nobody. */
export const IS_AWAITED_UNSAID = `
  not j.awaited and exists (select 1 from pawl.dependencies d where d.parent_seq = j.seq and d.met = 0)`

const SELECT_AWAITED_UNSAID = `
select j.job_id as id
from pawl.jobs j
where ${IS_AWAITED_UNSAID}`

const RECOUNTS = 'Use --fix: it counts anew.'
const REPORT = 'Restore a backup if rows were changed by hand; else report this as a bug of Pawl.'

export const dependencies = checkOf(
  'I12',
  'A child starts only after its parents, and nothing waits for ever on a parent that has settled.',
  [
    {
      sql: SELECT_WRONG_UNMET,
      message: 'Queued Jobs wait for more or fewer parents than they have left.',
      advice: RECOUNTS,
      remedy: 'queue',
    },
    {
      sql: SELECT_WRONG_PREDECESSOR,
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
      message: 'Jobs have more or fewer parents than they were accepted with.',
      advice: REPORT,
    },
    {
      sql: SELECT_WRONG_EDGES,
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
      message: 'Jobs wait for a parent that has settled, and nobody will tell them.',
      advice: 'Use --fix: it orders that they are told.',
      remedy: 'dependents',
    },
    {
      sql: SELECT_AWAITED_UNSAID,
      message: 'Somebody waits for Jobs that do not say so, so nobody would be told when they settle.',
      advice: 'Use --fix: it says so.',
      remedy: 'dependents',
    },
    {
      sql: SELECT_ORPHANS,
      message: 'Jobs wait for a parent that does not exist any more.',
      advice: REPORT,
    },
  ],
)
