import type { Schedule } from '../domain/schedule.ts'
import { nextSlot } from '../domain/slots.ts'
import { prepareScheduledJob } from '../engine/schedule-firing.ts'
import type { OperationContext } from './context.ts'
import { firstSlotOf, readScheduleOptions, type ScheduleOptions } from './schedule-options.ts'

/** Makes Jobs of a template or a type from now on, whenever a slot comes. */
export async function createSchedule(context: OperationContext, options: ScheduleOptions): Promise<Schedule> {
  const schedule = await prepareSchedule(context, options)
  await context.store.createSchedule(schedule)
  return schedule
}

/** A schedule that can be written, or an error that says what is wrong with it. */
export async function prepareSchedule(context: OperationContext, options: ScheduleOptions): Promise<Schedule> {
  const now = context.clock.now()
  const definition = readScheduleOptions(options, now)
  const { timing, enabled } = definition
  const firstSlotAt = firstSlotOf(timing, nextSlot(timing, now))
  const schedule: Schedule = {
    ...definition,
    scheduleId: context.newId(),
    disabledReason: null,
    revision: 1,
    createdAt: now,
    updatedAt: now,
    lastSlotAt: now,
    nextSlotAt: enabled ? firstSlotAt : null,
    lastTriggeredAt: null,
  }
  // What would break it at its first slot is told now.
  await prepareScheduledJob(context, schedule)
  return schedule
}
