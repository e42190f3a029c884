import type { RunStatus } from '../../../domain/run.ts'
import type { WebhookEvent } from '../../../domain/webhook.ts'
import type { ClaimedJob } from '../../../store/runs.ts'
import { deliveryIdOf, RUN_EVENTS, receiversOf } from '../../shared/receivers.ts'
import type { SettledMember, Transaction } from '../transaction.ts'
import type { LiveRow } from './live-rows.ts'
import { noteSettledMember, readGroups } from './members.ts'

/** What must be known of a Job to tell of its end and to settle its chain. */
export interface EndedJob {
  readonly seq: number
  readonly jobId: string
  readonly chainId: string
  readonly chainSeq: number
  readonly type: string
  readonly groupId: string | null
  readonly scheduleId: string | null
  readonly webhookUrl: string | null
  readonly hasParents: boolean
}

export function endedClaim(job: ClaimedJob, chainSeq: number): EndedJob {
  const { claim, chainId, type, groupId, scheduleId, webhookUrl, hasParents } = job
  const { jobId, ref } = claim
  return { seq: Number(ref), jobId, chainId, chainSeq, type, groupId, scheduleId, webhookUrl, hasParents }
}

export function endedRow(row: LiveRow): EndedJob {
  return {
    seq: row.seq,
    jobId: row.job_id,
    chainId: row.chain_id ?? row.job_id,
    chainSeq: row.chain_seq,
    type: row.type,
    groupId: row.group_id,
    scheduleId: row.schedule_id,
    webhookUrl: row.webhook_url,
    hasParents: row.parents > 0,
  }
}

// As many rows as webhooks are enabled; most stores have none or a few.
const SELECT_SUBSCRIBERS = `
select webhook_seq, webhook_id, events, job_types
from pawl.webhooks
where deleted_at is null and enabled
order by webhook_seq`

/** Makes known who listens, before something is told. */
export async function readSubscribers(transaction: Transaction): Promise<void> {
  if (transaction.subscribers !== null) return
  type Row = { webhook_seq: number; webhook_id: string; events: string | null; job_types: string | null }
  transaction.subscribers = (await transaction.connection.all<Row>(SELECT_SUBSCRIBERS)).map((row) => ({
    webhookSeq: row.webhook_seq,
    webhookId: row.webhook_id,
    events: row.events === null ? null : (JSON.parse(row.events) as string[]),
    jobTypes: row.job_types === null ? null : (JSON.parse(row.job_types) as string[]),
  }))
}

/** Notes what is to be told of a Run's end. Who listens was read. */
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

function tell(transaction: Transaction, job: EndedJob, event: WebhookEvent, willRetry: boolean, at: number): void {
  for (const { webhookSeq, endpoint } of receiversOf(transaction.subscribers ?? [], job, event)) {
    const deliveryId = deliveryIdOf(endpoint, job.jobId, event)
    transaction.deliveries.push({ deliveryId, webhookSeq, endpoint, jobSeq: job.seq, event, willRetry, at })
  }
}

// As many rows as are told. A webhook that somebody removes or disables right now is waited for: it either is removed
// before, and gets no delivery, or its removal sees this one.
const INSERT_DELIVERIES = `
with live as materialized (
  select webhook_seq
  from pawl.webhooks
  where webhook_seq = any($2::integer[]) and deleted_at is null and enabled
  order by webhook_seq
  for share
)
insert into pawl.deliveries (
  delivery_id, webhook_seq, job_seq, event, will_retry, status, endpoint, next_attempt_at, created_at
)
select delivery_id, webhook_seq, job_seq, event, will_retry, 'PENDING', endpoint, at, at
from unnest($1::text[], $2::integer[], $3::bigint[], $4::text[], $5::boolean[], $6::text[], $7::bigint[])
  with ordinality as given (delivery_id, webhook_seq, job_seq, event, will_retry, endpoint, at, place)
where webhook_seq is null or webhook_seq in (select webhook_seq from live)
order by place
on conflict (delivery_id) do nothing`

/** Writes all that was noted to be told. */
export async function writeDeliveries(transaction: Transaction): Promise<void> {
  const { deliveries } = transaction
  if (deliveries.length === 0) return
  transaction.deliveries = []
  transaction.stirs.add('deliveries')
  await transaction.connection.run(
    INSERT_DELIVERIES,
    deliveries.map(({ deliveryId }) => deliveryId),
    deliveries.map(({ webhookSeq }) => webhookSeq),
    deliveries.map(({ jobSeq }) => jobSeq),
    deliveries.map(({ event }) => event),
    deliveries.map(({ willRetry }) => willRetry),
    deliveries.map(({ endpoint }) => endpoint),
    deliveries.map(({ at }) => at),
  )
}

// They live no more, so parents that were met (1) need not be kept for them (3), and the end of those for whom they still
// waited (0) need not look for them (2).
const LET_GO_OF_PARENTS = 'update pawl.dependencies set met = met + 2 where child_seq = any($1::bigint[]) and met <= 1'

const LEAVE_SCHEDULES = `
delete from pawl.scheduled_chains s
using unnest($1::text[], $2::bigint[]) as given (schedule_id, chain_seq)
where s.schedule_id = given.schedule_id and s.chain_seq = given.chain_seq`

/** A chain that has settled, by this Job. */
export interface SettledChain extends Omit<SettledMember, 'jobId'> {
  readonly job: EndedJob
}

/**
 * Chains have settled, and are locked: tells of it, notes it for their groups, and that their dependents are to be released
 * or cancelled. Whoever calls this carries out what was noted before the transaction ends (see `cascades.ts`).
 */
export async function settleChains(transaction: Transaction, chains: readonly SettledChain[]): Promise<void> {
  if (chains.length === 0) return
  const { connection } = transaction
  const children = chains.filter(({ job }) => job.hasParents).map(({ job }) => job.chainSeq)
  if (children.length > 0) await connection.run(LET_GO_OF_PARENTS, children)
  const scheduled = chains.filter(({ job }) => job.scheduleId !== null)
  if (scheduled.length > 0) {
    await connection.run(
      LEAVE_SCHEDULES,
      scheduled.map(({ job }) => job.scheduleId),
      scheduled.map(({ job }) => job.chainSeq),
    )
  }
  await readGroups(
    transaction,
    chains.map(({ job }) => job.groupId),
  )
  for (const { job, outcome, at, by } of chains) {
    tell(transaction, job, 'job.settled', false, at)
    const { jobId, chainId, chainSeq, groupId } = job
    const isOrderOver =
      groupId !== null && noteSettledMember(transaction, groupId, { jobId, outcome, at, by }) === 'stopped'
    transaction.settled.push({ chainId, chainSeq, isOrderOver })
  }
}
