import { positionBetween, spreadPositions, WIDEN_NEIGHBOURS_MAX } from '../../../domain/order.ts'
import type { JobStore, MoveResult } from '../../../store/jobs.ts'
import type { Connection, SqlValue } from '../connection.ts'
import { atPlaceOf, type JobRow, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { findJobRow } from './history.ts'
import { isStale } from './job-version.ts'
import { lockJob } from './locks.ts'
import { noteQueued } from './note-queued.ts'
import { takeLastPosition } from './numbers.ts'

interface PlaceRow {
  seq: number
  priority: number
  position: number
  created_at: number
}

// People move Jobs, and rarely: one at a time, so that two of them do not use the same gap.
const LOCK_MOVES = "select pg_advisory_xact_lock('pawl.queue'::regclass::oid::bigint)"

// The place is kept twice: in the queue, where it orders, and with the Job, where it stays for its retry. As many rows as
// are still QUEUED where they were.
const PLACE_ALL = `
with placed as (
  update pawl.queue q
  set priority = $1, position = given.to_position
  from unnest($2::bigint[], $3::integer[], $4::bigint[], $5::bigint[], $6::bigint[])
    as given (seq, priority, position, created_at, to_position)
  where ${atPlaceOf('given')}
  returning q.seq, q.priority, q.position
)
update pawl.jobs j
set priority = placed.priority, position = placed.position
from placed
where j.seq = placed.seq`

const SELECT_FIRST = `
select seq, priority, position, created_at
from pawl.queue
where priority = $1 and seq <> $2
order by position
limit 1`

const SELECT_BEFORE = `
select q.seq, q.priority, q.position, q.created_at
from pawl.queue q
join pawl.jobs j on j.seq = q.seq
where q.priority = $1 and q.seq <> $2 and q.position <= $3 and (q.position, q.created_at, j.job_id) < ($3, $4, $5)
order by q.position desc, q.created_at desc, j.job_id desc
limit 1`

const SELECT_FROM = `
select q.seq, q.priority, q.position, q.created_at
from pawl.queue q
join pawl.jobs j on j.seq = q.seq
where q.priority = $1 and q.seq <> $2 and q.position >= $3 and (q.position, q.created_at, j.job_id) >= ($3, $4, $5)
order by q.position, q.created_at, j.job_id
limit $6`

export async function moveJob(
  transaction: Transaction,
  request: Parameters<JobStore['moveJob']>[0],
): Promise<MoveResult> {
  const { connection } = transaction
  await connection.get(LOCK_MOVES)
  const locked = await lockJob(connection, { jobId: request.jobId })
  if (locked === null) return { kind: 'not-found' }
  const { job } = locked
  if (job.queued === null) return { kind: 'not-queued', status: statusOf(job) }
  if (isStale(job, request.expected)) return { kind: 'stale' }
  const { target } = request
  if ('to' in target) {
    const position = target.to === 'front' ? await frontPosition(connection, job) : await takeLastPosition(connection)
    return place(transaction, job, job.priority, position, request.now)
  }
  const otherId = 'before' in target ? target.before : target.after
  const other = await findJobRow(connection, { jobId: otherId })
  if (other === undefined || other.queued === null) return { kind: 'target-not-queued', jobId: otherId }
  if (other.seq === job.seq) return { kind: 'moved', priority: job.priority, position: job.position }
  const position = await ('before' in target ? positionBefore : positionAfter)(connection, job, other)
  if (position === null) return { kind: 'no-room', priority: other.priority }
  return place(transaction, job, other.priority, position, request.now)
}

export async function reprioritiseJob(
  transaction: Transaction,
  request: { jobId: string; priority: number; now: number },
): Promise<MoveResult> {
  const locked = await lockJob(transaction.connection, { jobId: request.jobId })
  if (locked === null) return { kind: 'not-found' }
  const { job } = locked
  if (job.queued === null) return { kind: 'not-queued', status: statusOf(job) }
  if (job.priority === request.priority) return { kind: 'moved', priority: job.priority, position: job.position }
  const position = await takeLastPosition(transaction.connection)
  return place(transaction, job, request.priority, position, request.now)
}

async function place(
  transaction: Transaction,
  job: JobRow,
  priority: number,
  position: number,
  now: number,
): Promise<MoveResult> {
  await writePlaces(transaction.connection, priority, [job], [position])
  noteQueued(transaction, 'job.moved', job, now)
  return { kind: 'moved', priority, position }
}

async function writePlaces(
  connection: Connection,
  priority: number,
  from: readonly PlaceRow[],
  positions: readonly number[],
): Promise<void> {
  await connection.run(
    PLACE_ALL,
    priority,
    from.map((row) => row.seq),
    from.map((row) => row.priority),
    from.map((row) => row.position),
    from.map((row) => row.created_at),
    positions,
  )
}

async function frontPosition(connection: Connection, job: JobRow): Promise<number> {
  const first = await connection.get<PlaceRow>(SELECT_FIRST, job.priority, job.seq)
  if (first === undefined) return job.position
  return positionBetween(null, first.position) as number
}

async function positionBefore(connection: Connection, job: JobRow, other: JobRow): Promise<number | null> {
  const { position } = other
  const before = await connection.get<PlaceRow>(SELECT_BEFORE, ...aroundBut(other, job))
  if (before === undefined) return positionBetween(null, position)
  return positionBetween(before.position, position) ?? widen(connection, job, other, before.position, true)
}

async function positionAfter(connection: Connection, job: JobRow, other: JobRow): Promise<number | null> {
  const { position } = other
  const [, next] = await connection.all<PlaceRow>(SELECT_FROM, ...aroundBut(other, job), 2)
  if (next === undefined) return positionBetween(position, null)
  return positionBetween(position, next.position) ?? widen(connection, job, other, position, false)
}

/** The place of a Job, from which its neighbours are looked for, all but one that is on its way there. */
function aroundBut({ priority, position, created_at, job_id }: JobRow, moving: JobRow): SqlValue[] {
  return [priority, moving.seq, position, created_at, job_id]
}

/**
 * The gap is used up: renumbers the neighbours behind it, no more of them than needed, and returns the position that
 * became free right after `floor`. Null when even the most neighbours allowed stand without a gap.
 */
async function widen(
  connection: Connection,
  job: JobRow,
  from: JobRow,
  floor: number,
  includesFrom: boolean,
): Promise<number | null> {
  for (let count = 8; count <= WIDEN_NEIGHBOURS_MAX; count *= 5) {
    const skipped = includesFrom ? 0 : 1
    const all = await connection.all<PlaceRow>(SELECT_FROM, ...aroundBut(from, job), count + 1 + skipped)
    const rows = all.slice(skipped)
    const ceiling = rows[count]?.position ?? null
    const neighbours = rows.slice(0, count)
    const positions = spreadPositions(floor, neighbours.length + 1, ceiling)
    if (positions === null) continue
    await writePlaces(connection, from.priority, neighbours, positions.slice(1, neighbours.length + 1))
    return positions[0] as number
  }
  return null
}

// RUNNING Jobs are renumbered with the queue, because a retry stands where its predecessor stood. All in one statement, so
// that it sees one state of the queue; what was claimed meanwhile keeps its number.
const NORMALISE = `
with live as (
  select seq, position from pawl.queue where priority = $1
  union all
  select seq, position from pawl.occupancies where priority = $1
),
numbered as materialized (
  select live.seq, row_number() over (order by live.position, j.created_at, j.job_id) * 100 as position
  from live
  join pawl.jobs j on j.seq = live.seq
),
in_queue as (
  update pawl.queue q
  set position = numbered.position
  from numbered
  where q.priority = $1 and q.seq = numbered.seq
  returning q.seq, q.position
),
occupied as (
  update pawl.occupancies o
  set position = numbered.position
  from numbered
  where o.seq = numbered.seq
  returning o.seq, o.position
),
jobs as (
  update pawl.jobs j
  set position = moved.position
  from (select * from in_queue union all select * from occupied) moved
  where j.seq = moved.seq
)
select count(*) as queued
from in_queue`

export async function normalisePositions({ connection }: Transaction, priority: number): Promise<number> {
  await connection.get(LOCK_MOVES)
  const [row] = await connection.runReturningAll<{ queued: number }>(NORMALISE, priority)
  return row?.queued ?? 0
}
