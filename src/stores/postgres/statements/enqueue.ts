import { parentFailedReason } from '../../../domain/dependency.ts'
import { assert, PawlError } from '../../../domain/errors.ts'
import type { NewGroup } from '../../../store/groups.ts'
import type { EnqueueConflict, EnqueuedItem, EnqueueResult, NewJob } from '../../../store/jobs.ts'
import type { FollowUpResult } from '../../../store/runs.ts'
import type { Transaction } from '../transaction.ts'
import { carryOut, NOBODY } from './cascades.ts'
import { insertDependencies, type Parent, weighParents } from './dependencies.ts'
import { type Family, findFamily } from './family.ts'
import { findJobRow } from './history.ts'
import { insertGroup } from './insert-group.ts'
import { columnsOf, INSERT_NUMBERED, type JobToInsert } from './insert-jobs.ts'
import { internLane, internPolicy } from './interned.ts'
import { cancelQueued } from './leave-queue.ts'

type Answer = EnqueuedItem | { readonly kind: 'conflict'; readonly conflict: EnqueueConflict }

/** Accepts all of them or none. Conflicts are looked for before anything is written, so none needs undoing. */
export function enqueueJobs(transaction: Transaction, jobs: readonly NewJob[], now: number): Promise<EnqueueResult> {
  return enqueueMembers(transaction, jobs, null, now)
}

/** The same for Jobs that belong to a group. */
export async function enqueueMembers(
  transaction: Transaction,
  jobs: readonly NewJob[],
  group: NewGroup | null,
  now: number,
): Promise<EnqueueResult> {
  for (const job of jobs) refuseNul(job)
  const answers = jobs.some(hasKey) ? await answerKeys(transaction, jobs) : null
  const refused = answers?.find((answer) => answer?.kind === 'conflict')
  if (refused?.kind === 'conflict') return { kind: 'refused', conflict: refused.conflict }
  const conflict = await findUnusableTemplate(transaction, jobs)
  if (conflict !== null) return { kind: 'refused', conflict }
  const family = await findFamily(transaction, jobs, answers, group)
  if (family !== null && family.conflict !== null) return { kind: 'refused', conflict: family.conflict }
  if (group !== null) await insertGroup(transaction.connection, group, jobs.length, now)
  const isNew = (index: number) => answers?.[index]?.kind !== 'existing'
  const fresh = jobs.flatMap((_, index) => (isNew(index) ? [index] : []))
  const seqs = await insertJobs(transaction, jobs, fresh, group, family, now)
  await carryOut(transaction, NOBODY, now)
  const items = jobs.map((job, index): EnqueuedItem => {
    const answer = answers?.[index]
    if (answer?.kind === 'existing') return answer
    return { kind: 'created', jobId: job.jobId, position: 100 * (seqs.get(index) as number) }
  })
  return { kind: 'enqueued', items }
}

/** One Job that may be dropped: a follow-up whose key is taken. */
export async function enqueueOrDrop(transaction: Transaction, job: NewJob, now: number): Promise<FollowUpResult> {
  const result = await enqueueJobs(transaction, [job], now)
  if (result.kind === 'refused') return { kind: 'dropped', jobId: job.jobId }
  const item = result.items[0] as EnqueuedItem
  return item.kind === 'created' ? { kind: 'created', jobId: item.jobId } : item
}

function hasKey(job: NewJob): boolean {
  return job.businessKey !== null || job.idempotency !== null
}

interface FirstUse {
  readonly jobId: string
  readonly fingerprint: string
  readonly pruned: boolean
}

/** What the keys say of each Job: null when it may be written. Keys also count among the Jobs of the list itself. */
async function answerKeys(transaction: Transaction, jobs: readonly NewJob[]): Promise<(Answer | null)[]> {
  const idempotencyKeys = await findIdempotencyKeys(transaction, jobs)
  const businessKeys = await findBusinessKeys(transaction, jobs)
  return jobs.map((job, index) => {
    if (job.idempotency !== null) {
      const { key, fingerprint } = job.idempotency
      const first = idempotencyKeys.get(key)
      if (first !== undefined) {
        if (first.fingerprint === fingerprint) return { kind: 'existing', jobId: first.jobId, pruned: first.pruned }
        return { kind: 'conflict', conflict: { kind: 'idempotency-key-reused', index, jobId: first.jobId } }
      }
      idempotencyKeys.set(key, { jobId: job.jobId, fingerprint, pruned: false })
    }
    if (job.businessKey !== null) {
      const holder = businessKeys.get(job.businessKey)
      if (holder !== undefined) {
        return { kind: 'conflict', conflict: { kind: 'business-key-taken', index, jobId: holder } }
      }
      businessKeys.set(job.businessKey, job.jobId)
    }
    return null
  })
}

