import { PawlError } from '../../../domain/errors.ts'
import type { EnqueueConflict, EnqueuedItem, EnqueueResult, NewJob } from '../../../store/jobs.ts'
import type { Transaction } from '../transaction.ts'
import { internLane, internPolicy } from './interned.ts'

type Answer = EnqueuedItem | { readonly kind: 'conflict'; readonly conflict: EnqueueConflict }

/** Accepts all of them or none. Conflicts are looked for before anything is written, so none needs undoing. */
export function enqueueJobs(transaction: Transaction, jobs: readonly NewJob[], now: number): EnqueueResult {
  const answers = jobs.some(hasKey) ? answerKeys(transaction, jobs) : null
  const conflict = answers?.find((answer) => answer?.kind === 'conflict')
  if (conflict?.kind === 'conflict') return { kind: 'refused', conflict: conflict.conflict }
  const items: EnqueuedItem[] = []
  for (let index = 0; index < jobs.length; index++) {
    const job = jobs[index] as NewJob
    const answer = answers?.[index]
    if (answer?.kind === 'existing') items.push(answer)
    else items.push(insertJob(transaction, job, now))
  }
  return { kind: 'enqueued', items }
}

/** One Job that may be dropped: a follow-up whose key is taken. */
export function enqueueOrDrop(
  transaction: Transaction,
  job: NewJob,
  now: number,
): EnqueuedItem | { kind: 'dropped'; jobId: string } {
  const result = enqueueJobs(transaction, [job], now)
  if (result.kind === 'refused') return { kind: 'dropped', jobId: job.jobId }
  return result.items[0] as EnqueuedItem
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

const SELECT_BUSINESS_KEY = 'select chain_id from pawl_business_keys where business_key = ?'

/** The chain that holds this key, if one does. */
export function findBusinessKey(transaction: Transaction, key: string): string | undefined {
  return transaction.connection.get<{ chain_id: string }>(SELECT_BUSINESS_KEY, key)?.chain_id
}

const INSERT_BUSINESS_KEY = 'insert into pawl_business_keys (business_key, chain_id) values (?, ?)'

export function holdBusinessKey(transaction: Transaction, key: string, chainId: string): void {
  transaction.connection.run(INSERT_BUSINESS_KEY, key, chainId)
}

const INSERT_IDEMPOTENCY_KEY = `
insert into pawl_idempotency_keys (idempotency_key, job_id, fingerprint, created_at)
values (?, ?, ?, ?)`

const INSERT_JOB = `
insert into pawl_jobs (
  seq, job_id, lane_id, policy_id, priority, position, run_at, created_at,
  name, tags, created_by, business_key, idempotency_key, params
) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const INSERT_QUEUED = `
insert into pawl_queue (seq, lane_id, ready, awaits_predecessor, priority, position, run_at, created_at)
values (?, ?, ?, ?, ?, ?, ?, ?)`

function insertJob(transaction: Transaction, job: NewJob, now: number): EnqueuedItem {
  const { connection } = transaction
  refuseNul(job)
  const runAt = job.runAt ?? now
  const { laneId } = internLane(transaction, job.type, job.policy.resources)
  const position = transaction.takeLastPosition(job.priority)
  const seq = transaction.takeSeq()
  connection.run(
    INSERT_JOB,
    seq,
    job.jobId,
    laneId,
    internPolicy(transaction, job.policy),
    job.priority,
    position,
    runAt,
    now,
    job.name,
    job.tags.length === 0 ? null : JSON.stringify(job.tags),
    job.createdBy,
    job.businessKey,
    job.idempotency?.key ?? null,
    job.params,
  )
  insertQueued(transaction, { seq, laneId, awaitsPredecessor: false, priority: job.priority, position, runAt, now })
  if (job.idempotency !== null) {
    const { key, fingerprint } = job.idempotency
    connection.run(INSERT_IDEMPOTENCY_KEY, key, job.jobId, fingerprint, now)
  }
  if (job.businessKey !== null) holdBusinessKey(transaction, job.businessKey, job.jobId)
  transaction.note(seq, {
    kind: 'job.queued',
    jobId: job.jobId,
    chainId: job.jobId,
    type: job.type,
    status: 'QUEUED',
    attempt: 1,
    at: now,
  })
  return { kind: 'created', jobId: job.jobId }
}

/** Puts a Job that was just written into the queue. */
export function insertQueued(
  transaction: Transaction,
  row: {
    seq: number
    laneId: number
    awaitsPredecessor: boolean
    priority: number
    position: number
    runAt: number
    now: number
  },
): void {
  transaction.connection.run(
    INSERT_QUEUED,
    row.seq,
    row.laneId,
    row.runAt <= row.now && !row.awaitsPredecessor ? 1 : 0,
    row.awaitsPredecessor ? 1 : 0,
    row.priority,
    row.position,
    row.runAt,
    row.now,
  )
}

/** SQLite would cut the text there. Doors refuse it before; a caller of the store gets an error for this list alone. */
function refuseNul(job: NewJob): void {
  for (const text of [job.name, job.createdBy, job.businessKey, job.idempotency?.key]) {
    if (text?.includes('\u0000')) throw new PawlError('invalid_option', 'A text with U+0000 cannot be stored.')
  }
}
