import type { Counts, HourOfNode } from '../../store/statistics.ts'

export const NOTHING_COUNTED: Counts = { executed: 0, completed: 0, failed: 0, skipped: 0, cancelled: 0 }

export type HourRow = {
  hour_at: number
  node_id: string | null
  executed: number
  completed: number
  failed: number
  skipped: number
  cancelled: number
  run_ms: number
  wait_ms: number
}

export function toHour(row: HourRow): HourOfNode {
  return {
    hourAt: row.hour_at,
    nodeId: row.node_id,
    executed: row.executed,
    completed: row.completed,
    failed: row.failed,
    skipped: row.skipped,
    cancelled: row.cancelled,
    runMs: row.run_ms,
    waitMs: row.wait_ms,
  }
}