const SELECT_IDEMPOTENCY_KEYS = `
select k.idempotency_key, k.job_id, k.fingerprint, j.seq is null as pruned
from pawl.idempotency_keys k
left join pawl.jobs j on j.job_id = k.job_id
where k.idempotency_key = any($1::text[])`

async function findIdempotencyKeys(
  { connection }: Transaction,
  jobs: readonly NewJob[],
): Promise<Map<string, FirstUse>> {
  const keys = jobs.flatMap(({ idempotency }) => (idempotency === null ? [] : [idempotency.key]))
  if (keys.length === 0) return new Map()
  type Row = { idempotency_key: string; job_id: string; fingerprint: string; pruned: boolean }
  const rows = await connection.all<Row>(SELECT_IDEMPOTENCY_KEYS, keys)
  return new Map(
    rows.map(({ idempotency_key, job_id, fingerprint, pruned }) => [
      idempotency_key,
      { jobId: job_id, fingerprint, pruned },
    ]),
  )
}

const SELECT_BUSINESS_KEYS = `
select business_key, chain_id
from pawl.business_keys
where business_key = any($1::text[])`

async function findBusinessKeys({ connection }: Transaction, jobs: readonly NewJob[]): Promise<Map<string, string>> {
  const keys = jobs.flatMap(({ businessKey }) => (businessKey === null ? [] : [businessKey]))
  if (keys.length === 0) return new Map()
  const rows = await connection.all<{ business_key: string; chain_id: string }>(SELECT_BUSINESS_KEYS, keys)
  return new Map(rows.map(({ business_key, chain_id }) => [business_key, chain_id]))
}

// Locked, so that nobody archives one between this look and the commit.
const SELECT_USABLE_TEMPLATES = `
select template_id
from pawl.templates
where template_id = any($1::text[]) and archived_at is null
order by template_id
for share`

/** Somebody may have archived a template after the request was prepared from it. */
async function findUnusableTemplate(
  { connection }: Transaction,
  jobs: readonly NewJob[],
): Promise<EnqueueConflict | null> {
  const named = [...new Set(jobs.flatMap(({ templateId }) => (templateId === null ? [] : [templateId])))]
  if (named.length === 0) return null
  const rows = await connection.all<{ template_id: string }>(SELECT_USABLE_TEMPLATES, named)
  const usable = new Set(rows.map(({ template_id }) => template_id))
  for (let index = 0; index < jobs.length; index++) {
    const templateId = jobs[index]?.templateId ?? null
    if (templateId !== null && !usable.has(templateId)) return { kind: 'template-not-usable', index, templateId }
  }
  return null
}

const INSERT_JOBS = `
${INSERT_NUMBERED}
select number as seq
from numbered
order by place`

const JOIN_SCHEDULES = `
insert into pawl.scheduled_chains (schedule_id, chain_seq)
select * from unnest($1::text[], $2::bigint[])`

// Both fail as duplicates when another transaction was faster; then all of this one is begun anew and finds them taken.
// In the order of the keys, so that two lists with the same keys do not wait for each other.
const INSERT_IDEMPOTENCY_KEYS = `
insert into pawl.idempotency_keys (idempotency_key, job_id, fingerprint, created_at)
select key, job_id, fingerprint, $4::bigint
from unnest($1::text[], $2::text[], $3::text[]) as given (key, job_id, fingerprint)
order by key`

const INSERT_BUSINESS_KEYS = `
insert into pawl.business_keys (business_key, chain_id)
select key, job_id
from unnest($1::text[], $2::text[]) as given (key, job_id)
order by key`

