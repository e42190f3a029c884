import { parentFailedReason } from '../../../domain/dependency.ts'
import { assert, PawlError } from '../../../domain/errors.ts'
import type { NewGroup } from '../../../store/groups.ts'
import type { EnqueueConflict, EnqueuedItem, EnqueueResult, NewJob } from '../../../store/jobs.ts'
import type { FollowUpResult } from '../../../store/runs.ts'
import type { Transaction } from '../transaction.ts'
import { carryOut, NOBODY } from './cascades.ts'
import { insertDependencies, type Parent, weighParents } from './dependencies.ts'
import { Family } from './family.ts'
import { findJobRow } from './history.ts'
import { insertGroup } from './insert-group.ts'
import { internLane, internPolicy } from './interned.ts'
import { findBusinessKey, holdBusinessKey } from './keys.ts'
import { cancelQueued } from './leave-queue.ts'
import { insertQueued } from './queued.ts'
import { insertTags } from './tags.ts'

type Answer = EnqueuedItem | { readonly kind: 'conflict'; readonly conflict: EnqueueConflict }

/** Accepts all of them or none. Conflicts are looked for before anything is written, so none needs undoing. */
export function enqueueJobs(transaction: Transaction, jobs: readonly NewJob[], now: number): EnqueueResult {
  return enqueueMembers(transaction, jobs, null, now)
}

/** The same for Jobs that belong to a group. */
export function enqueueMembers(
  transaction: Transaction,
  jobs: readonly NewJob[],
  group: NewGroup | null,
  now: number,
): EnqueueResult {
  const answers = jobs.some(hasKey) ? answerKeys(transaction, jobs) : null
  const refused = answers?.find((answer) => answer?.kind === 'conflict')
  if (refused?.kind === 'conflict') return { kind: 'refused', conflict: refused.conflict }
  const conflict = findUnusableTemplate(transaction, jobs)
  if (conflict !== null) return { kind: 'refused', conflict }
  const family = Family.of(transaction, jobs, answers, group)
  if (family !== null && family.conflict !== null) return { kind: 'refused', conflict: family.conflict }
  if (group !== null) insertGroup(transaction.connection, group, jobs.length, now)
  const items = jobs.map((job, index) => {
    const answer = answers?.[index]
    return answer?.kind === 'existing' ? answer : insertJob(transaction, job, index, group, family, now)
  })
  carryOut(transaction, NOBODY, now)
  return { kind: 'enqueued', items }
}

/** One Job that may be dropped: a follow-up whose key is taken. */
export function enqueueOrDrop(transaction: Transaction, job: NewJob, now: number): FollowUpResult {
  const result = enqueueJobs(transaction, [job], now)
  if (result.kind === 'refused') return { kind: 'dropped', jobId: job.jobId }
  const item = result.items[0] as EnqueuedItem
  return item.kind === 'created' ? { kind: 'created', jobId: item.jobId } : item
}

function hasKey(job: NewJob): boolean {
  return job.businessKey !== null || job.idempotency !== null
}

/** What the keys say of each Job: null when it may be written. Keys also count among the Jobs of the list itself. */
function answerKeys(transaction: Transaction, jobs: readonly NewJob[]): (Answer | null)[] {
  const idempotencyKeys = new Map<string, { jobId: string; fingerprint: string }>()
  const businessKeys = new Map<string, string>()
  return jobs.map((job, index) => {
    if (job.idempotency !== null) {
      const { key, fingerprint } = job.idempotency
      const here = idempotencyKeys.get(key)
      const first = here ?? findIdempotencyKey(transaction, key)
      if (first !== undefined) {
        if (first.fingerprint !== fingerprint) {
          return { kind: 'conflict', conflict: { kind: 'idempotency-key-reused', index, jobId: first.jobId } }
        }
        const pruned = here === undefined && !existsJob(transaction, first.jobId)
        return { kind: 'existing', jobId: first.jobId, pruned }
      }
      idempotencyKeys.set(key, { jobId: job.jobId, fingerprint })
    }
    if (job.businessKey !== null) {
      const holder = businessKeys.get(job.businessKey) ?? findBusinessKey(transaction, job.businessKey)
      if (holder !== undefined) {
        return { kind: 'conflict', conflict: { kind: 'business-key-taken', index, jobId: holder } }
      }
      businessKeys.set(job.businessKey, job.jobId)
    }
    return null
  })
}

const SELECT_IDEMPOTENCY_KEY = `
select job_id as jobId, fingerprint
from pawl_idempotency_keys
where idempotency_key = ?`

function findIdempotencyKey(transaction: Transaction, key: string): { jobId: string; fingerprint: string } | undefined {
  return transaction.connection.get<{ jobId: string; fingerprint: string }>(SELECT_IDEMPOTENCY_KEY, key)
}

const EXISTS_JOB = 'select 1 as found from pawl_jobs where job_id = ?'

function existsJob(transaction: Transaction, jobId: string): boolean {
  return transaction.connection.get(EXISTS_JOB, jobId) !== undefined
}

const INSERT_IDEMPOTENCY_KEY = `
insert into pawl_idempotency_keys (idempotency_key, job_id, fingerprint, created_at)
values (?, ?, ?, ?)`

const SELECT_TEMPLATE = 'select archived_at from pawl_templates where template_id = ?'

