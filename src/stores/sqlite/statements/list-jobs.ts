import type { Job } from '../../../domain/job.ts'
import type { JobFilter, Page } from '../../../store/jobs.ts'
import { downward, type Found, readCursor, writeCursor } from '../../shared/list-spots.ts'
import type { Connection } from '../connection.ts'
import { toJob } from '../rows.ts'
import type { Interned } from '../transaction.ts'
import { walkMarks, walkNewest, walkStatus, walkType } from './job-walks.ts'
import { findQueued } from './list-queued.ts'
import { lookThrough, readExactly, type Walk, walkFurthest } from './list-walks.ts'
import { readListed, selectMatching } from './match-jobs.ts'

export function listJobs(connection: Connection, interned: Interned, filter: JobFilter, now: number): Page<Job> {
  const { spots, next } = filter.status === 'QUEUED' ? findQueued(connection, filter) : findNewest(connection, filter)
  const rows = readListed(connection, spots, filter)
  return { items: rows.map((row) => toJob(row, connection, interned, now)), nextCursor: writeCursor(next) }
}

/** A cursor names the last Job that was looked at: `<seq>`. */
function findNewest(connection: Connection, filter: JobFilter): Found {
  const { limit } = filter
  const from = readCursor(filter.cursor, 1)
  const walks = walksTo(connection, filter)
  const [only] = walks
  if (only === undefined) return readExactly(walkNewest(connection), from, limit)
  // A Job with a Run may still execute, or its body was aborted.
  if (walks.length === 1 && filter.status !== 'FINISHED') return readExactly(only, from, limit)
  return lookThrough(from, limit, (before, rows) => {
    const walked = walkFurthest(walks, before, rows, downward)
    const matching = selectMatching(connection, walked.spots, filter, limit + 1)
    return { spots: matching.map(({ seq }) => [seq]), next: walked.next }
  })
}

/** One way for each thing that is asked for. */
function walksTo(connection: Connection, filter: JobFilter): Walk[] {
  const { status, type } = filter
  const walks = walkMarks(connection, filter)
  if (type !== undefined) walks.push(walkType(connection, type))
  if (status !== undefined && status !== 'QUEUED') walks.push(walkStatus(connection, status))
  return walks
}
