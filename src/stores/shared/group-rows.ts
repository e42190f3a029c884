import { decideGroupStatus, type Group, type GroupMode, type OnMemberFailure } from '../../domain/group.ts'

export type GroupRow = {
  group_id: string
  name: string | null
  mode: GroupMode
  on_failure: OnMemberFailure
  created_by: string | null
  total: number
  completed: number
  failed: number
  skipped: number
  cancelled: number
  created_at: number
  started_at: number | null
  finished_at: number | null
  cancel_requested_at: number | null
  cancel_reason: string | null
  /** 1: an order to its members has not been carried out to its end. */
  has_cascade: number
  running: number
}

export function toGroup(row: GroupRow): Group {
  const { total, completed, failed, skipped, cancelled, running } = row
  const queued = total - completed - failed - skipped - cancelled - running
  const counts = { total, queued, running, completed, failed, skipped, cancelled }
  const times = { startedAt: row.started_at, finishedAt: row.finished_at, cancelRequestedAt: row.cancel_requested_at }
  return {
    groupId: row.group_id,
    name: row.name,
    mode: row.mode,
    onFailure: row.on_failure,
    status: decideGroupStatus({ counts, ...times, hasCascade: row.has_cascade === 1 }),
    counts,
    createdBy: row.created_by,
    createdAt: row.created_at,
    ...times,
    cancelReason: row.cancel_reason,
  }
}
