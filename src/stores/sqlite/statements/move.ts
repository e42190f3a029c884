import { positionBetween, spreadPositions, WIDEN_NEIGHBOURS_MAX } from '../../../domain/order.ts'
import type { JobStore, MoveResult } from '../../../store/jobs.ts'
import type { SqlRow, SqlValue } from '../connection.ts'
import { type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { findJobRow } from './history.ts'
import { isStale } from './job-version.ts'
import { noteQueued } from './note-queued.ts'

interface PlaceRow extends SqlRow {
  seq: number
  priority: number
  position: number
  created_at: number
}

// The place is kept twice: in the queue, where it orders, and with the Job, where it stays for its retry.
const PLACE_IN_QUEUE = `
update pawl_queue
set priority = ?, position = ?
where priority = ? and position = ? and created_at = ? and seq = ?`
const PLACE_JOB = 'update pawl_jobs set priority = ?, position = ? where seq = ?'

const SELECT_FIRST = `
select seq, priority, position, created_at
from pawl_queue
where priority = ? and seq <> ?
order by position
limit 1`

const SELECT_BEFORE = `
select q.seq, q.priority, q.position, q.created_at
from pawl_queue q
join pawl_jobs j on j.seq = q.seq
where q.priority = ? and q.seq <> ? and q.position <= ? and (q.position, q.created_at, j.job_id) < (?, ?, ?)
order by q.position desc, q.created_at desc, j.job_id desc
limit 1`

const SELECT_FROM = `
select q.seq, q.priority, q.position, q.created_at
from pawl_queue q
join pawl_jobs j on j.seq = q.seq
where q.priority = ? and q.seq <> ? and q.position >= ? and (q.position, q.created_at, j.job_id) >= (?, ?, ?)
order by q.position, q.created_at, j.job_id
limit ?`

export function moveJob(transaction: Transaction, request: Parameters<JobStore['moveJob']>[0]): MoveResult {
  const job = findJobRow(transaction.connection, { jobId: request.jobId })
  if (job === undefined) return { kind: 'not-found' }
  if (job.queued === null) return { kind: 'not-queued', status: statusOf(job) }
  if (isStale(job, request.expected)) return { kind: 'stale' }
  const { target } = request
  if ('to' in target) {
    const position =
      target.to === 'front' ? frontPosition(transaction, job) : transaction.takeLastPosition(job.priority)
    return place(transaction, job, job.priority, position, request.now)
  }
  const otherId = 'before' in target ? target.before : target.after
  const other = findJobRow(transaction.connection, { jobId: otherId })
  if (other === undefined || other.queued === null) return { kind: 'target-not-queued', jobId: otherId }
  if (other.seq === job.seq) return { kind: 'moved', priority: job.priority, position: job.position }
  const position = 'before' in target ? positionBefore(transaction, job, other) : positionAfter(transaction, job, other)
  if (position === null) return { kind: 'no-room', priority: other.priority }
  return place(transaction, job, other.priority, position, request.now)
}

export function reprioritiseJob(
  transaction: Transaction,
  request: { jobId: string; priority: number; now: number },
): MoveResult {
  const job = findJobRow(transaction.connection, { jobId: request.jobId })
  if (job === undefined) return { kind: 'not-found' }
  if (job.queued === null) return { kind: 'not-queued', status: statusOf(job) }
  if (job.priority === request.priority) return { kind: 'moved', priority: job.priority, position: job.position }
  return place(transaction, job, request.priority, transaction.takeLastPosition(request.priority), request.now)
}

function place(transaction: Transaction, job: JobRow, priority: number, position: number, now: number): MoveResult {
  writePlace(transaction, job, priority, position)
  transaction.forgetPositions()
  noteQueued(transaction, 'job.moved', job, now)
  return { kind: 'moved', priority, position }
}

function writePlace({ connection }: Transaction, from: PlaceRow | JobRow, priority: number, position: number): void {
  connection.run(PLACE_IN_QUEUE, priority, position, from.priority, from.position, from.created_at, from.seq)
  connection.run(PLACE_JOB, priority, position, from.seq)
}

function frontPosition(transaction: Transaction, job: JobRow): number {
  const first = transaction.connection.get<PlaceRow>(SELECT_FIRST, job.priority, job.seq)
  if (first === undefined) return job.position
  return positionBetween(null, first.position) as number
}

function positionBefore(transaction: Transaction, job: JobRow, other: JobRow): number | null {
  const { position } = other
  const before = transaction.connection.get<PlaceRow>(SELECT_BEFORE, ...aroundBut(other, job))
  if (before === undefined) return positionBetween(null, position)
  return positionBetween(before.position, position) ?? widen(transaction, job, other, before.position, true)
}

function positionAfter(transaction: Transaction, job: JobRow, other: JobRow): number | null {
  const { position } = other
  const [, next] = transaction.connection.all<PlaceRow>(SELECT_FROM, ...aroundBut(other, job), 2)
  if (next === undefined) return positionBetween(position, null)
  return positionBetween(position, next.position) ?? widen(transaction, job, other, position, false)
}

/** The place of a Job, from which its neighbours are looked for, all but one that is on its way there. */
function aroundBut({ priority, position, created_at, job_id }: JobRow, moving: JobRow): SqlValue[] {
  return [priority, moving.seq, position, position, created_at, job_id]
}

/**
 * The gap is used up: renumbers the neighbours behind it, no more of them than needed, and returns the position that
 * became free right after `floor`. Null when even the most neighbours allowed stand without a gap.
 */
function widen(
  transaction: Transaction,
  job: JobRow,
  from: JobRow,
  floor: number,
  includesFrom: boolean,
): number | null {
  for (let count = 8; count <= WIDEN_NEIGHBOURS_MAX; count *= 5) {
    const skipped = includesFrom ? 0 : 1
    const rows = transaction.connection
      .all<PlaceRow>(SELECT_FROM, ...aroundBut(from, job), count + 1 + skipped)
      .slice(skipped)
    const ceiling = rows[count]?.position ?? null
    const neighbours = rows.slice(0, count)
    const positions = spreadPositions(floor, neighbours.length + 1, ceiling)
    if (positions === null) continue
    neighbours.forEach((row, index) => {
      writePlace(transaction, row, from.priority, positions[index + 1] as number)
    })
    return positions[0] as number
  }
  return null
}

// RUNNING Jobs are renumbered with the queue, because a retry stands where its predecessor stood.
const NUMBER_JOBS = `
update pawl_jobs
set position = numbered.position
from (
  select live.seq, row_number() over (order by live.position, j.created_at, j.job_id) * 100 as position
  from (
    select seq, position from pawl_queue where priority = ?
    union all
    select seq, position from pawl_occupancies where priority = ?
  ) as live
  join pawl_jobs j on j.seq = live.seq
) as numbered
where pawl_jobs.seq = numbered.seq`

const NUMBER_QUEUE = `
update pawl_queue
set position = (select position from pawl_jobs where pawl_jobs.seq = pawl_queue.seq)
where priority = ?`

const NUMBER_OCCUPANCIES = `
update pawl_occupancies
set position = (select position from pawl_jobs where pawl_jobs.seq = pawl_occupancies.seq)
where priority = ?`

export function normalisePositions(transaction: Transaction, priority: number): number {
  transaction.forgetPositions()
  transaction.connection.run(NUMBER_JOBS, priority, priority)
  transaction.connection.run(NUMBER_OCCUPANCIES, priority)
  return transaction.connection.run(NUMBER_QUEUE, priority)
}
