import { PARENTS_MAX } from '../../../domain/dependency.ts'
import { assert } from '../../../domain/errors.ts'
import { decideOverlap, type OverlapPolicy, type SkippedSlots, type SkipReason } from '../../../domain/schedule.ts'
import type { EnqueuedItem, NewJob } from '../../../store/jobs.ts'
import type { FiringResult, Slot, SlotFiring, TriggerResult } from '../../../store/schedules.ts'
import { withSkipped } from '../../shared/schedule-rows.ts'
import type { Connection } from '../connection.ts'
import { IN_QUEUE } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { enqueueJobs } from './enqueue.ts'
import { recordSkip } from './skipped-slots.ts'
import { isTemplateUsable } from './templates.ts'

export function fireSlots(
  transaction: Transaction,
  firings: readonly SlotFiring[],
  now: number,
): readonly FiringResult[] {
  return firings.map((firing) => fire(transaction, firing, now))
}

const SELECT_FENCE = 'select revision, last_slot_at from pawl_schedules where schedule_id = ?'

// 1 row: it goes on from there. 0 rows cannot be: the fence was read in this transaction.
const MOVE_ON = `
update pawl_schedules
set revision = revision + 1, last_slot_at = ?, next_slot_at = ?, planned_at = ?,
  last_triggered_at = coalesce(?, last_triggered_at)
where schedule_id = ? and revision = ?`

/** Everything that can refuse the whole firing is looked at before the first write. */
export function fire(transaction: Transaction, firing: SlotFiring, now: number): FiringResult {
  const { connection } = transaction
  const { scheduleId, revision, lastSlotAt, nextSlotAt } = firing
  const fence = connection.get<{ revision: number; last_slot_at: number }>(SELECT_FENCE, scheduleId)
  if (fence?.revision !== revision) return { kind: 'stale' }
  if (firing.slots.some(({ job }) => !mayBeMadeFrom(connection, job.templateId))) return { kind: 'template-archived' }
  const due = firing.slots.filter(({ slotAt }) => slotAt > fence.last_slot_at)
  const { jobIds, skipped } = makeJobs(transaction, firing, due, now)
  recordSkips(transaction, scheduleId, [...firing.skipped, ...skipped], fence.last_slot_at, jobIds.length > 0, now)
  const triggeredAt = jobIds.length > 0 ? now : null
  const moved = connection.run(MOVE_ON, lastSlotAt, nextSlotAt, now, triggeredAt, scheduleId, revision)
  assert(moved === 1, 'a schedule changed inside a transaction')
  return { kind: 'fired', jobIds, skipped: [...firing.skipped, ...skipped] }
}

function mayBeMadeFrom(connection: Connection, templateId: string | null): boolean {
  return templateId === null || isTemplateUsable(connection, templateId) === true
}

function makeJobs(
  transaction: Transaction,
  { scheduleId, overlap }: SlotFiring,
  due: readonly Slot[],
  now: number,
): { jobIds: string[]; skipped: SkippedSlots[] } {
  const jobIds: string[] = []
  let skipped: SkippedSlots[] = []
  let reasonBefore: SkipReason | null = null
  for (const { slotAt, job } of due) {
    if (hasJob(transaction.connection, scheduleId, slotAt)) {
      reasonBefore = null
      continue
    }
    const reason = makeJob(transaction, job, scheduleId, overlap, now)
    if (reason === null) jobIds.push(job.jobId)
    else skipped = withSkipped(skipped, slotAt, reason, reasonBefore)
    reasonBefore = reason
  }
  return { jobIds, skipped }
}

/** Makes the Job of a slot, or says why not. */
function makeJob(
  transaction: Transaction,
  job: NewJob,
  scheduleId: string,
  overlap: OverlapPolicy,
  now: number,
): SkipReason | null {
  const earlier = earlierChains(transaction.connection, scheduleId, overlap)
  const decision = decideOverlap(overlap, earlier)
  if (decision === 'skip') return 'overlap'
  const made = decision === 'make-behind' ? behind(transaction.connection, job, scheduleId) : job
  const result = enqueueJobs(transaction, [made], now)
  if (result.kind === 'enqueued') {
    noteTriggered(transaction, job, now)
    return null
  }
  assert(result.conflict.kind === 'business-key-taken', `a slot was refused: ${result.conflict.kind}`)
  return 'business-key-taken'
}