/** Somebody may have archived a template after the request was prepared from it. */
function findUnusableTemplate({ connection }: Transaction, jobs: readonly NewJob[]): EnqueueConflict | null {
  for (let index = 0; index < jobs.length; index++) {
    const templateId = jobs[index]?.templateId ?? null
    if (templateId === null) continue
    const row = connection.get<{ archived_at: number | null }>(SELECT_TEMPLATE, templateId)
    if (row === undefined || row.archived_at !== null) return { kind: 'template-not-usable', index, templateId }
  }
  return null
}

// Most Jobs stand alone and have no name, tags or keys: to bind a value costs about as much as to store it.
const INSERT_BARE_JOB = `
insert into pawl_jobs (seq, job_id, lane_id, policy_id, priority, position, run_at, created_at, params)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)`

const INSERT_JOB = `
insert into pawl_jobs (
  seq, job_id, lane_id, policy_id, priority, position, run_at, created_at, params,
  name, tags, created_by, business_key, idempotency_key,
  template_id, schedule_id, slot_at, group_id, parents, webhook_url
) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const JOIN_SCHEDULE = 'insert into pawl_scheduled_chains (schedule_id, chain_seq) values (?, ?)'

function insertJob(
  transaction: Transaction,
  job: NewJob,
  index: number,
  group: NewGroup | null,
  family: Family | null,
  now: number,
): EnqueuedItem {
  const { connection } = transaction
  const runAt = job.runAt ?? now
  const { laneId } = internLane(transaction, job.type, job.policy.resources)
  const position = transaction.takeLastPosition(job.priority)
  const seq = family === null ? transaction.takeSeq() : family.seqOf(index)
  const parents = family === null ? NO_PARENTS : family.parentsOf(index)
  const policyId = internPolicy(transaction, job.policy)
  const tags = job.tags.length === 0 ? null : JSON.stringify(job.tags)
  if (group === null && parents.length === 0 && isBare(job)) {
    const { jobId, priority, params } = job
    connection.insertLater(INSERT_BARE_JOB, seq, jobId, laneId, policyId, priority, position, runAt, now, params)
  } else {
    refuseNul(job)
    connection.insertLater(
      INSERT_JOB,
      seq,
      job.jobId,
      laneId,
      policyId,
      job.priority,
      position,
      runAt,
      now,
      job.params,
      job.name,
      tags,
      job.createdBy,
      job.businessKey,
      job.idempotency?.key ?? null,
      job.templateId,
      job.scheduleId,
      job.slotAt,
      group?.groupId ?? null,
      parents.length,
      job.webhookUrl,
    )
  }
  transaction.accept(seq)
  const { unmet, doomedBy } = parents.length === 0 ? NO_WEIGHT : weighParents(parents)
  const { priority } = job
  insertQueued(transaction, {
    seq,
    laneId,
    awaitsPredecessor: false,
    unmetParents: unmet,
    priority,
    position,
    runAt,
    now,
  })
  if (tags !== null) insertTags(transaction, seq, tags)
  if (parents.length > 0) insertDependencies(transaction, seq, parents)
  if (job.scheduleId !== null) connection.run(JOIN_SCHEDULE, job.scheduleId, seq)
  if (job.idempotency !== null) {
    const { key, fingerprint } = job.idempotency
    connection.run(INSERT_IDEMPOTENCY_KEY, key, job.jobId, fingerprint, now)
  }
  if (job.businessKey !== null) holdBusinessKey(transaction, job.businessKey, job.jobId)
  transaction.noteWhole(seq, {
    kind: 'job.queued',
    jobId: job.jobId,
    runId: null,
    chainId: job.jobId,
    type: job.type,
    status: 'QUEUED',
    outcome: null,
    reason: null,
    attempt: 1,
    at: now,
  })
  if (doomedBy !== null) cancelAtOnce(transaction, job.jobId, doomedBy, now)
  return { kind: 'created', jobId: job.jobId, position }
}

/** It has nothing but what every Job has. */
function isBare(job: NewJob): boolean {
  return (
    job.tags.length === 0 &&
    job.name === null &&
    job.createdBy === null &&
    job.businessKey === null &&
    job.idempotency === null &&
    job.templateId === null &&
    job.scheduleId === null &&
    job.webhookUrl === null
  )
}

const NO_PARENTS: readonly Parent[] = []
const NO_WEIGHT = { unmet: 0, doomedBy: null }

/** A parent has failed already, and the Job shall not run without it. It is accepted all the same, and its history says why. */
function cancelAtOnce(transaction: Transaction, jobId: string, parent: Parent, now: number): void {
  const row = findJobRow(transaction.connection, { jobId })
  assert(row !== undefined && parent.outcome !== null, `Job ${jobId} was just written`)
  const reason = parentFailedReason(parent.parentId, parent.outcome)
  cancelQueued(transaction, row, { mode: 'graceful', reason, cancelledFor: parent.chainId, now })
}

/** SQLite would cut the text there. Doors refuse it before; a caller of the store gets an error for this list alone. */
function refuseNul(job: NewJob): void {
  for (const text of [job.name, job.createdBy, job.businessKey, job.idempotency?.key]) {
    if (text?.includes('\u0000')) throw new PawlError('invalid_option', 'A text with U+0000 cannot be stored.')
  }
}
