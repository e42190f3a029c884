import type { Schedule } from '../../../domain/schedule.ts'
import type { Page } from '../../../store/jobs.ts'
import type { FiringResult, ScheduleFilter, ScheduleStore } from '../../../store/schedules.ts'
import { SCHEDULE_COLUMNS, type ScheduleRow, scheduleDefinition, toSchedule } from '../../shared/schedule-rows.ts'
import type { Connection, SqlValue } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { fire } from './fire-slots.ts'
import { forgetSkips } from './skipped-slots.ts'

export { fireSlots, triggerSchedule } from './fire-slots.ts'
export { listSkippedSlots } from './skipped-slots.ts'

const INSERT_SCHEDULE = `
insert into pawl_schedules (
  name, template_id, type, params, cron, every_ms, anchor_at, timezone, missed, overlap, priority, tags, business_key,
  enabled, disabled_reason, last_slot_at, next_slot_at, updated_at, planned_at,
  schedule_id, revision, created_at, last_triggered_at, declared_as
) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

export function createSchedule(transaction: Transaction, schedule: Schedule, declaredAs: string | null = null): void {
  const { scheduleId, revision, createdAt, lastTriggeredAt } = schedule
  const definition = scheduleDefinition(schedule, schedule.enabled ? 1 : 0, createdAt)
  const { connection } = transaction
  connection.run(INSERT_SCHEDULE, ...definition, scheduleId, revision, createdAt, lastTriggeredAt, declaredAs)
  transaction.stirs.add('schedules')
}

const SELECT_DECLARED = 'select schedule_id from pawl_schedules where declared_as = ?'

export function declareSchedule(transaction: Transaction, name: string, schedule: Schedule): Schedule {
  const declared = transaction.connection.get<{ schedule_id: string }>(SELECT_DECLARED, name)
  if (declared === undefined) createSchedule(transaction, schedule, name)
  return findSchedule(transaction.connection, declared?.schedule_id ?? schedule.scheduleId) ?? schedule
}

// 1 row: changed. The firing before has looked at the fence, and made a new revision.
const UPDATE_SCHEDULE = `
update pawl_schedules
set name = ?, template_id = ?, type = ?, params = ?, cron = ?, every_ms = ?, anchor_at = ?, timezone = ?, missed = ?,
  overlap = ?, priority = ?, tags = ?, business_key = ?, enabled = ?, disabled_reason = ?, last_slot_at = ?,
  next_slot_at = ?, updated_at = ?, planned_at = ?
where schedule_id = ?`

const EXISTS_SCHEDULE = 'select 1 as found from pawl_schedules where schedule_id = ?'

export function changeSchedule(
  transaction: Transaction,
  { firing, schedule, now }: Parameters<ScheduleStore['changeSchedule']>[0],
): FiringResult | { readonly kind: 'not-found' } {
  const { connection } = transaction
  if (connection.get(EXISTS_SCHEDULE, schedule.scheduleId) === undefined) return { kind: 'not-found' }
  const result = fire(transaction, firing, now)
  if (result.kind !== 'fired') return result
  const definition = scheduleDefinition(schedule, schedule.enabled ? 1 : 0, now)
  connection.run(UPDATE_SCHEDULE, ...definition, schedule.scheduleId)
  transaction.stirs.add('schedules')
  return result
}

// 1 row: disabled. 0 rows: it was fired, changed or removed since that revision.
const DISABLE_SCHEDULE = `
update pawl_schedules
set enabled = 0, disabled_reason = ?, next_slot_at = null, revision = revision + 1, updated_at = ?, planned_at = ?
where schedule_id = ? and revision = ?`

export function disableSchedule(
  transaction: Transaction,
  { scheduleId, revision, reason, now }: Parameters<ScheduleStore['disableSchedule']>[0],
): 'disabled' | 'stale' {
  const changed = transaction.connection.run(DISABLE_SCHEDULE, reason, now, now, scheduleId, revision)
  if (changed === 0) return 'stale'
  transaction.stirs.add('schedules')
  return 'disabled'
}

// 1 row: removed. 0 rows: there is none.
const DELETE_SCHEDULE = 'delete from pawl_schedules where schedule_id = ?'

/** What its Jobs hold in `pawl_scheduled_chains` goes when their chains settle. */
export function removeSchedule(
  transaction: Transaction,
  scheduleId: string,
  revision: number | null = null,
): 'removed' | 'stale' | 'not-found' {
  const current = revision === null ? null : findSchedule(transaction.connection, scheduleId)
  if (current !== null && current.revision !== revision) return 'stale'
  if (transaction.connection.run(DELETE_SCHEDULE, scheduleId) === 0) return 'not-found'
  forgetSkips(transaction, scheduleId)
  transaction.stirs.add('schedules')
  return 'removed'
}

const SELECT_SCHEDULE = `select ${SCHEDULE_COLUMNS} from pawl_schedules where schedule_id = ?`

export function findSchedule(connection: Connection, scheduleId: string): Schedule | null {
  const row = connection.get<ScheduleRow<number>>(SELECT_SCHEDULE, scheduleId)
  return row === undefined ? null : toSchedule(row)
}

/** Ids grow with time, so they are the order and the cursor. */
export function listSchedules(connection: Connection, filter: ScheduleFilter): Page<Schedule> {
  const { limit, cursor = null, enabled } = filter
  const conditions: string[] = []
  const values: SqlValue[] = []
  if (cursor !== null) {
    conditions.push('schedule_id < ?')
    values.push(cursor)
  }
  if (enabled !== undefined) conditions.push(`enabled = ${enabled ? 1 : 0}`)
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
  const sql = `select ${SCHEDULE_COLUMNS} from pawl_schedules ${where} order by schedule_id desc limit ?`
  const rows = connection.all<ScheduleRow<number>>(sql, ...values, limit)
  const nextCursor = rows.length === limit ? (rows[rows.length - 1]?.schedule_id ?? null) : null
  return { items: rows.map(toSchedule), nextCursor }
}

const SELECT_DUE = `
select ${SCHEDULE_COLUMNS}
from pawl_schedules
where next_slot_at <= ?
order by next_slot_at, schedule_id
limit ?`

export function findDueSchedules(connection: Connection, now: number, limit: number): Schedule[] {
  return connection.all<ScheduleRow<number>>(SELECT_DUE, now, limit).map(toSchedule)
}

const SELECT_PLANNED_AFTER = `
select ${SCHEDULE_COLUMNS}
from pawl_schedules
where enabled = 1 and planned_at > ?
order by planned_at desc
limit ?`

export function findSchedulesPlannedAfter(connection: Connection, instant: number, limit: number): Schedule[] {
  return connection.all<ScheduleRow<number>>(SELECT_PLANNED_AFTER, instant, limit).map(toSchedule)
}

const SELECT_NEXT_SLOT = `
select next_slot_at
from pawl_schedules
where next_slot_at is not null
order by next_slot_at
limit 1`

export function nextSlotAt(connection: Connection): number | null {
  return connection.get<{ next_slot_at: number }>(SELECT_NEXT_SLOT)?.next_slot_at ?? null
}
