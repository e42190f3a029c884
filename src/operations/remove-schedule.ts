import { readText } from '../domain/options.ts'
import type { OperationContext } from './context.ts'
import { scheduleNotFound } from './read-schedules.ts'
import { otherRevision, type RemoveOptions, readRemoveOptions } from './revisions.ts'

/** Removes a schedule. Jobs that it made stay, and run. */
export async function removeSchedule(
  context: OperationContext,
  scheduleId: string,
  options: RemoveOptions = {},
): Promise<void> {
  const revision = readRemoveOptions(options)
  const result = await context.store.removeSchedule(readText(scheduleId, 'scheduleId'), revision)
  if (result === 'not-found') throw scheduleNotFound(scheduleId)
  if (result === 'stale') throw otherRevision('schedule', revision)
}
