import type { MinuteCounts } from '../store/statistics.ts'
import type { OperationContext } from './context.ts'

/** What ended within one minute, on all nodes together. */
export type Minute = MinuteCounts

/** Half of all were no longer than `p50`, 95 of 100 no longer than `p95`. */
export interface Percentiles {
  readonly p50: number
  readonly p95: number
}

export interface RecentStatistics {
  /** The last 60 minutes, oldest first, the present one last; also those in which nothing ended. Counted, as hours are. */
  readonly minutes: readonly Minute[]
  /** Of the latest Runs that have ended, at most 1,000: a sample. */
  readonly times: {
    readonly runs: number
    readonly waitMs: Percentiles | null
    readonly runMs: Percentiles | null
  }
}

const MINUTE_MS = 60_000
const MINUTES_SHOWN = 60

/** Runs whose times are looked at, the latest ones. */
const TIMES_MAX = 1_000

/** Of Runs that started longer ago no times are told. */
const TIMES_FROM_MS = 2 * 3_600_000

/** The last hour by the minute, and how long Jobs wait and run. Costs the same whatever the backlog and the history. */
export async function readRecentStatistics(
  context: Pick<OperationContext, 'store' | 'clock'>,
): Promise<RecentStatistics> {
  const { store, clock } = context
  const now = clock.now()
  const end = now - (now % MINUTE_MS) + MINUTE_MS
  const from = end - MINUTES_SHOWN * MINUTE_MS
  const [counted, latest] = await Promise.all([
    store.listMinutes(from, end),
    store.listRunTimes(now - TIMES_FROM_MS, TIMES_MAX),
  ])
  return {
    minutes: allMinutes(counted, from),
    times: {
      runs: latest.length,
      waitMs: percentilesOf(latest.map(({ runAt, startedAt }) => Math.max(0, startedAt - runAt))),
      runMs: percentilesOf(latest.map(({ startedAt, finishedAt }) => Math.max(0, finishedAt - startedAt))),
    },
  }
}

const NOTHING = { executed: 0, completed: 0, failed: 0, skipped: 0, cancelled: 0, runMs: 0, waitMs: 0 }

/** Also those in which nothing ended. */
function allMinutes(counted: readonly Minute[], from: number): Minute[] {
  const byStart = new Map(counted.map((minute) => [minute.minuteAt, minute]))
  return Array.from({ length: MINUTES_SHOWN }, (_, index) => {
    const minuteAt = from + index * MINUTE_MS
    return byStart.get(minuteAt) ?? { minuteAt, ...NOTHING }
  })
}

/** The nearest rank. Null: there is nothing to rank. */
function percentilesOf(values: readonly number[]): Percentiles | null {
  if (values.length === 0) return null
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] as number
  return { p50: at(0.5), p95: at(0.95) }
}
