import { chainOutcome } from '../../../domain/chain.ts'
import { assert } from '../../../domain/errors.ts'
import { NO_RETRIES_YET } from '../../../domain/retry.ts'
import type { RetryOrder } from '../../../store/runs.ts'
import { atPlaceOf, type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { reopenParents } from './dependencies.ts'
import { isChainOccupied } from './history.ts'
import { findBusinessKey, holdBusinessKey } from './keys.ts'
import { JOIN_LIVE, LIVE_COLUMNS, type LiveRow, lockLive, placesOf } from './live-rows.ts'
import { takeBackMember } from './members.ts'
import { noteQueued } from './note-queued.ts'

// One row per retry. Everything that the order does not name is copied from the predecessor, also its place in the queue.
const INSERT_RETRIES = `
with given as (
  select *
  from unnest(
    $1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::integer[], $6::integer[], $7::integer[], $8::boolean[],
    $9::integer[], $10::integer[], $11::boolean[]
  ) with ordinality as given (
    predecessor, job_id, run_at, now, error_retries, crash_retries, shutdown_retries, awaits_predecessor, last_at,
    unmet_parents, stays_in_group, place
  )
),
numbered as materialized (
  select nextval('pawl.job_seq') as number, g.*
  from given g
  order by g.place
),
planned as materialized (
  select n.*, p.lane_id, p.tags, coalesce(n.last_at, p.priority) as priority,
    case when n.last_at is null then p.position else 100 * n.number end as position
  from numbered n
  join pawl.jobs p on p.seq = n.predecessor
),
made as (
  insert into pawl.jobs (
    seq, job_id, lane_id, policy_id, priority, position, run_at, created_at, attempt, chain_id, retry_of,
    error_retries, crash_retries, shutdown_retries, name, tags, created_by, business_key, params, template_id, schedule_id,
    slot_at, group_id, parents, webhook_url
  )
  select r.number, r.job_id, p.lane_id, p.policy_id, r.priority, r.position, r.run_at, r.now, p.attempt + 1,
    coalesce(p.chain_id, p.job_id), p.job_id, r.error_retries, r.crash_retries, r.shutdown_retries, p.name, p.tags,
    p.created_by, p.business_key, p.params, p.template_id, p.schedule_id, p.slot_at,
    case when r.stays_in_group then p.group_id end, p.parents, p.webhook_url
  from planned r
  join pawl.jobs p on p.seq = r.predecessor
  returning seq, job_id, chain_id, lane_id, attempt, created_at
),
queued as (
  insert into pawl.queue (
    seq, lane_id, ready, awaits_predecessor, unmet_parents, priority, position, run_at, created_at
  )
  select number, lane_id, run_at <= now and not awaits_predecessor and unmet_parents = 0, awaits_predecessor,
    unmet_parents, priority, position, run_at, now
  from planned
),
tagged as (
  insert into pawl.job_tags (tag, seq)
  select distinct tag, r.number
  from planned r, json_array_elements_text(r.tags::json) tag
  where r.tags is not null
)
select m.seq, m.job_id, m.chain_id, l.type, m.attempt, m.created_at
from made m
join pawl.lanes l on l.lane_id = m.lane_id
order by m.seq`

/** The next Job of a chain that is locked. */
export interface NewRetry {
  readonly predecessorSeq: number
  readonly order: RetryOrder
  /** A body of the predecessor has not ended: the retry must not start before it has. */
  readonly awaitsPredecessor: boolean
  readonly now: number
  /** Last at this priority. Absent: where the predecessor stood. */
  readonly lastAt?: number
  /** @default 0 */
  readonly unmetParents?: number
  /** False: its group has settled without it. @default true */
  readonly staysInGroup?: boolean
}

export async function insertRetries(transaction: Transaction, retries: readonly NewRetry[]): Promise<void> {
  if (retries.length === 0) return
  type Row = Parameters<typeof noteQueued>[2] & { created_at: number }
  const rows = await transaction.connection.runReturningAll<Row>(
    INSERT_RETRIES,
    retries.map(({ predecessorSeq }) => predecessorSeq),
    retries.map(({ order }) => order.jobId),
    retries.map(({ order }) => order.runAt),
    retries.map(({ now }) => now),
    retries.map(({ order }) => order.counts.errorRetries),
    retries.map(({ order }) => order.counts.crashRetries),
    retries.map(({ order }) => order.counts.shutdownRetries),
    retries.map(({ awaitsPredecessor }) => awaitsPredecessor),
    retries.map(({ lastAt }) => lastAt ?? null),
    retries.map(({ unmetParents }) => unmetParents ?? 0),
    retries.map(({ staysInGroup }) => staysInGroup ?? true),
  )
  assert(rows.length === retries.length, `of ${retries.length} Jobs to retry, only ${rows.length} are there`)
  for (const row of rows) noteQueued(transaction, 'job.queued', row, row.created_at)
}

// At most one row per chain: a chain has one live Job.
const SELECT_HELD_RETRIES = `
select ${LIVE_COLUMNS}
from pawl.jobs j
${JOIN_LIVE}
where j.chain_id = any($1::text[]) and q.awaits_predecessor`

// As many rows as were given.
const UNBLOCK_RETRIES = `
update pawl.queue q
set awaits_predecessor = false, ready = (q.run_at <= $5::bigint and q.unmet_parents = 0)
from unnest($1::integer[], $2::bigint[], $3::bigint[], $4::bigint[]) as given (priority, position, created_at, seq)
where ${atPlaceOf('given')}`

const SELECT_GOING_ON = `
select distinct j.chain_id
from pawl.jobs j
left join pawl.runs r on r.seq = j.seq
where j.chain_id = any($1::text[]) and j.cancelled_at is null and r.status is null`

/**
 * The bodies of earlier attempts of these chains, which are locked, have ended: their retries may start. Returns the chains
 * that go on; the others are settled.
 */
export async function unblockRetries(
  { connection }: Transaction,
  chainIds: readonly string[],
  now: number,
): Promise<ReadonlySet<string>> {
  // Somebody may move it to another place just now, and then it would not be found by its place.
  const held = await lockLive(connection, () => connection.all<LiveRow>(SELECT_HELD_RETRIES, chainIds))
  if (held.length > 0) await connection.run(UNBLOCK_RETRIES, ...placesOf(held), now)
  const goingOn = await connection.all<{ chain_id: string }>(SELECT_GOING_ON, chainIds)
  return new Set(goingOn.map(({ chain_id }) => chain_id))
}

// The group does not stop or skip it any more, so what the failure of its predecessor means is now said by the edge itself.
// It may still have to wait for the member before it, but nobody has named that one: such an edge has no place.
const LEAVE_ORDER = `
update pawl.dependencies
set of_group = false, place = -1, on_failure = case on_failure when 'wait' then 'cancel' else on_failure end
where child_seq = $1 and of_group`

const REJOIN_SCHEDULE =
  'insert into pawl.scheduled_chains (schedule_id, chain_seq) values ($1, $2) on conflict do nothing'

/**
 * A settled chain, which is locked, goes on with a new Job: fresh budgets, last at its priority. `byHand`: a person asked for
 * just this Job, so parents that have failed do not hold it back.
 */
export async function appendByHand(
  transaction: Transaction,
  last: JobRow,
  request: {
    readonly newJobId: string
    readonly priority: number | null
    readonly byHand: boolean
    readonly chainSeq: number
    readonly now: number
  },
): Promise<{ kind: 'created'; jobId: string } | { kind: 'business-key-taken'; jobId: string } | { kind: 'doomed' }> {
  const { connection } = transaction
  const { chainSeq } = request
  const chainId = last.chain_id ?? last.job_id
  const holder = last.business_key === null ? undefined : await findBusinessKey(transaction, last.business_key)
  if (holder !== undefined && holder !== chainId) return { kind: 'business-key-taken', jobId: holder }
  const parents = await reopenParents(transaction, last, request.byHand)
  if (parents.isDoomed) return { kind: 'doomed' }
  if (last.business_key !== null && holder === undefined) await holdBusinessKey(transaction, last.business_key, chainId)
  const stays = await staysInGroup(transaction, last)
  if (!stays && last.parents > 0) await connection.run(LEAVE_ORDER, chainSeq)
  await insertRetries(transaction, [
    {
      predecessorSeq: last.seq,
      order: { jobId: request.newJobId, runAt: request.now, counts: NO_RETRIES_YET },
      awaitsPredecessor: await isChainOccupied(connection, chainId),
      now: request.now,
      lastAt: request.priority ?? last.priority,
      unmetParents: parents.unmet,
      staysInGroup: stays,
    },
  ])
  if (last.schedule_id !== null) await connection.run(REJOIN_SCHEDULE, last.schedule_id, chainSeq)
  return { kind: 'created', jobId: request.newJobId }
}

/** A settled group stays settled: a chain that goes on afterwards leaves it. */
async function staysInGroup(transaction: Transaction, last: JobRow): Promise<boolean> {
  if (last.group_id === null) return true
  const outcome = chainOutcome({ status: statusOf(last), outcome: last.run_status })
  return outcome !== null && takeBackMember(transaction, last.group_id, outcome)
}
