import type { SqlValue } from '../../connection.ts'

/**
 * A way through a table in pages. `next` leads from where the last page ended to where the next one does; its columns are
 * the bounds, and no row, or a null, means that nothing is left.
 */
export interface Walk {
  readonly next: string
  readonly start: readonly SqlValue[]
}

const FIRST_NUMBER = [Number.MIN_SAFE_INTEGER]
const FIRST_TEXT = ['']

const SELECT_NEXT_JOBS = `
select max(seq) as seq
from (select seq from pawl_jobs where seq > ? order by seq limit 5000)`

export const JOBS: Walk = { next: SELECT_NEXT_JOBS, start: FIRST_NUMBER }

const SELECT_NEXT_RUNS = `
select max(seq) as seq
from (select seq from pawl_runs where seq > ? order by seq limit 5000)`

export const RUNS: Walk = { next: SELECT_NEXT_RUNS, start: FIRST_NUMBER }

// A page may end between two edges of one child; the bound takes in all of them.
const SELECT_NEXT_EDGES = `
select max(child_seq) as child_seq
from (select child_seq from pawl_dependencies where child_seq > ? order by child_seq limit 2000)`

export const EDGES: Walk = { next: SELECT_NEXT_EDGES, start: FIRST_NUMBER }

const SELECT_NEXT_DELIVERIES = `
select max(delivery_seq) as delivery_seq
from (select delivery_seq from pawl_deliveries where delivery_seq > ? order by delivery_seq limit 5000)`

export const DELIVERIES: Walk = { next: SELECT_NEXT_DELIVERIES, start: FIRST_NUMBER }

const SELECT_NEXT_RESERVATIONS = `
select max(reservation_seq) as reservation_seq
from (select reservation_seq from pawl_reservations where reservation_seq > ? order by reservation_seq limit 5000)`

export const RESERVATIONS: Walk = { next: SELECT_NEXT_RESERVATIONS, start: FIRST_NUMBER }

const SELECT_NEXT_POLICIES = `
select max(policy_id) as policy_id
from (select policy_id from pawl_policies where policy_id > ? order by policy_id limit 5000)`

export const POLICIES: Walk = { next: SELECT_NEXT_POLICIES, start: FIRST_NUMBER }

// Few at a time: each may have many members.
const SELECT_NEXT_GROUPS = `
select max(group_id) as group_id
from (select group_id from pawl_groups where group_id > ? order by group_id limit 100)`

export const GROUPS: Walk = { next: SELECT_NEXT_GROUPS, start: FIRST_TEXT }

const SELECT_NEXT_BUSINESS_KEYS = `
select max(business_key) as business_key
from (select business_key from pawl_business_keys where business_key > ? order by business_key limit 2000)`

export const BUSINESS_KEYS: Walk = { next: SELECT_NEXT_BUSINESS_KEYS, start: FIRST_TEXT }

const SELECT_NEXT_IDEMPOTENCY_KEYS = `
select max(idempotency_key) as idempotency_key
from (select idempotency_key from pawl_idempotency_keys where idempotency_key > ? order by idempotency_key limit 5000)`

export const IDEMPOTENCY_KEYS: Walk = { next: SELECT_NEXT_IDEMPOTENCY_KEYS, start: FIRST_TEXT }

const SELECT_NEXT_LANE_JOBS = `
select lane_id, seq
from (select lane_id, seq from pawl_lane_jobs where (lane_id, seq) > (?, ?) order by lane_id, seq limit 5000)
order by lane_id desc, seq desc
limit 1`

export const LANE_JOBS: Walk = { next: SELECT_NEXT_LANE_JOBS, start: [...FIRST_NUMBER, ...FIRST_NUMBER] }

const SELECT_NEXT_TAGS = `
select tag, seq
from (select tag, seq from pawl_job_tags where (tag, seq) > (?, ?) order by tag, seq limit 2000)
order by tag desc, seq desc
limit 1`

export const TAGS: Walk = { next: SELECT_NEXT_TAGS, start: [...FIRST_TEXT, ...FIRST_NUMBER] }