const SELECT_SLOT_JOB = `
select 1 as found
from pawl_jobs
where schedule_id = ? and slot_at = ? and slot_at is not null and retry_of is null`

function hasJob(connection: Connection, scheduleId: string, slotAt: number): boolean {
  return connection.get(SELECT_SLOT_JOB, scheduleId, slotAt) !== undefined
}

/** A Job that waits until all live chains have settled, however they end. Of very many, it waits for the newest. */
function behind(connection: Connection, job: NewJob, scheduleId: string): NewJob {
  return { ...job, dependsOn: liveChains(connection, scheduleId, PARENTS_MAX), onParentFailure: 'run' }
}

const SELECT_LIVE_CHAINS = `
select j.job_id
from pawl_scheduled_chains c
cross join pawl_jobs j on j.seq = c.chain_seq
where c.schedule_id = ?
order by c.chain_seq desc
limit ?`

function liveChains(connection: Connection, scheduleId: string, limit: number): readonly string[] {
  return connection.all<{ job_id: string }>(SELECT_LIVE_CHAINS, scheduleId, limit).map(({ job_id }) => job_id)
}

// The newest first: of many that are live, it is the one that most likely waits.
const SELECT_WAITING_CHAIN = `
select 1 as found
from pawl_scheduled_chains c
cross join pawl_jobs j on j.seq = c.chain_seq
cross join pawl_queue q on ${IN_QUEUE}
where c.schedule_id = ?
order by c.chain_seq desc
limit 1`

/** A chain waits as long as its first Job has not started. While a retry waits, the chain is live, but has had its turn. */
function earlierChains(
  connection: Connection,
  scheduleId: string,
  overlap: OverlapPolicy,
): { hasLive: boolean; hasWaiting: boolean } {
  if (overlap === 'allow') return { hasLive: false, hasWaiting: false }
  const hasLive = liveChains(connection, scheduleId, 1).length > 0
  const hasWaiting =
    hasLive && overlap === 'queue-one' && connection.get(SELECT_WAITING_CHAIN, scheduleId) !== undefined
  return { hasLive, hasWaiting }
}

/** Only the first of them can go on a record of an earlier firing, and only when no Job was made in between. */
function recordSkips(
  transaction: Transaction,
  scheduleId: string,
  skips: readonly SkippedSlots[],
  lastSlotAt: number,
  hasMade: boolean,
  now: number,
): void {
  for (const [index, skip] of skips.entries()) {
    recordSkip(transaction, scheduleId, skip, index === 0 && !hasMade ? lastSlotAt : null, now)
  }
}

const SELECT_JOB_SEQ = 'select seq from pawl_jobs where job_id = ?'

function noteTriggered(transaction: Transaction, job: NewJob, now: number): void {
  const { jobId, type } = job
  const row = transaction.connection.get<{ seq: number }>(SELECT_JOB_SEQ, jobId)
  assert(row !== undefined, 'a Job that was just written is not there')
  const step = {
    kind: 'schedule.triggered',
    jobId,
    chainId: jobId,
    type,
    status: 'QUEUED',
    attempt: 1,
    at: now,
    ...(job.scheduleId === null ? {} : { scheduleId: job.scheduleId }),
  } as const
  transaction.note(row.seq, step)
}

// 1 row: the schedule is there, and remembers. 0 rows: there is none.
const NOTE_TRIGGERED = 'update pawl_schedules set last_triggered_at = ? where schedule_id = ?'

const EXISTS_SCHEDULE = 'select 1 as found from pawl_schedules where schedule_id = ?'

export function triggerSchedule(transaction: Transaction, scheduleId: string, job: NewJob, now: number): TriggerResult {
  const { connection } = transaction
  if (connection.get(EXISTS_SCHEDULE, scheduleId) === undefined) return { kind: 'not-found' }
  const result = enqueueJobs(transaction, [job], now)
  if (result.kind === 'refused') return result
  connection.run(NOTE_TRIGGERED, now, scheduleId)
  noteTriggered(transaction, job, now)
  return result.items[0] as EnqueuedItem
}
