import { isDeepStrictEqual } from 'node:util'
import type { Schedule } from '../domain/schedule.ts'
import { changeSchedule } from './change-schedule.ts'
import type { OperationContext } from './context.ts'
import { prepareSchedule } from './create-schedule.ts'
import type { ScheduleChange, ScheduleOptions } from './schedule-options.ts'

/**
 * The schedule that a program wants to exist, whenever it starts and in however many processes: made once, and changed when
 * what the program says has changed. It is known by its name. Whether it is enabled stays as it is, unless the options say.
 */
export async function declareSchedule(context: OperationContext, options: ScheduleOptions): Promise<Schedule> {
  const wanted = await prepareSchedule(context, options)
  const stored = await context.store.declareSchedule(wanted.name, wanted)
  const change = changeBetween(stored, wanted, options)
  return Object.keys(change).length === 0 ? stored : changeSchedule(context, stored.scheduleId, change)
}

/** Only what differs: a schedule that is as it should be must not begin anew at each start of the program. */
function changeBetween(stored: Schedule, wanted: Schedule, options: ScheduleOptions): ScheduleChange {
  const { timing } = wanted
  const hasOtherTiming = !isDeepStrictEqual(timingOf(stored), timingOf(wanted))
  return {
    ...(!isDeepStrictEqual(stored.target, wanted.target) &&
      (wanted.target.kind === 'type' ? { type: wanted.target.type } : { templateId: wanted.target.templateId })),
    ...(hasOtherTiming && (timing.kind === 'cron' ? { cron: timing.expression } : { everyMs: timing.everyMs })),
    ...(hasOtherTiming && { timezone: timing.timezone }),
    ...pickOther(stored, wanted, ['name', 'paramOverrides', 'missed', 'overlap', 'priority', 'tags', 'businessKey']),
    ...(options.enabled !== undefined && options.enabled !== stored.enabled && { enabled: options.enabled }),
  }
}

/** Without the instant from which an interval counts: that one stays. */
function timingOf({ timing }: Schedule): unknown {
  return timing.kind === 'cron' ? timing : { everyMs: timing.everyMs, timezone: timing.timezone }
}

function pickOther<Key extends keyof Schedule>(stored: Schedule, wanted: Schedule, keys: readonly Key[]): object {
  const other = keys.filter((key) => !isDeepStrictEqual(stored[key], wanted[key]))
  return Object.fromEntries(other.map((key) => [key, wanted[key]]))
}
