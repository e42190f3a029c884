import { checkOf } from './probe.ts'

/** Whether a text is a policy: JSON, with what every decision about retries, timeouts and permits reads. */
function isNoPolicy(text: string): string {
  return `case
    when not pawl.is_json(${text}) then true
    else coalesce((${text}::json #> '{retry,maxRetries}')::text, '') !~ '^[0-9]+$'
      or coalesce((${text}::json #> '{retry,maxCrashRetries}')::text, '') !~ '^[0-9]+$'
      or json_typeof(${text}::json #> '{retry,backoff}') is distinct from 'object'
      or json_typeof(${text}::json -> 'resources') is distinct from 'array'
      or coalesce((${text}::json -> 'timeoutMs')::text, '') !~ '^([0-9]+|null)$'
  end`
}

// As many rows as types were ever registered.
const SELECT_UNREADABLE_TYPES = `
select type as id
from pawl.types
where ${isNoPolicy('policy')}`

const SELECT_UNREADABLE_POLICIES = `
select 'policy number ' || policy_id as id
from pawl.policies
where ${isNoPolicy('body')}`

export const policies = checkOf('policies', 'The policies of types and Jobs can be read.', [
  {
    sql: SELECT_UNREADABLE_TYPES,
    message: 'The policies of types are not as Pawl writes them, so no Job of these types is accepted elsewhere.',
    advice: 'Start a node that handles these types: it writes their policies anew.',
  },
  {
    sql: SELECT_UNREADABLE_POLICIES,
    message: 'Policies of Jobs are not as Pawl writes them, so these Jobs can neither be read nor started.',
    advice: 'Restore a backup: what they were cannot be known.',
  },
])
