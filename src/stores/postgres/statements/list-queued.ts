import type { Job } from '../../../domain/job.ts'
import type { JobFilter } from '../../../store/jobs.ts'
import { beforeEverything, type Found, inQueue, readCursor, type Spot } from '../../shared/list-spots.ts'
import { asksForTexts, TextBudget } from '../../shared/match-texts.ts'
import type { Connection, SqlValue } from '../connection.ts'
import { toJobs } from '../rows.ts'
import { walkMarks } from './job-walks.ts'
import { lookThrough, readExactly, readWhole, type Walk, walkKnown } from './list-walks.ts'
import { type PlaceRow, readListed, selectMatching } from './match-jobs.ts'
import { matchWalked } from './match-texts.ts'

// What follows a place in the queue is the rest of its priority, then all lower ones: each is one range of an index.

const SELECT_REST = `
select priority, position, created_at, seq
from pawl.queue
where priority = $1::bigint and (position, created_at, seq) > ($2, $3, $4)
order by position, created_at, seq
limit $5`

const SELECT_LOWER = `
select priority, position, created_at, seq
from pawl.queue
where priority < $1::bigint
order by priority desc, position, created_at, seq
limit $2`

// Of a type: what is ready and what is not of all its lanes, which are a few. Each part is read as far as the page may need it.

const SELECT_REST_OF_TYPE = `
select of_lane.priority, of_lane.position, of_lane.created_at, of_lane.seq
from pawl.lanes l
cross join lateral (
  (
    select priority, position, created_at, seq
    from pawl.queue
    where ready and lane_id = l.lane_id and priority = $2::bigint and (position, created_at, seq) > ($3, $4, $5)
    order by position, created_at, seq
    limit $6
  )
  union all
  (
    select priority, position, created_at, seq
    from pawl.queue
    where ready::integer = 0 and lane_id = l.lane_id and priority = $2::bigint and (position, created_at, seq) > ($3, $4, $5)
    order by position, created_at, seq
    limit $6
  )
) of_lane
where l.type = $1
order by of_lane.position, of_lane.created_at, of_lane.seq
limit $6`

const SELECT_LOWER_OF_TYPE = `
select of_lane.priority, of_lane.position, of_lane.created_at, of_lane.seq
from pawl.lanes l
cross join lateral (
  (
    select priority, position, created_at, seq
    from pawl.queue
    where ready and lane_id = l.lane_id and priority < $2::bigint
    order by priority desc, position, created_at, seq
    limit $3
  )
  union all
  (
    select priority, position, created_at, seq
    from pawl.queue
    where ready::integer = 0 and lane_id = l.lane_id and priority < $2::bigint
    order by priority desc, position, created_at, seq
    limit $3
  )
) of_lane
where l.type = $1
order by of_lane.priority desc, of_lane.position, of_lane.created_at, of_lane.seq
limit $3`

function walkQueue(connection: Connection, rest: string, lower: string, ...values: SqlValue[]): Walk {
  const read = async (
    [priority = 0, position = 0, createdAt = 0, seq = 0]: Spot,
    rows: number,
  ): Promise<readonly Spot[]> => {
    const places = await connection.all<PlaceRow>(rest, ...values, priority, position, createdAt, seq, rows)
    if (places.length < rows) {
      places.push(...(await connection.all<PlaceRow>(lower, ...values, priority, rows - places.length)))
    }
    return places.map(toSpot)
  }
  return { read, findEnd: async (from, rows) => (await read(from, rows))[rows - 1] ?? null }
}

function toSpot({ priority, position, created_at, seq }: PlaceRow): Spot {
  return [priority, position, created_at, seq]
}

/** QUEUED Jobs in the order of the queue. A cursor names the last place that was looked at. */
export async function findQueued(connection: Connection, filter: JobFilter): Promise<Found> {
  const { type, limit } = filter
  const from = readCursor(filter.cursor, 4)
  const queue =
    type === undefined
      ? walkQueue(connection, SELECT_REST, SELECT_LOWER)
      : walkQueue(connection, SELECT_REST_OF_TYPE, SELECT_LOWER_OF_TYPE, type)
  const marks = walkMarks(connection, filter)
  if (marks.length === 0 && !isSearch(filter)) return readExactly(queue, from, limit)
  if (asksForTexts(filter)) return findAmongQueued(connection, filter, queue, from)
  return (await findFewQueued(connection, filter, marks, from)) ?? findAmongQueued(connection, filter, queue, from)
}

/** Whether the order of the queue is not all that is asked for. */
function isSearch(filter: JobFilter): boolean {
  return filter.createdFrom !== undefined || filter.createdBefore !== undefined || asksForTexts(filter)
}

/** Of a tag, a group, a schedule or a template with few Jobs, those that are QUEUED. Null: none of them has few. */
async function findFewQueued(
  connection: Connection,
  filter: JobFilter,
  marks: readonly Walk[],
  from: Spot,
): Promise<Found | null> {
  let fewest: readonly Spot[] | null = null
  for (const walk of marks) {
    const spots = await readWhole(walk, beforeEverything(1))
    if (spots !== null && (fewest === null || spots.length < fewest.length)) fewest = spots
  }
  if (fewest === null) return null
  const queued = (await selectMatching(connection, fewest, filter, fewest.length)).map(toSpot)
  const inOrder = queued.toSorted((a, b) => (inQueue(a, b) ? -1 : 1))
  return readExactly(walkKnown(inOrder, inQueue), from, filter.limit)
}

function findAmongQueued(connection: Connection, filter: JobFilter, queue: Walk, from: Spot): Promise<Found> {
  const texts = new TextBudget()
  return lookThrough(from, filter.limit, async (after, rows) => {
    const spots = await queue.read(after, rows)
    const matching = await matchWalked(connection, { spots, next: spots[rows - 1] ?? null }, after, filter, texts)
    return { spots: matching.rows.map(toSpot), next: matching.next }
  })
}

/** The head of the queue. */
export async function listQueue(connection: Connection, limit: number, now: number): Promise<Job[]> {
  const spots = await walkQueue(connection, SELECT_REST, SELECT_LOWER).read(beforeEverything(4), limit)
  return toJobs(await readListed(connection, spots, { status: 'QUEUED', limit }), connection, now)
}
