import type { Schedule } from '../../../domain/schedule.ts'
import type { Page } from '../../../store/jobs.ts'
import type { FiringResult, ScheduleFilter, ScheduleStore } from '../../../store/schedules.ts'
import { SCHEDULE_COLUMNS, type ScheduleRow, scheduleDefinition, toSchedule } from '../../shared/schedule-rows.ts'
import type { Connection, SqlValue } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { fireLocked, lockSchedule } from './fire-slots.ts'
import { forgetSkips } from './skipped-slots.ts'

export { fireEach, fireSlots, jobsOf, triggerSchedule } from './fire-slots.ts'
export { listSkippedSlots } from './skipped-slots.ts'

// 1 row: made. 0 rows: one was declared under that name before, perhaps a moment ago by another node.
const INSERT_SCHEDULE = `
insert into pawl.schedules (
  name, template_id, type, params, cron, every_ms, anchor_at, timezone, missed, overlap, priority, tags, business_key,
  enabled, disabled_reason, last_slot_at, next_slot_at, updated_at, planned_at,
  schedule_id, revision, created_at, last_triggered_at, declared_as
) values (
  $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24
)
on conflict (declared_as) where declared_as is not null do nothing`

export async function createSchedule(transaction: Transaction, schedule: Schedule): Promise<void> {
  await insertSchedule(transaction, schedule, null)
}

async function insertSchedule(
  transaction: Transaction,
  schedule: Schedule,
  declaredAs: string | null,
): Promise<'created' | 'declared-before'> {
  const { scheduleId, revision, createdAt, lastTriggeredAt } = schedule
  const definition = scheduleDefinition(schedule, schedule.enabled, createdAt)
  const values = [...definition, scheduleId, revision, createdAt, lastTriggeredAt, declaredAs]
  if ((await transaction.connection.run(INSERT_SCHEDULE, ...values)) === 0) return 'declared-before'
  transaction.stirs.add('schedules')
  return 'created'
}

const SELECT_DECLARED = `select ${SCHEDULE_COLUMNS} from pawl.schedules where declared_as = $1`

/** Of many that declare it at once, one makes it. Should somebody remove that one just then, the next makes it anew. */
export async function declareSchedule(transaction: Transaction, name: string, schedule: Schedule): Promise<Schedule> {
  const { connection } = transaction
  for (;;) {
    const declared = await connection.get<ScheduleRow<boolean>>(SELECT_DECLARED, name)
    if (declared !== undefined) return toSchedule(declared)
    if ((await insertSchedule(transaction, schedule, name)) === 'created') {
      return (await findSchedule(connection, schedule.scheduleId)) ?? schedule
    }
  }
}

// 1 row: changed. The firing before holds the row; it has looked at the fence, and made a new revision.
const UPDATE_SCHEDULE = `
update pawl.schedules
set name = $1, template_id = $2, type = $3, params = $4, cron = $5, every_ms = $6, anchor_at = $7, timezone = $8,
  missed = $9, overlap = $10, priority = $11, tags = $12, business_key = $13, enabled = $14, disabled_reason = $15,
  last_slot_at = $16, next_slot_at = $17, updated_at = $18, planned_at = $19
where schedule_id = $20`

export async function changeSchedule(
  transaction: Transaction,
  { firing, schedule, now }: Parameters<ScheduleStore['changeSchedule']>[0],
): Promise<FiringResult | { readonly kind: 'not-found' }> {
  const { connection } = transaction
  const fence = await lockSchedule(connection, schedule.scheduleId)
  if (fence === undefined) return { kind: 'not-found' }
  const result = await fireLocked(transaction, fence, firing, now)
  if (result.kind !== 'fired') return result
  const definition = scheduleDefinition(schedule, schedule.enabled, now)
  await connection.run(UPDATE_SCHEDULE, ...definition, schedule.scheduleId)
  transaction.stirs.add('schedules')
  return result
}

