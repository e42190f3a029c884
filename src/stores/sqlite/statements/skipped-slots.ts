import type { SkippedSlots } from '../../../domain/schedule.ts'
import type { Page } from '../../../store/jobs.ts'
import { type RecordedSkip, SKIPS_KEPT_MAX } from '../../../store/schedules.ts'
import { readCursor } from '../../shared/list-spots.ts'
import { SKIP_COLUMNS, type SkipRow, toSkipPage } from '../../shared/schedule-rows.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

// 1 row: the slot before was skipped for the same reason, and its record stands for both. 0 rows: this is a new one.
const EXTEND_SKIP = `
update pawl_skipped_slots
set last_slot_at = ?, slots = slots + ?, at = ?
where skip_seq = (
    select skip_seq
    from pawl_skipped_slots
    where schedule_id = ?
    order by skip_seq desc
    limit 1
  )
  and reason = ? and last_slot_at = ?`

const INSERT_SKIP = `
insert into pawl_skipped_slots (schedule_id, first_slot_at, last_slot_at, slots, reason, at)
values (?, ?, ?, ?, ?, ?)`

// As many rows as there are beyond those that are kept: one, when each is followed by this.
const DELETE_OLDEST_SKIPS = `
delete from pawl_skipped_slots
where schedule_id = ? and skip_seq <= (
    select skip_seq
    from pawl_skipped_slots
    where schedule_id = ?
    order by skip_seq desc
    limit 1 offset ${SKIPS_KEPT_MAX}
  )`

/**
 * Records slots that made no Job. A schedule that skips every second for an hour gets one record, not 3,600.
 * @param slotBefore the last slot before these, if nothing was made since; null when something was
 */
export function recordSkip(
  transaction: Transaction,
  scheduleId: string,
  skip: SkippedSlots,
  slotBefore: number | null,
  now: number,
): void {
  const { connection } = transaction
  const { firstSlotAt, lastSlotAt, count, reason } = skip
  if (
    slotBefore !== null &&
    connection.run(EXTEND_SKIP, lastSlotAt, count, now, scheduleId, reason, slotBefore) === 1
  ) {
    return
  }
  connection.run(INSERT_SKIP, scheduleId, firstSlotAt, lastSlotAt, count, reason, now)
  connection.run(DELETE_OLDEST_SKIPS, scheduleId, scheduleId)
}

// As many rows as were recorded of this schedule.
const DELETE_SKIPS = 'delete from pawl_skipped_slots where schedule_id = ?'

export function forgetSkips(transaction: Transaction, scheduleId: string): void {
  transaction.connection.run(DELETE_SKIPS, scheduleId)
}

const SELECT_SKIPS = `
select ${SKIP_COLUMNS}
from pawl_skipped_slots
where schedule_id = ? and skip_seq < ?
order by skip_seq desc
limit ?`

export function listSkippedSlots(
  connection: Connection,
  scheduleId: string,
  limit: number,
  cursor: string | null = null,
): Page<RecordedSkip> {
  return toSkipPage(connection.all<SkipRow>(SELECT_SKIPS, scheduleId, ...readCursor(cursor, 1), limit), limit)
}
