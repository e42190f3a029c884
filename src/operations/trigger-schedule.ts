import { assert, PawlError } from '../domain/errors.ts'
import { refuseUnknownKeys } from '../domain/options.ts'
import type { Schedule } from '../domain/schedule.ts'
import { prepareScheduledJob } from '../engine/schedule-firing.ts'
import type { EnqueueConflict, EnqueuedItem } from '../store/jobs.ts'
import type { OperationContext } from './context.ts'
import { readStorable } from './enqueue-options.ts'
import { getSchedule, scheduleNotFound } from './read-schedules.ts'

export interface TriggerOptions {
  /** Who asked, for the history. @default 'schedule' */
  readonly createdBy?: string
}

const NAME_LENGTH_MAX = 512

/** Makes one Job of a schedule now, also of a disabled one. No slot is moved, and `overlap` is not asked. */
export async function triggerSchedule(
  context: OperationContext,
  scheduleId: string,
  options: TriggerOptions = {},
): Promise<EnqueuedItem> {
  refuseUnknownKeys(options, ['createdBy'], '')
  const createdBy = readStorable(options.createdBy, 'createdBy', NAME_LENGTH_MAX)
  const schedule = await getSchedule(context, scheduleId)
  const prepared = await prepareScheduledJob(context, schedule)
  const job = { ...prepared, createdBy: createdBy ?? prepared.createdBy }
  const result = await context.store.triggerSchedule(scheduleId, job, context.clock.now())
  switch (result.kind) {
    case 'created':
    case 'existing':
      return result
    case 'not-found':
      throw scheduleNotFound(scheduleId)
    case 'refused':
      throw refusal(schedule, result.conflict)
  }
}

function refusal({ scheduleId, businessKey }: Schedule, conflict: EnqueueConflict): PawlError {
  switch (conflict.kind) {
    case 'business-key-taken':
      return new PawlError(
        'business_key_taken',
        `The schedule's business key \`${businessKey}\` is held by job ${conflict.jobId}, which has not settled. Wait for it or cancel it.`,
        { details: { scheduleId, jobId: conflict.jobId } },
      )
    case 'template-not-usable':
      return new PawlError(
        'template_archived',
        `The schedule's template ${conflict.templateId} was archived meanwhile.`,
        {
          details: { scheduleId, templateId: conflict.templateId },
        },
      )
    case 'idempotency-key-reused':
    case 'parent-not-found':
    case 'dependency-cycle':
      return assert(false, `a Job of a schedule met ${conflict.kind}`) as never
  }
}