// 1 row: disabled. 0 rows: it was fired, changed or removed since that revision.
const DISABLE_SCHEDULE = `
update pawl.schedules
set enabled = false, disabled_reason = $1, next_slot_at = null, revision = revision + 1, updated_at = $2, planned_at = $2
where schedule_id = $3 and revision = $4`

export async function disableSchedule(
  transaction: Transaction,
  { scheduleId, revision, reason, now }: Parameters<ScheduleStore['disableSchedule']>[0],
): Promise<'disabled' | 'stale'> {
  const changed = await transaction.connection.run(DISABLE_SCHEDULE, reason, now, scheduleId, revision)
  if (changed === 0) return 'stale'
  transaction.stirs.add('schedules')
  return 'disabled'
}

// 1 row: removed.
const DELETE_SCHEDULE = 'delete from pawl.schedules where schedule_id = $1'

/** What its Jobs hold in `pawl.scheduled_chains` goes when their chains settle. */
export async function removeSchedule(
  transaction: Transaction,
  scheduleId: string,
  revision: number | null = null,
): Promise<'removed' | 'stale' | 'not-found'> {
  const { connection } = transaction
  const fence = await lockSchedule(connection, scheduleId)
  if (fence === undefined) return 'not-found'
  if (revision !== null && fence.revision !== revision) return 'stale'
  await connection.run(DELETE_SCHEDULE, scheduleId)
  await forgetSkips(transaction, scheduleId)
  transaction.stirs.add('schedules')
  return 'removed'
}

const SELECT_SCHEDULE = `select ${SCHEDULE_COLUMNS} from pawl.schedules where schedule_id = $1`

export async function findSchedule(connection: Connection, scheduleId: string): Promise<Schedule | null> {
  const row = await connection.get<ScheduleRow<boolean>>(SELECT_SCHEDULE, scheduleId)
  return row === undefined ? null : toSchedule(row)
}

/** Ids grow with time, so they are the order and the cursor. */
export async function listSchedules(connection: Connection, filter: ScheduleFilter): Promise<Page<Schedule>> {
  const { limit, cursor = null, enabled } = filter
  const conditions: string[] = []
  const values: SqlValue[] = [limit]
  if (cursor !== null) {
    conditions.push('schedule_id < $2')
    values.push(cursor)
  }
  if (enabled !== undefined) conditions.push(enabled ? 'enabled' : 'not enabled')
  const where = conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`
  const sql = `select ${SCHEDULE_COLUMNS} from pawl.schedules ${where} order by schedule_id desc limit $1`
  const rows = await connection.all<ScheduleRow<boolean>>(sql, ...values)
  const nextCursor = rows.length === limit ? (rows[rows.length - 1]?.schedule_id ?? null) : null
  return { items: rows.map(toSchedule), nextCursor }
}

const SELECT_DUE = `
select ${SCHEDULE_COLUMNS}
from pawl.schedules
where next_slot_at <= $1
order by next_slot_at, schedule_id
limit $2`

export async function findDueSchedules(connection: Connection, now: number, limit: number): Promise<Schedule[]> {
  return (await connection.all<ScheduleRow<boolean>>(SELECT_DUE, now, limit)).map(toSchedule)
}

const SELECT_PLANNED_AFTER = `
select ${SCHEDULE_COLUMNS}
from pawl.schedules
where enabled and planned_at > $1
order by planned_at desc
limit $2`

export async function findSchedulesPlannedAfter(
  connection: Connection,
  instant: number,
  limit: number,
): Promise<Schedule[]> {
  return (await connection.all<ScheduleRow<boolean>>(SELECT_PLANNED_AFTER, instant, limit)).map(toSchedule)
}

const SELECT_NEXT_SLOT = `
select next_slot_at
from pawl.schedules
where next_slot_at is not null
order by next_slot_at
limit 1`

export async function nextSlotAt(connection: Connection): Promise<number | null> {
  return (await connection.get<{ next_slot_at: number }>(SELECT_NEXT_SLOT))?.next_slot_at ?? null
}
