import type { Job } from '../../../domain/job.ts'
import type { JobFilter, Page } from '../../../store/jobs.ts'
import { downward, type Found, readCursor, type Spot, writeCursor } from '../../shared/list-spots.ts'
import { asksForTexts, TextBudget } from '../../shared/match-texts.ts'
import type { Connection } from '../connection.ts'
import { toJobs } from '../rows.ts'
import { findLastBefore } from './job-times.ts'
import { walkFailed, walkMarks, walkNewest, walkStatus, walkType, walkWithRun } from './job-walks.ts'
import { findQueued } from './list-queued.ts'
import { walkFew, walkLatest, walkRare } from './list-runs.ts'
import { lookThrough, readExactly, type Walk, walkFurthest } from './list-walks.ts'
import { readListed } from './match-jobs.ts'
import { matchWalked } from './match-texts.ts'

export async function listJobs(connection: Connection, filter: JobFilter, now: number): Promise<Page<Job>> {
  const { spots, next } = await findSpots(connection, filter)
  const rows = await readListed(connection, spots, filter)
  return { items: await toJobs(rows, connection, now), nextCursor: writeCursor(next) }
}

/** Where the Jobs of a page stand, without reading what is stored of them. */
export function findSpots(connection: Connection, filter: JobFilter): Promise<Found> {
  return filter.status === 'QUEUED' ? findQueued(connection, filter) : findNewest(connection, filter)
}

/** A cursor names the last Job that was looked at: `<seq>`. */
async function findNewest(connection: Connection, filter: JobFilter): Promise<Found> {
  if (isByStart(filter)) return findByStart(connection, filter)
  const { limit } = filter
  const from = await readStart(connection, filter)
  const walks = await walksTo(connection, filter)
  const [only = walkNewest(connection)] = walks
  // A Job with a Run may still execute, or its body was aborted.
  const isExact = walks.length < 2 && filter.status !== 'FINISHED' && !searches(filter)
  if (isExact) return readExactly(only, from, limit)
  if (walks.length === 0) walks.push(only)
  const end = await findEnd(connection, filter)
  const texts = new TextBudget()
  return lookThrough(from, limit, async (before, rows) => {
    const walked = await walkFurthest(walks, before, rows, downward)
    const matching = await matchWalked(connection, walked, before, filter, texts)
    const [next = 0] = matching.next ?? []
    return { spots: matching.rows.map(({ seq }) => [seq]), next: next <= end ? null : matching.next }
  })
}

/** Whether more is asked for than there are indexes. */
function searches(filter: JobFilter): boolean {
  return filter.outcome !== undefined || searchesWithin(filter)
}

function searchesWithin(filter: JobFilter): boolean {
  const { createdFrom, createdBefore } = filter
  return createdFrom !== undefined || createdBefore !== undefined || asksForTexts(filter)
}

/** Numbers follow the time of acceptance, but for clocks that do not agree: so much is looked at besides. */
const CLOCKS_DIFFER_MS = 60_000

async function readStart(connection: Connection, { cursor, createdBefore }: JobFilter): Promise<Spot> {
  if (cursor != null || createdBefore === undefined) return readCursor(cursor, 1)
  return [(await findLastBefore(connection, createdBefore + CLOCKS_DIFFER_MS)) + 1]
}

/** No Job from here on is new enough. */
async function findEnd(connection: Connection, { createdFrom }: JobFilter): Promise<number> {
  return createdFrom === undefined ? 0 : findLastBefore(connection, createdFrom - CLOCKS_DIFFER_MS)
}

/** One way for each thing that is asked for. */
async function walksTo(connection: Connection, filter: JobFilter): Promise<Walk[]> {
  const { status, type, outcome } = filter
  const walks = walkMarks(connection, filter)
  if (type !== undefined) walks.push(walkType(connection, type))
  if (status !== undefined && status !== 'QUEUED') walks.push(walkStatus(connection, status))
  if (outcome === undefined) return walks
  if (outcome === 'FAILED') walks.push(walkFailed(connection))
  else walks.push((await walkFew(walkRare(connection, outcome))) ?? walkWithRun(connection))
  return walks
}

/** Where nothing else leads to fewer Jobs, an outcome is best looked for among the Runs, in their own order. */
function isByStart({ outcome, type, tag, groupId, scheduleId, templateId, createdBefore }: JobFilter): boolean {
  const others = [type, tag, groupId, scheduleId, templateId, createdBefore]
  return outcome !== undefined && others.every((other) => other === undefined)
}

/** The latest start first. A cursor names the last start and Job that were looked at: `<started_at>:<seq>`. */
async function findByStart(connection: Connection, filter: JobFilter): Promise<Found> {
  const { outcome, status, createdFrom = 0, limit } = filter
  const from = readCursor(filter.cursor, 2)
  const rare = walkRare(connection, outcome)
  if (rare !== null && status === undefined && !searchesWithin(filter)) return readExactly(rare, from, limit)
  const walk = rare ?? walkLatest(connection)
  const texts = new TextBudget()
  return lookThrough(from, limit, async (before, rows) => {
    const spots = await walk.read(before, rows)
    const starts = new Map(spots.map(([startedAt = 0, seq = 0]) => [seq, startedAt]))
    const walked = { spots, next: spots[rows - 1] ?? null }
    const matching = await matchWalked(connection, walked, before, filter, texts)
    // What started before was accepted before.
    const [startedAt = 0] = matching.next ?? []
    const found = matching.rows.map(({ seq }): Spot => [starts.get(seq) ?? 0, seq])
    return { spots: found, next: startedAt < createdFrom ? null : matching.next }
  })
}
