import { readText } from '../domain/options.ts'
import type { OperationContext } from './context.ts'
import { scheduleNotFound } from './read-schedules.ts'

/** Removes a schedule. Jobs that it made stay, and run. */
export async function removeSchedule(context: OperationContext, scheduleId: string): Promise<void> {
  const result = await context.store.removeSchedule(readText(scheduleId, 'scheduleId'))
  if (result === 'not-found') throw scheduleNotFound(scheduleId)
}
