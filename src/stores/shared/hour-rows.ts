import type { Counts, HourOfNode, MinuteCounts } from '../../store/statistics.ts'

export const NOTHING_COUNTED: Counts = { executed: 0, completed: 0, failed: 0, skipped: 0, cancelled: 0 }

export const HOUR_MS = 3_600_000

/** The first hour that begins at this instant or later. */
export function firstHourFrom(instant: number): number {
  return Math.ceil(instant / HOUR_MS) * HOUR_MS
}

type CountsRow = {
  executed: number
  completed: number
  failed: number
  skipped: number
  cancelled: number
  run_ms: number
  wait_ms: number
}

export type HourRow = CountsRow & { hour_at: number; node_id: string | null }

export type MinuteRow = CountsRow & { minute_at: number }

export function toHour(row: HourRow): HourOfNode {
  return { hourAt: row.hour_at, nodeId: row.node_id, ...toCounts(row) }
}

export function toMinute(row: MinuteRow): MinuteCounts {
  return { minuteAt: row.minute_at, ...toCounts(row) }
}

function toCounts({ executed, completed, failed, skipped, cancelled, run_ms, wait_ms }: CountsRow) {
  return { executed, completed, failed, skipped, cancelled, runMs: run_ms, waitMs: wait_ms }
}
