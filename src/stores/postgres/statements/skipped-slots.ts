import type { SkippedSlots } from '../../../domain/schedule.ts'
import type { Page } from '../../../store/jobs.ts'
import { type RecordedSkip, SKIPS_KEPT_MAX } from '../../../store/schedules.ts'
import { readCursor } from '../../shared/list-spots.ts'
import { SKIP_COLUMNS, type SkipRow, toSkipPage } from '../../shared/schedule-rows.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

// 1 row: the slot before was skipped for the same reason, and its record stands for both. 0 rows: this is a new one.
const EXTEND_SKIP = `
update pawl.skipped_slots
set last_slot_at = $1, slots = slots + $2::bigint, at = $3
where skip_seq = (
    select skip_seq
    from pawl.skipped_slots
    where schedule_id = $4
    order by skip_seq desc
    limit 1
  )
  and reason = $5 and last_slot_at = $6`

// As many rows as were given, numbered in their order.
const INSERT_SKIPS = `
insert into pawl.skipped_slots (schedule_id, first_slot_at, last_slot_at, slots, reason, at)
select $1, first_slot_at, last_slot_at, slots, reason, $6
from unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[]) with ordinality
  as given (first_slot_at, last_slot_at, slots, reason, place)
order by place`

// As many rows as there are beyond those that are kept.
const DELETE_OLDEST_SKIPS = `
delete from pawl.skipped_slots
where schedule_id = $1 and skip_seq <= (
    select skip_seq
    from pawl.skipped_slots
    where schedule_id = $1
    order by skip_seq desc
    offset ${SKIPS_KEPT_MAX}
    limit 1
  )`

/**
 * Records slots that made no Job, oldest first. A schedule that skips every second for an hour gets one record, not 3,600.
 * Whoever calls this holds the row of the schedule.
 * @param slotBefore the last slot before these, if nothing was made since; null when something was
 */
export async function recordSkips(
  { connection }: Transaction,
  scheduleId: string,
  skips: readonly SkippedSlots[],
  slotBefore: number | null,
  now: number,
): Promise<void> {
  const [first, ...others] = skips
  if (first === undefined) return
  const isExtended = slotBefore !== null && (await extendSkip(connection, scheduleId, first, slotBefore, now))
  const fresh = isExtended ? others : skips
  if (fresh.length === 0) return
  await connection.run(
    INSERT_SKIPS,
    scheduleId,
    fresh.map(({ firstSlotAt }) => firstSlotAt),
    fresh.map(({ lastSlotAt }) => lastSlotAt),
    fresh.map(({ count }) => count),
    fresh.map(({ reason }) => reason),
    now,
  )
  await connection.run(DELETE_OLDEST_SKIPS, scheduleId)
}

async function extendSkip(
  connection: Connection,
  scheduleId: string,
  { lastSlotAt, count, reason }: SkippedSlots,
  slotBefore: number,
  now: number,
): Promise<boolean> {
  return (await connection.run(EXTEND_SKIP, lastSlotAt, count, now, scheduleId, reason, slotBefore)) === 1
}

// As many rows as were recorded of this schedule.
const DELETE_SKIPS = 'delete from pawl.skipped_slots where schedule_id = $1'

export async function forgetSkips({ connection }: Transaction, scheduleId: string): Promise<void> {
  await connection.run(DELETE_SKIPS, scheduleId)
}

const SELECT_SKIPS = `
select ${SKIP_COLUMNS}
from pawl.skipped_slots
where schedule_id = $1 and skip_seq < $2
order by skip_seq desc
limit $3`

export async function listSkippedSlots(
  connection: Connection,
  scheduleId: string,
  limit: number,
  cursor: string | null = null,
): Promise<Page<RecordedSkip>> {
  const [before = 0] = readCursor(cursor, 1)
  return toSkipPage(await connection.all<SkipRow>(SELECT_SKIPS, scheduleId, before, limit), limit)
}
