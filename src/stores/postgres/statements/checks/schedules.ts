import { CHAIN_SEQ, IS_LIVE, isChainLive } from './pieces.ts'
import { checkOf } from './probe.ts'

const SELECT_DOUBLE_SLOTS = `
select schedule_id || ' at ' || to_char(to_timestamp(slot_at / 1000.0) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as id
from pawl.jobs
where slot_at is not null and retry_of is null
group by schedule_id, slot_at
having count(*) > 1`

const SELECT_EARLY_SLOTS = `
select job_id as id
from pawl.jobs
where retry_of is null and slot_at > created_at`

// As many rows as schedules: somebody made each of them.
const SELECT_UNCLEAR_SCHEDULES = `
select schedule_id as id
from pawl.schedules
where (cron is null) = (every_ms is null) or (template_id is null) = (type is null)
  or (not enabled and next_slot_at is not null)`

/** A row `c` says that the chain of the first Job `chain` is live and of its schedule, though it is not. */
export const IS_LEFT_CHAIN = `(
  chain.seq is null or chain.schedule_id is distinct from c.schedule_id or not ${isChainLive('chain.job_id')}
)`

/** Live Jobs `j` of schedules that do not know of them. */
export const IS_UNKNOWN_TO_SCHEDULE = `
  j.schedule_id is not null and ${IS_LIVE}
  and not exists (
    select 1
    from pawl.scheduled_chains c
    where c.schedule_id = j.schedule_id and c.chain_seq = ${CHAIN_SEQ}
  )`

const SELECT_LEFT_CHAINS = `
select c.schedule_id as id
from pawl.scheduled_chains c
left join pawl.jobs chain on chain.seq = c.chain_seq
where ${IS_LEFT_CHAIN}`

const SELECT_UNKNOWN_CHAINS = `
select j.job_id as id
from pawl.jobs j
where ${IS_UNKNOWN_TO_SCHEDULE}`

const RECOUNTS = 'Use --fix: it makes the list anew from the Jobs.'

export const schedules = checkOf('I9', 'A schedule makes one Job for each slot, and none early.', [
  {
    sql: SELECT_DOUBLE_SLOTS,
    message: 'Slots of schedules have more than one Job.',
    advice: 'Cancel what is too many, and report this as a bug of Pawl unless the index jobs_slot was dropped by hand.',
  },
  {
    sql: SELECT_EARLY_SLOTS,
    message: 'Jobs were made before the slot for which they are.',
    advice: 'Report this as a bug of Pawl with their ids.',
  },
  {
    sql: SELECT_UNCLEAR_SCHEDULES,
    message: 'Schedules have two timings or none, two targets or none, or a next slot though they are disabled.',
    advice: 'Change or remove these schedules.',
  },
  {
    sql: SELECT_LEFT_CHAINS,
    message: 'Schedules take chains for live that have settled, so slots may be skipped because of them.',
    advice: RECOUNTS,
    remedy: 'scheduled-chains',
  },
  {
    sql: SELECT_UNKNOWN_CHAINS,
    message: 'Schedules do not know of live chains that they have made, so their slots may overlap.',
    advice: RECOUNTS,
    remedy: 'scheduled-chains',
  },
])
