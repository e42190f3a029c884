import { SHUTDOWN_RETRIES_MAX } from '../../../../domain/retry.ts'
import { checkOf } from './probe.ts'

const SELECT_BROKEN_LINKS = `
select j.job_id as id
from pawl.jobs j
left join pawl.jobs before on before.job_id = j.retry_of
where case
    when j.retry_of is null then j.attempt <> 1 or j.chain_id is not null
    else before.seq is null or j.attempt <> before.attempt + 1 or j.lane_id <> before.lane_id
      or j.chain_id is distinct from coalesce(before.chain_id, before.job_id)
  end`

const SELECT_NEEDLESS_RETRIES = `
select j.job_id as id
from pawl.jobs j
join pawl.jobs before on before.job_id = j.retry_of
join pawl.runs r on r.seq = before.seq
where j.retry_of is not null
  and before.cancelled_at is null and r.status is distinct from 'FAILED'`

// What a retry was charged follows from how the Run before it ended.
const SELECT_OVER_BUDGET = `
select j.job_id as id
from pawl.jobs j
join pawl.jobs before on before.job_id = j.retry_of
join pawl.runs r on r.seq = before.seq
join pawl.policies p on p.policy_id = j.policy_id
where j.retry_of is not null and r.will_retry
  and case r.reason
    when 'crash' then j.crash_retries > (p.body::json #>> '{retry,maxCrashRetries}')::integer
    when 'shutdown' then j.shutdown_retries > ${SHUTDOWN_RETRIES_MAX}
    else j.error_retries > (p.body::json #>> '{retry,maxRetries}')::integer
  end`

const SELECT_MISSING_RETRIES = `
select j.job_id as id
from pawl.runs r
join pawl.jobs j on j.seq = r.seq
where r.will_retry
  and not exists (select 1 from pawl.jobs next where next.retry_of = j.job_id)`

export const chains = checkOf('I4', 'A Job is executed at most once, and the length of a chain obeys both budgets.', [
  {
    sql: SELECT_BROKEN_LINKS,
    message: 'Retries are not linked to the Job before them, or attempts are not numbered one after the other.',
    advice: 'Restore a backup: a chain that is broken cannot be put together again with certainty.',
  },
  {
    sql: SELECT_NEEDLESS_RETRIES,
    message: 'Jobs are retries of a Run that has not failed.',
    advice: 'Cancel those that are queued, and report this as a bug of Pawl with their ids.',
  },
  {
    sql: SELECT_OVER_BUDGET,
    message: 'Jobs were tried again more often than their policy allows.',
    advice: 'Report this as a bug of Pawl with their ids.',
  },
  {
    sql: SELECT_MISSING_RETRIES,
    message: 'Runs failed and were to be tried again, but the retry is not there.',
    advice:
      'Start a node, or use --fix: recovery writes the retry if the Run is one of the latest 1,000 that were retried.',
    remedy: 'recovery',
  },
])
