import type { Counts, HourOfNode, QueueCounts } from '../store/statistics.ts'
import type { OperationContext } from './context.ts'

/** What ended within one hour, on all nodes together. */
export interface Hour extends Counts {
  /** The first instant of the hour. */
  readonly hourAt: number
  /** How long those Runs took together, from their start to their outcome. */
  readonly runMs: number
  /** How long after the `runAt` of their Jobs those Runs started, together. */
  readonly waitMs: number
}

export interface Statistics {
  /** Everything that was ever counted, also of Jobs that were pruned. */
  readonly totals: Counts
  /** The last 24 hours, oldest first, the present one last; also those in which nothing ended. */
  readonly hours: readonly Hour[]
  readonly queue: QueueCounts
  /** A number of `queue` that is this one means so many or more. */
  readonly countedTo: number
}

const HOUR_MS = 3_600_000
const HOURS_SHOWN = 24

/** Rows of one hour and one node that are read: those of hundreds of nodes in each hour. */
const HOURS_READ_MAX = 20_000

/** The numbers of the queue are exact up to this one; more of them read as this one. */
export const QUEUE_COUNT_MAX = 10_000

/** What was executed, what ended lately, and what waits. Costs the same whatever the backlog and the history. */
export async function readStatistics(context: Pick<OperationContext, 'store' | 'clock'>): Promise<Statistics> {
  const { store, clock } = context
  const now = clock.now()
  const from = now - (now % HOUR_MS) - (HOURS_SHOWN - 1) * HOUR_MS
  const [totals, rows, queue] = await Promise.all([
    store.readTotals(),
    store.listHours(from, HOURS_READ_MAX),
    store.countQueue(QUEUE_COUNT_MAX, now),
  ])
  return { totals, hours: addUp(rows, from), queue, countedTo: QUEUE_COUNT_MAX }
}

const NOTHING = { executed: 0, completed: 0, failed: 0, skipped: 0, cancelled: 0, runMs: 0, waitMs: 0 }

function addUp(rows: readonly HourOfNode[], from: number): Hour[] {
  const hours = Array.from({ length: HOURS_SHOWN }, (_, index) => ({ hourAt: from + index * HOUR_MS, ...NOTHING }))
  for (const row of rows) {
    // A clock that was ahead may have counted in an hour that has not come yet.
    const hour = hours[(row.hourAt - from) / HOUR_MS]
    if (hour === undefined) continue
    for (const name of Object.keys(NOTHING) as (keyof typeof NOTHING)[]) hour[name] += row[name]
  }
  return hours
}

/** Jobs by where they stand. A number that is `countedTo` means so many or more. */
export interface JobCounts {
  readonly countedTo: number
  readonly queued: number
  /** Of the queued, those that nothing but limits, places and nodes keeps from starting. */
  readonly ready: number
  readonly running: number
  readonly finished: number
  readonly cancelled: number
}

/** Never counts over history. */
export async function countJobs({ store, clock }: Pick<OperationContext, 'store' | 'clock'>): Promise<JobCounts> {
  const [queue, ended] = await Promise.all([
    store.countQueue(QUEUE_COUNT_MAX, clock.now()),
    store.countEnded(QUEUE_COUNT_MAX),
  ])
  const { queued, ready, running } = queue
  return { countedTo: QUEUE_COUNT_MAX, queued, ready, running, ...ended }
}
