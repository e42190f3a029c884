import { PARENTS_MAX } from '../../../domain/dependency.ts'
import { assert, type ErrorCode, PawlError } from '../../../domain/errors.ts'
import { decideOverlap, type OverlapPolicy, type SkippedSlots, type SkipReason } from '../../../domain/schedule.ts'
import type { EnqueuedItem, NewJob } from '../../../store/jobs.ts'
import type { FiringResult, Slot, SlotFiring, TriggerResult } from '../../../store/schedules.ts'
import { withSkipped } from '../../shared/schedule-rows.ts'
import type { Connection } from '../connection.ts'
import { IN_QUEUE } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { enqueueJobs } from './enqueue.ts'
import { recordSkips } from './skipped-slots.ts'
import { lockUsableTemplates } from './templates.ts'

/** What decides whether a firing still counts. */
export interface Fence {
  readonly revision: number
  readonly last_slot_at: number
}

// Whoever fires, changes, triggers or removes a schedule holds its row until the transaction ends. Who waited for it reads
// it as the one before left it.
const LOCK_SCHEDULE = 'select revision, last_slot_at from pawl.schedules where schedule_id = $1 for update'

/** Undefined: there is no such schedule. */
export function lockSchedule(connection: Connection, scheduleId: string): Promise<Fence | undefined> {
  return connection.get<Fence>(LOCK_SCHEDULE, scheduleId)
}

/** Firings that are written at once: most of the time each waits for the network. */
const FIRED_AT_ONCE = 4

/**
 * Each firing is a transaction of its own: nobody ever holds the rows of two schedules, and what keeps one of them from being
 * written keeps none of the others. Only a database that cannot be reached ends them all.
 */
export async function fireEach(
  firings: readonly SlotFiring[],
  fireOne: (firing: SlotFiring) => Promise<FiringResult>,
): Promise<readonly FiringResult[]> {
  const results: FiringResult[] = []
  const errors: unknown[] = []
  const rest = firings.entries()
  const fireRest = async (): Promise<void> => {
    for (const [index, firing] of rest) {
      try {
        results[index] = await fireOne(firing)
      } catch (error) {
        errors.push(error)
        if (error instanceof PawlError && ENDS_ALL.has(error.code)) return
      }
    }
  }
  await Promise.all(Array.from({ length: FIRED_AT_ONCE }, fireRest))
  if (errors.length > 0) throw errors[0]
  return results
}

const ENDS_ALL: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['closed', 'database_unavailable', 'storage_full'])

/** What it may make. */
export function jobsOf({ slots }: SlotFiring): readonly NewJob[] {
  return slots.map(({ job }) => job)
}

export async function fireSlots(transaction: Transaction, firing: SlotFiring, now: number): Promise<FiringResult> {
  const fence = await lockSchedule(transaction.connection, firing.scheduleId)
  return fence === undefined ? { kind: 'stale' } : fireLocked(transaction, fence, firing, now)
}

// 1 row: it goes on from there. 0 rows cannot be: this transaction holds the row.
const MOVE_ON = `
update pawl.schedules
set revision = revision + 1, last_slot_at = $1, next_slot_at = $2, planned_at = $3,
  last_triggered_at = coalesce($4::bigint, last_triggered_at)
where schedule_id = $5 and revision = $6`

/** Everything that can refuse the whole firing is looked at before the first write. */
export async function fireLocked(
  transaction: Transaction,
  fence: Fence,
  firing: SlotFiring,
  now: number,
): Promise<FiringResult> {
  const { connection } = transaction
  const { scheduleId, revision, lastSlotAt, nextSlotAt } = firing
  if (fence.revision !== revision) return { kind: 'stale' }
  if (!(await lockUsableTemplates(connection, templatesOf(firing)))) return { kind: 'template-archived' }
  const due = firing.slots.filter(({ slotAt }) => slotAt > fence.last_slot_at)
  const { jobIds, skipped } = await makeJobs(transaction, firing, due, now)
  const skips = [...firing.skipped, ...skipped]
  // Only the first of them can go on a record of an earlier firing, and only when no Job was made in between.
  await recordSkips(transaction, scheduleId, skips, jobIds.length > 0 ? null : fence.last_slot_at, now)
  const triggeredAt = jobIds.length > 0 ? now : null
  const moved = await connection.run(MOVE_ON, lastSlotAt, nextSlotAt, now, triggeredAt, scheduleId, revision)
  assert(moved === 1, 'a schedule changed while its row was held')
  return { kind: 'fired', jobIds, skipped: skips }
}

function templatesOf({ slots }: SlotFiring): ReadonlySet<string> {
  return new Set(slots.map(({ job }) => job.templateId).filter((templateId) => templateId !== null))
}

async function makeJobs(
  transaction: Transaction,
  { scheduleId, overlap }: SlotFiring,
  due: readonly Slot[],
  now: number,
): Promise<{ jobIds: readonly string[]; skipped: readonly SkippedSlots[] }> {
  const made = await findMadeSlots(transaction.connection, scheduleId, due)
  if (overlap === 'allow' && due.every(({ job }) => job.businessKey === null)) {
    const jobs = due.filter(({ slotAt }) => !made.has(slotAt)).map(({ job }) => job)
    await makeTogether(transaction, jobs, now)
    return { jobIds: jobs.map(({ jobId }) => jobId), skipped: [] }
  }
  const jobIds: string[] = []
  let skipped: SkippedSlots[] = []
  let reasonBefore: SkipReason | null = null
  for (const { slotAt, job } of due) {
    if (made.has(slotAt)) {
      reasonBefore = null
      continue
    }
    const reason = await makeJob(transaction, job, scheduleId, overlap, now)
    if (reason === null) jobIds.push(job.jobId)
    else skipped = withSkipped(skipped, slotAt, reason, reasonBefore)
    reasonBefore = reason
  }
  return { jobIds, skipped }
}

