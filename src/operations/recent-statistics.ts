import type { RunTimes } from '../store/runs.ts'
import type { OperationContext } from './context.ts'

/** What ended within one minute, on all nodes together. */
export interface Minute {
  /** The first instant of the minute. */
  readonly minuteAt: number
  readonly executed: number
  readonly completed: number
  readonly failed: number
  readonly skipped: number
  /** How long those Runs took together, and how long after the `runAt` of their Jobs they started, together. */
  readonly runMs: number
  readonly waitMs: number
}

/** Half of all were no longer than `p50`, 95 of 100 no longer than `p95`. */
export interface Percentiles {
  readonly p50: number
  readonly p95: number
}

export interface RecentStatistics {
  /** The last 60 minutes, oldest first, the present one last; also those in which nothing ended. */
  readonly minutes: readonly Minute[]
  /** There are more Runs than were looked at: minutes before `since` are not told in full. */
  readonly limited: boolean
  /** The start of the oldest Run that was looked at. Null: none was. */
  readonly since: number | null
  /** Of the latest Runs that have ended, at most 1,000. */
  readonly times: {
    readonly runs: number
    readonly waitMs: Percentiles | null
    readonly runMs: Percentiles | null
  }
}

const MINUTE_MS = 60_000
const MINUTES_SHOWN = 60

/** Runs that are looked at, the latest ones: a few milliseconds. */
const LOOKED_AT_MAX = 10_000
const TIMES_MAX = 1_000

/** Runs that took longer than this before they ended are counted by the hour only. */
const LONGEST_MS = 3_600_000

/**
 * The last hour by the minute, and how long Jobs wait and run. Read from the latest Runs, so that counting costs nothing while
 * they execute; it looks at a bounded number of them.
 */
export async function readRecentStatistics(
  context: Pick<OperationContext, 'store' | 'clock'>,
): Promise<RecentStatistics> {
  const now = context.clock.now()
  const from = now - (now % MINUTE_MS) - (MINUTES_SHOWN - 1) * MINUTE_MS
  const found = await context.store.listRunTimes(from - LONGEST_MS, LOOKED_AT_MAX + 1)
  const runs = found.slice(0, LOOKED_AT_MAX)
  const latest = runs.slice(0, TIMES_MAX)
  return {
    minutes: minutesOf(runs, from),
    limited: found.length > LOOKED_AT_MAX,
    since: runs.at(-1)?.startedAt ?? null,
    times: {
      runs: latest.length,
      waitMs: percentilesOf(latest.map(({ runAt, startedAt }) => Math.max(0, startedAt - runAt))),
      runMs: percentilesOf(latest.map(({ startedAt, finishedAt }) => Math.max(0, finishedAt - startedAt))),
    },
  }
}

const NOTHING = { executed: 0, completed: 0, failed: 0, skipped: 0, runMs: 0, waitMs: 0 }

function minutesOf(runs: readonly RunTimes[], from: number): Minute[] {
  const minutes = Array.from({ length: MINUTES_SHOWN }, (_, index) => ({
    minuteAt: from + index * MINUTE_MS,
    ...NOTHING,
  }))
  for (const { status, runAt, startedAt, finishedAt } of runs) {
    const minute = minutes[Math.floor((finishedAt - from) / MINUTE_MS)]
    if (minute === undefined) continue
    minute.executed++
    if (status === 'COMPLETED') minute.completed++
    else if (status === 'FAILED') minute.failed++
    else minute.skipped++
    minute.runMs += Math.max(0, finishedAt - startedAt)
    minute.waitMs += Math.max(0, startedAt - runAt)
  }
  return minutes
}

/** The nearest rank. Null: there is nothing to rank. */
function percentilesOf(values: readonly number[]): Percentiles | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] as number
  return { p50: at(0.5), p95: at(0.95) }
}
