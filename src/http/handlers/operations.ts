import type { BulkOperation } from '../../domain/bulk-operation.ts'
import { wireInstant } from '../../domain/wire.ts'
import * as bulk from '../../operations/bulk-operations.ts'
import type { BulkFilter } from '../../store/bulk-operations.ts'
import * as contract from '../contract/operations.ts'
import { created, ok } from './answer.ts'
import { given } from './given.ts'
import { type Route, route } from './handler.ts'
import { refuseGuessing, toJobFilter } from './job-filter.ts'
import { okPage, pageOptions } from './pages.ts'

function wireOperation(operation: BulkOperation) {
  return {
    operation_id: operation.operationId,
    kind: operation.kind,
    status: operation.status,
    filter: operation.filter === null ? null : wireFilter(JSON.parse(operation.filter) as BulkFilter),
    job_ids: operation.jobIds,
    mode: operation.mode,
    reason: operation.reason,
    matched: operation.matched,
    matched_or_more: operation.isMatchedCapped,
    done: operation.done,
    changed: operation.changed,
    skipped: operation.skipped,
    failed: operation.failed,
    skip_reasons: { ...operation.skipReasons },
    created_by: operation.createdBy,
    created_at: wireInstant(operation.createdAt),
    updated_at: wireInstant(operation.updatedAt),
    ended_at: wireInstant(operation.endedAt),
  }
}

/** As it was given. */
function wireFilter(filter: BulkFilter): Record<string, unknown> {
  return given({
    status: filter.status,
    type: filter.type,
    tag: filter.tag,
    template_id: filter.templateId,
    schedule_id: filter.scheduleId,
    group_id: filter.groupId,
    outcome: filter.outcome,
    params_path: filter.paramsPath?.join('.'),
    params_value: filter.paramsValue,
    error: filter.error,
    created_after: filter.createdFrom === undefined ? undefined : wireInstant(filter.createdFrom),
    created_before: filter.createdBefore === undefined ? undefined : wireInstant(filter.createdBefore),
  })
}

export const operationRoutes: readonly Route[] = [
  route(contract.startOperation, async ({ context, door, actor, body }) => {
    const { kind, filter, job_ids, mode, reason, dry_run = false } = body
    if (actor.isRedacted === true && filter !== undefined) refuseGuessing(filter)
    const jobFilter = filter === undefined ? undefined : toJobFilter(filter)
    const options = { kind, ...given({ filter: jobFilter, jobIds: job_ids, mode, reason }) }
    if (dry_run) {
      const { matched, isMatchedCapped } = await bulk.countForOperation(context, options)
      return ok({ matched, matched_or_more: isMatchedCapped })
    }
    const operation = await bulk.startOperation(context, { ...options, createdBy: actor.name })
    door.bulk.start()
    return created(wireOperation(operation), `/api/operations/${operation.operationId}`)
  }),

  route(contract.listOperations, async ({ context, query }) => {
    const { status } = query
    return okPage(await bulk.listOperations(context, { ...pageOptions(query), ...given({ status }) }), wireOperation)
  }),

  route(contract.getOperation, async ({ context, params }) =>
    ok(wireOperation(await bulk.getOperation(context, params.operation_id))),
  ),

  route(contract.abortOperation, async ({ context, params }) =>
    ok(wireOperation(await bulk.abortOperation(context, params.operation_id))),
  ),
]
