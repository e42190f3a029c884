import type { Schedule } from '../domain/schedule.ts'
import { changeSchedule, disableSchedule, enableSchedule } from '../operations/change-schedule.ts'
import type { OperationContext } from '../operations/context.ts'
import { createSchedule } from '../operations/create-schedule.ts'
import { declareSchedule } from '../operations/declare-schedule.ts'
import * as previews from '../operations/preview-schedule.ts'
import type { PageOptions } from '../operations/read-history.ts'
import { getSchedule, listSchedules, listSkippedSlots, type ScheduleListOptions } from '../operations/read-schedules.ts'
import { removeSchedule } from '../operations/remove-schedule.ts'
import type { RemoveOptions } from '../operations/revisions.ts'
import type { ScheduleChange, ScheduleOptions } from '../operations/schedule-options.ts'
import { type TriggerOptions, triggerSchedule } from '../operations/trigger-schedule.ts'
import { systemClock } from '../platform/clock.ts'
import type { Page } from '../store/jobs.ts'
import type { RecordedSkip } from '../store/schedules.ts'
import { type Call, type OfType, withTypeName } from './templates.ts'

/** The schedules of a scheduler: `scheduler.schedules`. They make Jobs while any scheduler of the store is started. */
export class Schedules {
  readonly #context: OperationContext
  readonly #call: Call

  /** @internal */
  constructor(context: OperationContext, call: Call) {
    this.#context = context
    this.#call = call
  }

  /** Makes Jobs of a template or a type from now on, whenever a slot comes. */
  create(options: OfType<ScheduleOptions>): Promise<Schedule> {
    return this.#call(() => createSchedule(this.#context, withTypeName(options)))
  }

  /**
   * The same for a program that says at each start which schedules it wants: made once, found again by its name, and changed
   * only when what the program says has changed.
   */
  declare(options: OfType<ScheduleOptions>): Promise<Schedule> {
    return this.#call(() => declareSchedule(this.#context, withTypeName(options)))
  }

  /** A new cron expression, zone or interval starts from now, and so does enabling; other changes move no slot. */
  change(scheduleId: string, change: OfType<ScheduleChange>): Promise<Schedule> {
    return this.#call(() => changeSchedule(this.#context, scheduleId, withTypeName(change)))
  }

  /** From now on it makes Jobs again. */
  enable(scheduleId: string): Promise<Schedule> {
    return this.#call(() => enableSchedule(this.#context, scheduleId))
  }

  /** It makes no Jobs any more. Those it made are not touched. */
  disable(scheduleId: string): Promise<Schedule> {
    return this.#call(() => disableSchedule(this.#context, scheduleId))
  }

  /** Its Jobs stay, and run. */
  remove(scheduleId: string, options?: RemoveOptions): Promise<void> {
    return this.#call(() => removeSchedule(this.#context, scheduleId, options))
  }

  /** Makes one Job now, without moving any slot. */
  trigger(scheduleId: string, options?: TriggerOptions): Promise<{ readonly jobId: string }> {
    return this.#call(async () => ({ jobId: (await triggerSchedule(this.#context, scheduleId, options)).jobId }))
  }

  /** The next slots, with what the clocks of its zone do about them. */
  preview(scheduleId: string, options?: previews.PreviewRange): Promise<previews.SchedulePreview> {
    return this.#call(() => previews.previewSchedule(this.#context, scheduleId, options))
  }

  get(scheduleId: string): Promise<Schedule> {
    return this.#call(() => getSchedule(this.#context, scheduleId))
  }

  /** Newest first. */
  list(options?: ScheduleListOptions): Promise<Page<Schedule>> {
    return this.#call(() => listSchedules(this.#context, options))
  }

  /** Slots that made no Job, with the reason, newest first. */
  listSkipped(scheduleId: string, options?: PageOptions): Promise<Page<RecordedSkip>> {
    return this.#call(() => listSkippedSlots(this.#context, scheduleId, options))
  }
}

/** The slots that a schedule with this timing would have. No scheduler is needed. */
export function previewSchedule(options: previews.PreviewOptions): previews.SchedulePreview {
  return previews.previewTiming(options, systemClock.now())
}
