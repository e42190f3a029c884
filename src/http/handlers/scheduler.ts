import { PawlError } from '../../domain/errors.ts'
import { wireInstant } from '../../domain/wire.ts'
import type { RecoveryStats } from '../../engine/recovery.ts'
import type { Door } from '../../library/door.ts'
import { recordAudit } from '../../operations/audit.ts'
import { listNodes, type NodeSeen } from '../../operations/read-nodes.ts'
import { readStatus } from '../../operations/read-status.ts'
import { askedOf } from '../asked-of.ts'
import * as contract from '../contract/scheduler.ts'
import { ok } from './answer.ts'
import { type Route, route } from './handler.ts'
import { okShort } from './pages.ts'

function wireRecovery(stats: RecoveryStats | null) {
  if (stats === null) return null
  return {
    running_jobs_recovered: stats.runningJobsRecovered,
    reservations_expired: stats.reservationsExpired,
    retries_created: stats.retriesCreated,
    job_groups_recovered: stats.jobGroupsRecovered,
    errors: stats.errors,
  }
}

function wireNode(node: NodeSeen, { node: { nodeId } }: Door) {
  return {
    node_id: node.nodeId,
    name: node.name,
    host: node.host,
    pid: node.pid,
    types: node.types,
    concurrency: node.concurrency,
    started_at: wireInstant(node.startedAt),
    claims: node.claims,
    alive: node.alive,
    last_seen_at: wireInstant(node.lastSeenAt),
    is_this: node.nodeId === nodeId,
  }
}

/** Null: it was started already, or somebody else is just starting it. */
async function start({ node }: Door): Promise<RecoveryStats | null> {
  if (node.isStarted) return null
  try {
    return await node.start()
  } catch (error) {
    if (error instanceof PawlError && error.code === 'already_started') return null
    throw error
  }
}

export const schedulerRoutes: readonly Route[] = [
  route(contract.startScheduler, async ({ door, actor }) => {
    const stats = await start(door)
    if (stats !== null) await recordAudit(door.context, askedOf(contract.startScheduler, actor, {}, {}))
    return ok({ recovery_stats: wireRecovery(stats) })
  }),

  route(contract.stopScheduler, async ({ door, actor, body }) => {
    if (door.node.isStarted) await recordAudit(door.context, askedOf(contract.stopScheduler, actor, {}, body))
    const { stillRunning } = await door.node.stop(body.timeout * 1_000)
    return ok({ still_running: stillRunning })
  }),

  route(contract.getStatus, async ({ context, door }) => {
    const [status, nodes] = await Promise.all([readStatus(context), listNodes(context)])
    const { totals } = status
    return ok({
      scheduler_running: door.node.isStarted,
      node_id: door.node.nodeId,
      current_job_ids: door.node.executing,
      queue_length: status.queueLength,
      queue_length_capped: status.isQueueLengthCapped,
      cumulative_stats: {
        total_executed: totals.executed,
        succeeded: totals.completed,
        failed: totals.failed,
        cancelled: totals.cancelled,
        skipped: totals.skipped,
      },
      has_active_reservation: status.hasActiveReservation,
      recovery_stats: wireRecovery(door.node.lastRecovery),
      nodes: nodes.map((node) => wireNode(node, door)),
    })
  }),

  route(contract.listNodes, async ({ context, door, query }) =>
    okShort(
      await listNodes(context),
      ({ nodeId }) => nodeId,
      query,
      (node) => wireNode(node, door),
    ),
  ),
]
