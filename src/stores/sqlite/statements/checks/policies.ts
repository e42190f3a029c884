import { checkOf } from './probe.ts'
import { POLICIES } from './walks.ts'

/** Whether a text is a policy: JSON, with what every decision about retries, timeouts and permits reads. */
function isNoPolicy(text: string): string {
  return `case
    when not json_valid(${text}) then 1
    else json_type(${text}, '$.retry.maxRetries') is not 'integer'
      or json_type(${text}, '$.retry.maxCrashRetries') is not 'integer'
      or json_type(${text}, '$.retry.backoff') is not 'object'
      or json_type(${text}, '$.resources') is not 'array'
      or coalesce(json_type(${text}, '$.timeoutMs'), 'missing') not in ('integer', 'null')
  end`
}

// As many rows as types were ever registered.
const SELECT_UNREADABLE_TYPES = `
select type as id
from pawl_types
where ${isNoPolicy('policy')}`

const SELECT_UNREADABLE_POLICIES = `
select 'policy number ' || policy_id as id
from pawl_policies
where policy_id > ? and policy_id <= ? and ${isNoPolicy('body')}`

export const policies = checkOf('policies', 'The policies of types and Jobs can be read.', [
  {
    sql: SELECT_UNREADABLE_TYPES,
    message: 'The policies of types are not as Pawl writes them, so no Job of these types is accepted elsewhere.',
    advice: 'Start a node that handles these types: it writes their policies anew.',
  },
  {
    sql: SELECT_UNREADABLE_POLICIES,
    walk: POLICIES,
    message: 'Policies of Jobs are not as Pawl writes them, so these Jobs can neither be read nor started.',
    advice: 'Restore a backup: what they were cannot be known.',
  },
])
