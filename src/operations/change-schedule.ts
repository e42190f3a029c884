import type { Schedule } from '../domain/schedule.ts'
import { nextSlot } from '../domain/slots.ts'
import { prepareFiring, prepareScheduledJob } from '../engine/schedule-firing.ts'
import type { SlotFiring } from '../store/schedules.ts'
import { CHANGE_ATTEMPTS_MAX } from './change-template.ts'
import type { OperationContext } from './context.ts'
import { getSchedule, scheduleNotFound } from './read-schedules.ts'
import { changedMeanwhile, readExpectedRevision, refuseOtherRevision } from './revisions.ts'
import { firstSlotOf, readScheduleChange, type ScheduleChange, type ScheduleDefinition } from './schedule-options.ts'

/**
 * Changes a schedule from its next slot on. A new cron expression, zone or interval starts from now, and so does enabling;
 * other changes move no slot. Slots that are due at that moment are fired as the schedule was.
 */
export async function changeSchedule(
  context: OperationContext,
  scheduleId: string,
  options: ScheduleChange,
): Promise<Schedule> {
  const expected = readExpectedRevision(options?.revision)
  for (let attempt = 1; attempt <= CHANGE_ATTEMPTS_MAX; attempt++) {
    const current = await getSchedule(context, scheduleId)
    refuseOtherRevision('schedule', current.revision, expected)
    const now = context.clock.now()
    const definition = readScheduleChange(options, current, now)
    await refuseBroken(context, current, definition)
    const firing = await firingOfDue(context, current, now)
    const schedule = revise(current, definition, firing, now)
    const result = await context.store.changeSchedule({ firing, schedule, now })
    if (result.kind === 'fired') return getSchedule(context, scheduleId)
    if (result.kind === 'not-found') throw scheduleNotFound(scheduleId)
  }
  throw changedMeanwhile('schedule')
}

/** From now on it makes Jobs again. What it was disabled for must be mended. */
export function enableSchedule(context: OperationContext, scheduleId: string): Promise<Schedule> {
  return switchSchedule(context, scheduleId, true)
}

/** It makes no Jobs any more. Those it made are not touched. */
export function disableSchedule(context: OperationContext, scheduleId: string): Promise<Schedule> {
  return switchSchedule(context, scheduleId, false)
}

async function switchSchedule(context: OperationContext, scheduleId: string, enabled: boolean): Promise<Schedule> {
  const current = await getSchedule(context, scheduleId)
  return current.enabled === enabled ? current : changeSchedule(context, scheduleId, { enabled })
}

/** What would break it at its next slot is told now, when this change is about that. */
async function refuseBroken(
  context: OperationContext,
  current: Schedule,
  definition: ScheduleDefinition,
): Promise<void> {
  const isAboutJobs = !isSame([definition.target, definition.paramOverrides], [current.target, current.paramOverrides])
  const isEnabling = definition.enabled && !current.enabled
  if (isAboutJobs || isEnabling) await prepareScheduledJob(context, { ...current, ...definition })
}

/**
 * What is due by the old definition. A schedule that is broken or disabled has nothing that could be made. A schema that does
 * not answer keeps nobody from changing or disabling a schedule: those Jobs are checked where they run.
 */
async function firingOfDue(context: OperationContext, current: Schedule, now: number): Promise<SlotFiring> {
  const prepared = current.enabled ? await prepareFiring(context, current, now) : null
  if (prepared !== null && prepared.kind !== 'broken') return prepared.firing
  const { scheduleId, revision, overlap, lastSlotAt, nextSlotAt } = current
  return { scheduleId, revision, overlap, slots: [], skipped: [], lastSlotAt, nextSlotAt }
}

function revise(current: Schedule, definition: ScheduleDefinition, firing: SlotFiring, now: number): Schedule {
  const { enabled, timing } = definition
  const revised = { ...current, ...definition, updatedAt: now, disabledReason: enabled ? null : current.disabledReason }
  const { lastSlotAt, nextSlotAt } = firing
  const isNewTiming = !isSame(timing, current.timing)
  if (isNewTiming || (enabled && !current.enabled)) {
    const firstSlotAt = firstSlotOf(timing, nextSlot(timing, now))
    return { ...revised, lastSlotAt: now, nextSlotAt: enabled ? firstSlotAt : null }
  }
  return { ...revised, lastSlotAt, nextSlotAt: enabled ? nextSlotAt : null }
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