/** Writes those of the list that are new, at these indexes. Returns their numbers by their indexes. */
async function insertJobs(
  transaction: Transaction,
  jobs: readonly NewJob[],
  indexes: readonly number[],
  group: NewGroup | null,
  family: Family | null,
  now: number,
): Promise<ReadonlyMap<number, number>> {
  const { connection } = transaction
  if (indexes.length === 0) return new Map()
  const rows: JobToInsert[] = []
  const doomed: { readonly jobId: string; readonly by: Parent }[] = []
  for (const index of indexes) {
    const job = jobs[index] as NewJob
    const parents = family?.parents[index] ?? []
    const { unmet, doomedBy } = weighParents(parents)
    if (doomedBy !== null) doomed.push({ jobId: job.jobId, by: doomedBy })
    const seq = family?.seqs[index] ?? null
    rows.push({
      job,
      laneId: internLane(transaction, job.type, job.policy.resources).laneId,
      policyId: await internPolicy(transaction, job.policy),
      now,
      seq,
      groupId: group?.groupId ?? null,
      parents: parents.length,
      unmetParents: unmet,
      awaited: seq !== null && family?.awaited.has(seq) === true,
    })
  }
  const written = await connection.runReturningAll<{ seq: number }>(INSERT_JOBS, ...columnsOf(rows))
  const seqs = new Map(indexes.map((index, place) => [index, written[place]?.seq as number]))
  const numbered = indexes.map((index) => ({ job: jobs[index] as NewJob, seq: seqs.get(index) as number }))
  if (family !== null) {
    await insertDependencies(
      transaction,
      indexes.map((index) => ({ seq: seqs.get(index) as number, parents: family.parents[index] ?? [] })),
    )
  }
  await insertKeys(transaction, numbered, now)
  for (const { job, seq } of numbered) {
    const { jobId, type } = job
    transaction.note(seq, { kind: 'job.queued', jobId, chainId: jobId, type, status: 'QUEUED', attempt: 1, at: now })
  }
  for (const { jobId, by } of doomed) await cancelAtOnce(transaction, jobId, by, now)
  return seqs
}

async function insertKeys(
  { connection }: Transaction,
  numbered: readonly { readonly job: NewJob; readonly seq: number }[],
  now: number,
): Promise<void> {
  const scheduled = numbered.flatMap(({ job: { scheduleId }, seq }) =>
    scheduleId === null ? [] : [{ scheduleId, seq }],
  )
  if (scheduled.length > 0) {
    await connection.run(
      JOIN_SCHEDULES,
      scheduled.map(({ scheduleId }) => scheduleId),
      scheduled.map(({ seq }) => seq),
    )
  }
  const idempotent = numbered.flatMap(({ job: { idempotency, jobId } }) =>
    idempotency === null ? [] : [{ ...idempotency, jobId }],
  )
  if (idempotent.length > 0) {
    await connection.run(
      INSERT_IDEMPOTENCY_KEYS,
      idempotent.map(({ key }) => key),
      idempotent.map(({ jobId }) => jobId),
      idempotent.map(({ fingerprint }) => fingerprint),
      now,
    )
  }
  const held = numbered.flatMap(({ job: { businessKey, jobId } }) =>
    businessKey === null ? [] : [{ businessKey, jobId }],
  )
  if (held.length === 0) return
  await connection.run(
    INSERT_BUSINESS_KEYS,
    held.map(({ businessKey }) => businessKey),
    held.map(({ jobId }) => jobId),
  )
}

/** A parent has failed already, and the Job shall not run without it. It is accepted all the same, and its history says why. */
async function cancelAtOnce(transaction: Transaction, jobId: string, parent: Parent, now: number): Promise<void> {
  const row = await findJobRow(transaction.connection, { jobId })
  assert(row !== undefined && parent.outcome !== null, `Job ${jobId} was just written`)
  const reason = parentFailedReason(parent.parentId, parent.outcome)
  await cancelQueued(transaction, row, { mode: 'graceful', reason, cancelledFor: parent.chainId, now })
}

/** PostgreSQL stores no such text. Doors refuse it before; a caller of the store gets an error for this list alone. */
export function refuseNul(job: NewJob): void {
  for (const text of [job.name, job.createdBy, job.businessKey, job.idempotency?.key]) {
    if (text?.includes('\u0000')) throw new PawlError('invalid_option', 'A text with U+0000 cannot be stored.')
  }
}
