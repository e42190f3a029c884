import type { z } from 'zod'
import { PawlError } from '../../domain/errors.ts'
import type { JobFilterOptions } from '../../operations/read-history.ts'
import type { jobFilter } from '../contract/job.ts'
import { dateOf, given } from './given.ts'

type Given = { [Name in keyof typeof jobFilter]?: z.output<(typeof jobFilter)[Name]> }

/** What a list of Jobs is asked for, in the words of the operations. */
export function toJobFilter(filter: Given): JobFilterOptions {
  return given({
    status: filter.status,
    type: filter.type,
    tag: filter.tag,
    templateId: filter.template_id,
    scheduleId: filter.schedule_id,
    groupId: filter.group_id,
    outcome: filter.outcome,
    paramsPath: filter.params_path,
    paramsValue: filter.params_value,
    error: filter.error,
    createdAfter: dateOf(filter.created_after),
    createdBefore: dateOf(filter.created_before),
  })
}

/** Who may not see params and errors could find out about them by asking for one after the other. */
export function refuseGuessing(filter: Given): void {
  for (const name of ['params_path', 'params_value', 'error'] as const) {
    if (filter[name] === undefined) continue
    throw new PawlError('forbidden', `This key may not see what jobs hold, so it cannot search by \`${name}\`.`)
  }
}
