import type { ChainOutcome } from '../../../domain/chain.ts'
import type { RunStatus } from '../../../domain/run.ts'
import type { WebhookEvent } from '../../../domain/webhook.ts'
import type { ClaimedJob } from '../../../store/runs.ts'
import { deliveryIdOf, RUN_EVENTS, receiversOf } from '../../shared/receivers.ts'
import type { SqlRow } from '../connection.ts'
import type { JobRow } from '../rows.ts'
import type { Subscriber, Transaction } from '../transaction.ts'
import { laneById } from './interned.ts'
import { countSettledMember } from './members.ts'

/** What must be known of a Job to tell of its end and to settle its chain. */
export interface EndedJob {
  readonly seq: number
  readonly jobId: string
  readonly chainId: string
  readonly type: string
  readonly attempt: number
  readonly groupId: string | null
  readonly scheduleId: string | null
  readonly webhookUrl: string | null
  readonly hasParents: boolean
}

export function endedClaim(job: ClaimedJob): EndedJob {
  const { claim, chainId, type, attempt, groupId, scheduleId, webhookUrl, hasParents } = job
  const { jobId, ref } = claim
  return { seq: Number(ref), jobId, chainId, type, attempt, groupId, scheduleId, webhookUrl, hasParents }
}

export function endedRow(transaction: Transaction, row: JobRow): EndedJob {
  return {
    seq: row.seq,
    jobId: row.job_id,
    chainId: row.chain_id ?? row.job_id,
    type: laneById(transaction.connection, transaction.interned, row.lane_id).type,
    attempt: row.attempt,
    groupId: row.group_id,
    scheduleId: row.schedule_id,
    webhookUrl: row.webhook_url,
    hasParents: row.parents > 0,
  }
}

/** Writes the deliveries that tell of a Run's end. */
export function tellRunEnd(
  transaction: Transaction,
  job: EndedJob,
  status: RunStatus,
  willRetry: boolean,
  at: number,
): void {
  tell(transaction, job, RUN_EVENTS[status], willRetry, at)
}

export function tellCancelled(transaction: Transaction, job: EndedJob, at: number): void {
  tell(transaction, job, 'job.cancelled', false, at)
}

// It lives no more, so its parents need not be kept for it.
const LET_GO_OF_PARENTS = 'update pawl_dependencies set met = 3 where child_seq = ? and met = 1'

const LEAVE_SCHEDULE = 'delete from pawl_scheduled_chains where schedule_id = ? and chain_seq = ?'

const SELECT_CHAIN_SEQ = 'select seq from pawl_jobs where job_id = ?'

/**
 * A chain has settled: tells of it, counts it in its group, and notes that its dependents are to be released or cancelled.
 * Whoever calls this carries out the noted cascades before the transaction goes on (see `cascades.ts`).
 */
export function settleChain(
  transaction: Transaction,
  job: EndedJob,
  outcome: ChainOutcome,
  at: number,
  by: 'itself' | 'its-group' = 'itself',
): void {
  tell(transaction, job, 'job.settled', false, at)
  const chainSeq =
    job.attempt === 1
      ? job.seq
      : (transaction.connection.get<{ seq: number }>(SELECT_CHAIN_SEQ, job.chainId)?.seq ?? job.seq)
  if (job.hasParents) transaction.connection.run(LET_GO_OF_PARENTS, chainSeq)
  if (job.scheduleId !== null) transaction.connection.run(LEAVE_SCHEDULE, job.scheduleId, chainSeq)
  const isOrderOver =
    job.groupId !== null && countSettledMember(transaction, job.groupId, job.jobId, outcome, at, by) === 'stopped'
  transaction.settled.push({ chainId: job.chainId, chainSeq, isOrderOver })
}

// As many rows as webhooks are enabled; most stores have none or a few.
const SELECT_SUBSCRIBERS = `
select webhook_seq, webhook_id, events, job_types
from pawl_webhooks
where deleted_at is null and enabled = 1
order by webhook_seq`

interface SubscriberRow extends SqlRow {
  webhook_seq: number
  webhook_id: string
  events: string | null
  job_types: string | null
}

function subscribersOf(transaction: Transaction): readonly Subscriber[] {
  transaction.subscribers ??= transaction.connection.all<SubscriberRow>(SELECT_SUBSCRIBERS).map((row) => ({
    webhookSeq: row.webhook_seq,
    webhookId: row.webhook_id,
    events: row.events === null ? null : (JSON.parse(row.events) as string[]),
    jobTypes: row.job_types === null ? null : (JSON.parse(row.job_types) as string[]),
  }))
  return transaction.subscribers
}

function tell(transaction: Transaction, job: EndedJob, event: WebhookEvent, willRetry: boolean, at: number): void {
  for (const { webhookSeq, endpoint } of receiversOf(subscribersOf(transaction), job, event)) {
    transaction.connection.run(
      INSERT_DELIVERY,
      deliveryIdOf(endpoint, job.jobId, event),
      webhookSeq,
      job.seq,
      event,
      willRetry ? 1 : 0,
      endpoint,
      at,
      at,
    )
    transaction.stirs.add('deliveries')
  }
}

const INSERT_DELIVERY = `
insert into pawl_deliveries (
  delivery_id, webhook_seq, job_seq, event, will_retry, status, endpoint, next_attempt_at, created_at
)
values (?, ?, ?, ?, ?, 'PENDING', ?, ?, ?)
on conflict (delivery_id) do nothing`
