import { PawlError } from '../domain/errors.ts'
import { invalid, readText, refuseUnknownKeys } from '../domain/options.ts'
import type { Schedule } from '../domain/schedule.ts'
import type { Page } from '../store/jobs.ts'
import type { RecordedSkip } from '../store/schedules.ts'
import type { OperationContext } from './context.ts'
import { type PageOptions, readPage } from './read-history.ts'

export interface ScheduleListOptions extends PageOptions {
  /** @default both */
  readonly enabled?: boolean
}

export async function getSchedule(context: OperationContext, scheduleId: string): Promise<Schedule> {
  const schedule = await context.store.findSchedule(readText(scheduleId, 'scheduleId'))
  if (schedule === null) throw scheduleNotFound(scheduleId)
  return schedule
}

/** Newest first. */
export function listSchedules(context: OperationContext, options: ScheduleListOptions = {}): Promise<Page<Schedule>> {
  refuseUnknownKeys(options, ['limit', 'cursor', 'enabled'], '')
  const { enabled } = options
  if (enabled !== undefined && typeof enabled !== 'boolean') throw invalid('enabled', 'true or false', enabled)
  return context.store.listSchedules({ ...readPage(options), ...(enabled !== undefined && { enabled }) })
}

/** Slots that made no Job, with the reason, newest first. */
export async function listSkippedSlots(
  context: OperationContext,
  scheduleId: string,
  options: PageOptions = {},
): Promise<Page<RecordedSkip>> {
  refuseUnknownKeys(options, ['limit', 'cursor'], '')
  const { limit, cursor } = readPage(options)
  await getSchedule(context, scheduleId)
  return context.store.listSkippedSlots(scheduleId, limit, cursor)
}

export function scheduleNotFound(scheduleId: string): PawlError {
  return new PawlError(
    'schedule_not_found',
    `There is no schedule ${scheduleId}. It never existed, or it was removed.`,
    {
      details: { scheduleId },
    },
  )
}