// Those of the slots that have their Job already.
const SELECT_MADE_SLOTS = `
select slot_at
from pawl.jobs
where schedule_id = $1 and slot_at = any($2::bigint[]) and slot_at is not null and retry_of is null`

async function findMadeSlots(
  connection: Connection,
  scheduleId: string,
  slots: readonly Slot[],
): Promise<ReadonlySet<number>> {
  if (slots.length === 0) return new Set()
  const instants = slots.map(({ slotAt }) => slotAt)
  const rows = await connection.all<{ slot_at: number }>(SELECT_MADE_SLOTS, scheduleId, instants)
  return new Set(rows.map(({ slot_at }) => slot_at))
}

/** Nothing can speak against any of them. */
async function makeTogether(transaction: Transaction, jobs: readonly NewJob[], now: number): Promise<void> {
  if (jobs.length === 0) return
  const result = await enqueueJobs(transaction, jobs, now)
  assert(result.kind === 'enqueued', 'slots were refused that nothing speaks against')
  for (const job of jobs) noteTriggered(transaction, job, now)
}

/** Makes the Job of a slot, or says why not. */
async function makeJob(
  transaction: Transaction,
  job: NewJob,
  scheduleId: string,
  overlap: OverlapPolicy,
  now: number,
): Promise<SkipReason | null> {
  for (;;) {
    const decision = decideOverlap(overlap, await earlierChains(transaction.connection, scheduleId, overlap))
    if (decision === 'skip') return 'overlap'
    const made = decision === 'make-behind' ? await behind(transaction.connection, job, scheduleId) : job
    const result = await enqueueJobs(transaction, [made], now)
    if (result.kind === 'enqueued') {
      noteTriggered(transaction, job, now)
      return null
    }
    if (result.conflict.kind === 'business-key-taken') return 'business-key-taken'
    // A chain that was live a moment ago has settled and was pruned since: it is not among the live ones any more.
    assert(result.conflict.kind === 'parent-not-found', `a slot was refused: ${result.conflict.kind}`)
  }
}

/** A Job that waits until all live chains have settled, however they end. Of very many, it waits for the newest. */
async function behind(connection: Connection, job: NewJob, scheduleId: string): Promise<NewJob> {
  return { ...job, dependsOn: await liveChains(connection, scheduleId, PARENTS_MAX), onParentFailure: 'run' }
}

// What is live now may settle at any moment, as if it had done so after this firing: then enqueueing finds it met.
const SELECT_LIVE_CHAINS = `
select (select j.job_id from pawl.jobs j where j.seq = c.chain_seq) as job_id
from pawl.scheduled_chains c
where c.schedule_id = $1
order by c.chain_seq desc
limit $2`

async function liveChains(connection: Connection, scheduleId: string, limit: number): Promise<readonly string[]> {
  const rows = await connection.all<{ job_id: string }>(SELECT_LIVE_CHAINS, scheduleId, limit)
  return rows.map(({ job_id }) => job_id)
}

// The newest first: of many that are live, it is the one that most likely waits.
const SELECT_WAITING_CHAIN = `
select 1 as found
from pawl.scheduled_chains c
cross join lateral (
  select 1
  from pawl.jobs j
  join pawl.queue q on ${IN_QUEUE}
  where j.seq = c.chain_seq
  limit 1
) waiting
where c.schedule_id = $1
order by c.chain_seq desc
limit 1`

/** A chain waits as long as its first Job has not started. While a retry waits, the chain is live, but has had its turn. */
async function earlierChains(
  connection: Connection,
  scheduleId: string,
  overlap: OverlapPolicy,
): Promise<{ hasLive: boolean; hasWaiting: boolean }> {
  if (overlap === 'allow') return { hasLive: false, hasWaiting: false }
  const hasLive = (await liveChains(connection, scheduleId, 1)).length > 0
  const hasWaiting =
    hasLive && overlap === 'queue-one' && (await connection.get(SELECT_WAITING_CHAIN, scheduleId)) !== undefined
  return { hasLive, hasWaiting }
}

/** Told right after the Job was accepted, whose number is known from there. */
function noteTriggered(transaction: Transaction, job: NewJob, now: number): void {
  const { jobId, type } = job
  const index = transaction.transitions.findLastIndex((step) => step.kind === 'job.queued' && step.jobId === jobId)
  const seq = transaction.transitionSeqs[index]
  assert(seq !== undefined, 'a Job that was just accepted was not noted')
  transaction.note(seq, {
    kind: 'schedule.triggered',
    jobId,
    chainId: jobId,
    type,
    status: 'QUEUED',
    attempt: 1,
    at: now,
    ...(job.scheduleId === null ? {} : { scheduleId: job.scheduleId }),
  })
}

// 1 row: this transaction holds it.
const NOTE_TRIGGERED = 'update pawl.schedules set last_triggered_at = $1 where schedule_id = $2'

export async function triggerSchedule(
  transaction: Transaction,
  scheduleId: string,
  job: NewJob,
  now: number,
): Promise<TriggerResult> {
  const { connection } = transaction
  if ((await lockSchedule(connection, scheduleId)) === undefined) return { kind: 'not-found' }
  const result = await enqueueJobs(transaction, [job], now)
  if (result.kind === 'refused') return result
  await connection.run(NOTE_TRIGGERED, now, scheduleId)
  noteTriggered(transaction, job, now)
  return result.items[0] as EnqueuedItem
}
