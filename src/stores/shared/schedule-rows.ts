import type { JsonValue } from '../../domain/json.ts'
import type { MissedPolicy, OverlapPolicy, Schedule, SkippedSlots, SkipReason } from '../../domain/schedule.ts'
import type { Page } from '../../store/jobs.ts'
import type { RecordedSkip } from '../../store/schedules.ts'

export const SCHEDULE_COLUMNS = `
  schedule_id, name, template_id, type, params, cron, every_ms, anchor_at, timezone, missed, overlap, priority, tags,
  business_key, enabled, disabled_reason, revision, created_at, updated_at, last_slot_at, next_slot_at, last_triggered_at`

/** `Flag`: how the database keeps a truth value. */
export type ScheduleRow<Flag extends boolean | number> = {
  schedule_id: string
  name: string
  template_id: string | null
  type: string | null
  params: string
  cron: string | null
  every_ms: number | null
  anchor_at: number
  timezone: string
  missed: MissedPolicy
  overlap: OverlapPolicy
  priority: number
  tags: string | null
  business_key: string | null
  enabled: Flag
  disabled_reason: string | null
  revision: number
  created_at: number
  updated_at: number
  last_slot_at: number
  next_slot_at: number | null
  last_triggered_at: number | null
}

/** The columns that a change replaces, in the order of the statements that write them. */
export function scheduleDefinition<Flag extends boolean | number>(
  schedule: Schedule,
  enabled: Flag,
  now: number,
): (string | number | null | Flag)[] {
  const { target, timing, tags } = schedule
  return [
    schedule.name,
    target.kind === 'template' ? target.templateId : null,
    target.kind === 'type' ? target.type : null,
    JSON.stringify(schedule.paramOverrides),
    timing.kind === 'cron' ? timing.expression : null,
    timing.kind === 'every' ? timing.everyMs : null,
    timing.kind === 'every' ? timing.anchorAt : schedule.createdAt,
    timing.timezone,
    schedule.missed,
    schedule.overlap,
    schedule.priority,
    tags.length === 0 ? null : JSON.stringify(tags),
    schedule.businessKey,
    enabled,
    schedule.disabledReason,
    schedule.lastSlotAt,
    schedule.nextSlotAt,
    schedule.updatedAt,
    now,
  ]
}

export function toSchedule(row: ScheduleRow<boolean | number>): Schedule {
  const { timezone } = row
  return {
    scheduleId: row.schedule_id,
    name: row.name,
    target:
      row.template_id === null
        ? { kind: 'type', type: row.type ?? '' }
        : { kind: 'template', templateId: row.template_id },
    paramOverrides: JSON.parse(row.params) as JsonValue,
    timing:
      row.cron === null
        ? { kind: 'every', everyMs: row.every_ms ?? 0, anchorAt: row.anchor_at, timezone }
        : { kind: 'cron', expression: row.cron, timezone },
    missed: row.missed,
    overlap: row.overlap,
    priority: row.priority,
    tags: row.tags === null ? [] : (JSON.parse(row.tags) as string[]),
    businessKey: row.business_key,
    enabled: Boolean(row.enabled),
    disabledReason: row.disabled_reason,
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    lastSlotAt: row.last_slot_at,
    nextSlotAt: row.next_slot_at,
    lastTriggeredAt: row.last_triggered_at,
  }
}

export const SKIP_COLUMNS = 'skip_seq, first_slot_at, last_slot_at, slots, reason, at'

export type SkipRow = {
  skip_seq: number
  first_slot_at: number
  last_slot_at: number
  slots: number | null
  reason: SkipReason
  at: number
}

export function toSkipPage(rows: readonly SkipRow[], limit: number): Page<RecordedSkip> {
  const items = rows.map(({ first_slot_at, last_slot_at, slots, reason, at }) => ({
    firstSlotAt: first_slot_at,
    lastSlotAt: last_slot_at,
    count: slots,
    reason,
    at,
  }))
  return { items, nextCursor: rows.length === limit ? String(rows[rows.length - 1]?.skip_seq) : null }
}

/** One slot more that was skipped. Those that follow each other with the same reason become one. */
export function withSkipped(
  skips: readonly SkippedSlots[],
  slotAt: number,
  reason: SkipReason,
  reasonBefore: SkipReason | null,
): SkippedSlots[] {
  const last = skips[skips.length - 1]
  if (last === undefined || reason !== reasonBefore) {
    return [...skips, { firstSlotAt: slotAt, lastSlotAt: slotAt, count: 1, reason }]
  }
  const extended = { ...last, lastSlotAt: slotAt, count: last.count === null ? null : last.count + 1 }
  return [...skips.slice(0, -1), extended]
}
