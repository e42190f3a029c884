import type { Job } from '../../../domain/job.ts'
import type { JobFilter } from '../../../store/jobs.ts'
import { beforeEverything, type Found, inQueue, readCursor, type Spot } from '../../shared/list-spots.ts'
import { asksForTexts, TextBudget } from '../../shared/match-texts.ts'
import type { Connection, SqlValue } from '../connection.ts'
import { JOB_COLUMNS, type JobRow, toJob } from '../rows.ts'
import type { Interned } from '../transaction.ts'
import { lanesOf, walkMarks } from './job-walks.ts'
import { lookThrough, mergeWalks, readExactly, readWhole, type Walk, walkKnown } from './list-walks.ts'
import { type PlaceRow, selectMatching } from './match-jobs.ts'
import { matchWalked } from './match-texts.ts'

// What follows a place in the queue is the rest of its priority, then all lower ones: each is one range of an index.

const SELECT_REST = `
select priority, position, created_at, seq
from pawl_queue
where priority = ? and (position, created_at, seq) > (?, ?, ?)
order by position, created_at, seq
limit ?`

const SELECT_LOWER = `
select priority, position, created_at, seq
from pawl_queue
where priority < ?
order by priority desc, position, created_at, seq
limit ?`

const SELECT_READY_REST = `
select priority, position, created_at, seq
from pawl_queue indexed by pawl_queue_ready
where ready = 1 and lane_id = ? and priority = ? and (position, created_at, seq) > (?, ?, ?)
order by position, created_at, seq
limit ?`

const SELECT_READY_LOWER = `
select priority, position, created_at, seq
from pawl_queue indexed by pawl_queue_ready
where ready = 1 and lane_id = ? and priority < ?
order by priority desc, position, created_at, seq
limit ?`

const SELECT_WAITING_REST = `
select priority, position, created_at, seq
from pawl_queue indexed by pawl_queue_waiting
where ready = 0 and lane_id = ? and priority = ? and (position, created_at, seq) > (?, ?, ?)
order by position, created_at, seq
limit ?`

const SELECT_WAITING_LOWER = `
select priority, position, created_at, seq
from pawl_queue indexed by pawl_queue_waiting
where ready = 0 and lane_id = ? and priority < ?
order by priority desc, position, created_at, seq
limit ?`

function walkQueue(connection: Connection, rest: string, lower: string, ...values: SqlValue[]): Walk {
  const read = ([priority = 0, position = 0, createdAt = 0, seq = 0]: Spot, rows: number): Spot[] => {
    const places = connection.all<PlaceRow>(rest, ...values, priority, position, createdAt, seq, rows)
    if (places.length < rows) places.push(...connection.all<PlaceRow>(lower, ...values, priority, rows - places.length))
    return places.map(toSpot)
  }
  return { read, findEnd: (from, rows) => read(from, rows)[rows - 1] ?? null }
}

function toSpot({ priority, position, created_at, seq }: PlaceRow): Spot {
  return [priority, position, created_at, seq]
}

/** QUEUED Jobs in the order of the queue. A cursor names the last place that was looked at. */
export function findQueued(connection: Connection, filter: JobFilter): Found {
  const { type, limit } = filter
  const from = readCursor(filter.cursor, 4)
  const queue = type === undefined ? walkQueue(connection, SELECT_REST, SELECT_LOWER) : walkQueuedType(connection, type)
  const marks = walkMarks(connection, filter)
  if (marks.length === 0 && !isSearch(filter)) return readExactly(queue, from, limit)
  if (asksForTexts(filter)) return findAmongQueued(connection, filter, queue, from)
  return findFewQueued(connection, filter, marks, from) ?? findAmongQueued(connection, filter, queue, from)
}

/** What is ready, delayed and waiting of all lanes of a type. */
function walkQueuedType(connection: Connection, type: string): Walk {
  const walks = lanesOf(connection, type).flatMap((laneId) => [
    walkQueue(connection, SELECT_READY_REST, SELECT_READY_LOWER, laneId),
    walkQueue(connection, SELECT_WAITING_REST, SELECT_WAITING_LOWER, laneId),
  ])
  return mergeWalks(walks, inQueue)
}

/** Whether the order of the queue is not all that is asked for. */
function isSearch(filter: JobFilter): boolean {
  return filter.createdFrom !== undefined || filter.createdBefore !== undefined || asksForTexts(filter)
}

/** Of a tag, a group, a schedule or a template with few Jobs, those that are QUEUED. Null: none of them has few. */
function findFewQueued(connection: Connection, filter: JobFilter, marks: readonly Walk[], from: Spot): Found | null {
  const few = marks.map((walk) => readWhole(walk, beforeEverything(1))).filter((spots) => spots !== null)
  const [fewest] = few.toSorted((a, b) => a.length - b.length)
  if (fewest === undefined) return null
  const queued = selectMatching(connection, fewest, filter, fewest.length).map(toSpot)
  const inOrder = queued.toSorted((a, b) => (inQueue(a, b) ? -1 : 1))
  return readExactly(walkKnown(inOrder, inQueue), from, filter.limit)
}

function findAmongQueued(connection: Connection, filter: JobFilter, queue: Walk, from: Spot): Found {
  const texts = new TextBudget()
  return lookThrough(from, filter.limit, (after, rows) => {
    const spots = queue.read(after, rows)
    const matching = matchWalked(connection, { spots, next: spots[rows - 1] ?? null }, after, filter, texts)
    return { spots: matching.rows.map(toSpot), next: matching.next }
  })
}

const SELECT_QUEUE = `
select ${JOB_COLUMNS}
from pawl_queue q
join pawl_jobs j on j.seq = q.seq
left join pawl_runs r on r.seq = q.seq
order by q.priority desc, q.position, q.created_at, j.job_id
limit ?`

export function listQueue(connection: Connection, interned: Interned, limit: number, now: number): Job[] {
  return connection.all<JobRow>(SELECT_QUEUE, limit).map((row) => toJob(row, connection, interned, now))
}
