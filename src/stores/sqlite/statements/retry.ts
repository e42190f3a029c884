import { chainOutcome } from '../../../domain/chain.ts'
import { assert } from '../../../domain/errors.ts'
import { NO_RETRIES_YET } from '../../../domain/retry.ts'
import type { RetryOrder } from '../../../store/runs.ts'
import type { SqlRow } from '../connection.ts'
import { type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { reopenParents } from './dependencies.ts'
import { isChainOccupied } from './history.ts'
import { findBusinessKey, holdBusinessKey } from './keys.ts'
import { takeBackMember } from './members.ts'
import { noteQueued } from './note-queued.ts'
import { chainSeqOf } from './parents.ts'
import { insertQueued } from './queued.ts'
import { insertTags } from './tags.ts'

// Everything that the order does not name is copied from the predecessor, also its place in the queue.
const INSERT_RETRY = `
insert into pawl_jobs (
  seq, job_id, lane_id, policy_id, priority, position, run_at, created_at, attempt, chain_id, retry_of,
  error_retries, crash_retries, shutdown_retries, name, tags, created_by, business_key, params, template_id, schedule_id,
  slot_at, group_id, parents, webhook_url
)
select ?, ?, lane_id, policy_id, coalesce(?, priority), coalesce(?, position), ?, ?, attempt + 1,
  coalesce(chain_id, job_id), job_id, ?, ?, ?, name, tags, created_by, business_key, params, template_id, schedule_id,
  slot_at, case when ? then group_id end, parents, webhook_url
from pawl_jobs
where seq = ?
returning seq, job_id, chain_id, lane_id, attempt, priority, position, tags`

interface RetryPlace {
  /** A body of the predecessor has not ended: the retry must not start before it has. */
  readonly awaitsPredecessor: boolean
  readonly now: number
  /** Absent: where the predecessor stood. */
  readonly priority?: number
  readonly position?: number
  /** @default 0 */
  readonly unmetParents?: number
  /** False: its group has settled without it. @default true */
  readonly staysInGroup?: boolean
}

export function insertRetry(
  transaction: Transaction,
  predecessorSeq: number,
  order: RetryOrder,
  place: RetryPlace,
): void {
  const { connection } = transaction
  const row = connection.runReturning<InsertedRetry>(
    INSERT_RETRY,
    transaction.takeSeq(),
    order.jobId,
    place.priority ?? null,
    place.position ?? null,
    order.runAt,
    place.now,
    order.counts.errorRetries,
    order.counts.crashRetries,
    order.counts.shutdownRetries,
    (place.staysInGroup ?? true) ? 1 : 0,
    predecessorSeq,
  )
  assert(row !== undefined, `there is no Job ${predecessorSeq} to retry`)
  transaction.accept(row.seq)
  insertQueued(transaction, {
    seq: row.seq,
    laneId: row.lane_id,
    awaitsPredecessor: place.awaitsPredecessor,
    unmetParents: place.unmetParents ?? 0,
    priority: row.priority,
    position: row.position,
    runAt: order.runAt,
    now: place.now,
  })
  if (row.tags !== null) insertTags(transaction, row.seq, row.tags)
  noteQueued(transaction, 'job.queued', row, place.now)
}

interface InsertedRetry extends SqlRow {
  seq: number
  job_id: string
  chain_id: string
  lane_id: number
  attempt: number
  priority: number
  position: number
  tags: string | null
}

// At most 1 row: a chain has one live Job.
const UNBLOCK_RETRY = `
update pawl_queue
set awaits_predecessor = 0, ready = (run_at <= ? and unmet_parents = 0)
where awaits_predecessor = 1
  and (priority, position, created_at, seq) in (select priority, position, created_at, seq from pawl_jobs where chain_id = ?)`

const HAS_LIVE_JOB = `
select 1 as found
from pawl_jobs j
left join pawl_runs r on r.seq = j.seq
where j.chain_id = ? and j.cancelled_at is null and r.status is null
limit 1`

/** The body of an earlier attempt has ended: the retry may start. False: none follows, the chain is settled. */
export function unblockRetry(transaction: Transaction, chainId: string, now: number): boolean {
  transaction.connection.run(UNBLOCK_RETRY, now, chainId)
  return transaction.connection.get(HAS_LIVE_JOB, chainId) !== undefined
}

// The group does not stop or skip it any more, so what the failure of its predecessor means is now said by the edge itself.
// It may still have to wait for the member before it, but nobody has named that one: such an edge has no place.
const LEAVE_ORDER = `
update pawl_dependencies
set of_group = 0, place = -1, on_failure = case on_failure when 'wait' then 'cancel' else on_failure end
where child_seq = ? and of_group = 1`

const REJOIN_SCHEDULE =
  'insert into pawl_scheduled_chains (schedule_id, chain_seq) values (?, ?) on conflict do nothing'

/**
 * A settled chain goes on with a new Job: fresh budgets, last at its priority. `byHand`: a person asked for just this Job,
 * so parents that have failed do not hold it back.
 */
export function appendByHand(
  transaction: Transaction,
  last: JobRow,
  request: {
    readonly newJobId: string
    readonly priority: number | null
    readonly byHand: boolean
    readonly now: number
  },
): { kind: 'created'; jobId: string } | { kind: 'business-key-taken'; jobId: string } | { kind: 'doomed' } {
  const chainId = last.chain_id ?? last.job_id
  const holder = last.business_key === null ? undefined : findBusinessKey(transaction, last.business_key)
  if (holder !== undefined && holder !== chainId) return { kind: 'business-key-taken', jobId: holder }
  const parents = reopenParents(transaction, last, request.byHand)
  if (parents.isDoomed) return { kind: 'doomed' }
  if (last.business_key !== null && holder === undefined) holdBusinessKey(transaction, last.business_key, chainId)
  const stays = staysInGroup(transaction, last)
  if (!stays && last.parents > 0) {
    transaction.connection.run(LEAVE_ORDER, chainSeqOf(transaction.connection, chainId) ?? last.seq)
  }
  const priority = request.priority ?? last.priority
  const retry = { jobId: request.newJobId, runAt: request.now, counts: NO_RETRIES_YET }
  insertRetry(transaction, last.seq, retry, {
    awaitsPredecessor: isChainOccupied(transaction.connection, chainId),
    now: request.now,
    priority,
    position: transaction.takeLastPosition(priority),
    unmetParents: parents.unmet,
    staysInGroup: stays,
  })
  if (last.schedule_id !== null) {
    const chainSeq = chainSeqOf(transaction.connection, chainId) ?? last.seq
    transaction.connection.run(REJOIN_SCHEDULE, last.schedule_id, chainSeq)
  }
  return { kind: 'created', jobId: request.newJobId }
}

/** A settled group stays settled: a chain that goes on afterwards leaves it. */
function staysInGroup(transaction: Transaction, last: JobRow): boolean {
  if (last.group_id === null) return true
  const outcome = chainOutcome({ status: statusOf(last), outcome: last.run_status })
  return outcome !== null && takeBackMember(transaction, last.group_id, outcome)
}
