import { IS_LIVE } from './pieces.ts'
import { checkOf } from './probe.ts'

const HOLDS_KEY = `
    j.business_key = k.business_key
    and (${IS_LIVE} or exists (select 1 from pawl.occupancies o where o.seq = j.seq))`

/** A key `k` that neither a live Job nor a body of its chain holds. */
export const IS_HELD_BY_NOBODY = `
  not exists (select 1 from pawl.jobs j where j.job_id = k.chain_id and ${HOLDS_KEY})
  and not exists (select 1 from pawl.jobs j where j.chain_id = k.chain_id and ${HOLDS_KEY})`

const SELECT_HELD_BY_NOBODY = `
select k.business_key as id
from pawl.business_keys k
where ${IS_HELD_BY_NOBODY}`

const HAS_NO_KEY = `
  j.business_key is not null
  and not exists (
    select 1
    from pawl.business_keys k
    where k.business_key = j.business_key and k.chain_id = coalesce(j.chain_id, j.job_id)
  )`

/** A live Job `j` that does not hold the key it has. */
export const IS_WITHOUT_ITS_KEY = `${HAS_NO_KEY} and ${IS_LIVE}`

const SELECT_WITHOUT_ITS_KEY = `
select j.job_id as id
from pawl.jobs j
where ${IS_WITHOUT_ITS_KEY}`

// As many rows as bodies execute right now.
const SELECT_BODIES_WITHOUT_KEY = `
select j.job_id as id
from pawl.occupancies o
join pawl.jobs j on j.seq = o.seq
where not ${IS_LIVE} and ${HAS_NO_KEY}`

const SELECT_KEYS_OF_OTHERS = `
select k.idempotency_key as id
from pawl.idempotency_keys k
join pawl.jobs j on j.job_id = k.job_id
where j.idempotency_key is distinct from k.idempotency_key`

const SELECT_UNKNOWN_KEYS = `
select j.job_id as id
from pawl.jobs j
where j.idempotency_key is not null
  and not exists (
    select 1
    from pawl.idempotency_keys k
    where k.idempotency_key = j.idempotency_key and k.job_id = j.job_id
  )`

export const keys = checkOf(
  'I10',
  'A business key has at most one live holder, and an idempotency key makes one Job.',
  [
    {
      sql: SELECT_HELD_BY_NOBODY,
      message: 'Business keys are taken by chains that have settled, so no new Job can have them.',
      advice: 'Use --fix: it sets these keys free.',
      remedy: 'business-keys',
    },
    {
      sql: SELECT_WITHOUT_ITS_KEY,
      message: 'Live Jobs do not hold their business key, so another Job with the same key may be live too.',
      advice: 'Use --fix: it gives them their key, unless another chain has it by now; then cancel one of the two.',
      remedy: 'business-keys',
    },
    {
      sql: SELECT_BODIES_WITHOUT_KEY,
      message: 'Bodies still execute, but the business keys of their settled chains are free already.',
      advice: 'Wait until these bodies have ended.',
      remedy: 'business-keys',
    },
    {
      sql: SELECT_KEYS_OF_OTHERS,
      message: 'Idempotency keys lead to Jobs that were accepted under another key.',
      advice: 'Restore a backup if rows were changed by hand; else report this as a bug of Pawl.',
    },
    {
      sql: SELECT_UNKNOWN_KEYS,
      message: 'Jobs were accepted under an idempotency key that is not known any more, so it could make a second Job.',
      advice: 'Restore a backup if rows were changed by hand; else report this as a bug of Pawl.',
    },
  ],
)

// As many rows as keys were made by a person.
const SELECT_BAD_HASHES = `
select key_id as id
from pawl.api_keys
where hash !~ '^[0-9a-f]{64}$'`

export const apiKeys = checkOf('api-keys', 'The hashes of API keys are well formed.', [
  {
    sql: SELECT_BAD_HASHES,
    message: 'The hashes of API keys are no SHA-256, so nobody can use these keys.',
    advice: 'Revoke these keys and make new ones.',
  },
])
