import { wireInstant, wireRetryPolicy } from '../../domain/wire.ts'
import { listAudit, recordAudit } from '../../operations/audit.ts'
import { listLimits, removeLimit, setLimit } from '../../operations/limits.ts'
import { pruneHistory } from '../../operations/prune-history.ts'
import { type KnownType, listTypes } from '../../operations/read-types.ts'
import { type Minute, readRecentStatistics } from '../../operations/recent-statistics.ts'
import { type Hour, readStatistics } from '../../operations/statistics.ts'
import type { AuditEntry } from '../../store/audit.ts'
import { askedOf } from '../asked-of.ts'
import * as contract from '../contract/store.ts'
import { done, ok } from './answer.ts'
import { given } from './given.ts'
import { type Route, route } from './handler.ts'
import { okPage, okShort, pageOptions } from './pages.ts'

function wireType({ type, policy, isHandled, paramsSchema }: KnownType) {
  return {
    type,
    retry_policy: wireRetryPolicy(policy.retry),
    timeout_ms: policy.timeoutMs,
    resources: policy.resources,
    params_schema: paramsSchema,
    registered: isHandled,
  }
}

function wireHour({ hourAt, runMs, waitMs, ...counts }: Hour) {
  return { hour_at: wireInstant(hourAt), ...counts, run_ms: runMs, wait_ms: waitMs }
}

function wireMinute({ minuteAt, runMs, waitMs, ...counts }: Minute) {
  return { minute_at: wireInstant(minuteAt), ...counts, run_ms: runMs, wait_ms: waitMs }
}

function wireEntry({ auditId, at, actor, action, subject, others, details }: AuditEntry) {
  const facts = details === null ? null : (JSON.parse(details) as Record<string, unknown>)
  return { audit_id: auditId, at: wireInstant(at), actor, action, subject, others, details: facts }
}

export const storeRoutes: readonly Route[] = [
  route(contract.listJobTypes, async ({ context, query }) =>
    okShort(await listTypes(context), ({ type }) => type, query, wireType),
  ),

  route(contract.listLimits, async ({ context, query }) =>
    okShort(
      await listLimits(context),
      ({ name }) => name,
      query,
      ({ name, max }) => ({ name, max }),
    ),
  ),

  route(contract.setLimit, async ({ context, door, params, body }) => {
    await setLimit(context, params.name, body.max)
    door.node.wake()
    return ok({ name: params.name, max: body.max })
  }),

  route(contract.removeLimit, async ({ context, door, params }) => {
    await removeLimit(context, params.name)
    door.node.wake()
    return done()
  }),

  route(contract.getStatistics, async ({ context }) => {
    const { totals, hours, queue, countedTo } = await readStatistics(context)
    return ok({
      totals,
      hours: hours.map(wireHour),
      queue: {
        counted_to: countedTo,
        queued: queue.queued,
        ready: queue.ready,
        running: queue.running,
        oldest_ready_at: wireInstant(queue.oldestReadyAt),
        waiting_tickets: queue.waitingTickets,
        running_directs: queue.runningDirects,
      },
    })
  }),

  route(contract.getRecentStatistics, async ({ context }) => {
    const { minutes, times } = await readRecentStatistics(context)
    return ok({
      minutes: minutes.map(wireMinute),
      times: { runs: times.runs, wait_ms: times.waitMs, run_ms: times.runMs },
    })
  }),

  route(contract.listAudit, async ({ context, query }) => {
    const filter = given({ subject: query.subject, actor: query.actor })
    return okPage(await listAudit(context, { ...pageOptions(query), ...filter }), wireEntry)
  }),

  route(contract.pruneHistory, async ({ door, actor, body }) => {
    const { older_than_ms, dry_run = false } = body
    // One note for all its pages, written by hand.
    const pruned = await pruneHistory(door.context, { olderThanMs: older_than_ms, dryRun: dry_run })
    const counts = {
      jobs_removed: pruned.jobsRemoved,
      groups_removed: pruned.groupsRemoved,
      reservations_removed: pruned.reservationsRemoved,
      audit_removed: pruned.auditRemoved,
      operations_removed: pruned.operationsRemoved,
    }
    const asked = askedOf(contract.pruneHistory, actor, {}, { ...body, ...counts })
    if (!dry_run) await recordAudit(door.context, asked)
    return ok({ dry_run, ...counts })
  }),
]
