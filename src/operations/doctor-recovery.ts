import { hostname } from 'node:os'
import { Finisher } from '../engine/finisher.ts'
import { Recovery } from '../engine/recovery.ts'
import type { Logger } from '../platform/logger.ts'
import type { Random } from '../platform/random.ts'
import type { OperationContext } from './context.ts'
import type { Repair } from './examination.ts'

/** How long it waits for outcomes that the store does not take. */
const WRITE_PATIENCE_MS = 5_000

/** Recovers once, as the start of a node does, by a node that handles nothing and leaves at once. */
export async function recoverOnce(context: OperationContext, logger: Logger, random: Random): Promise<Repair[]> {
  const { store, clock, newId } = context
  const nodeId = newId()
  const finisher = new Finisher({ store, clock, random, newId, logger, nodeId })
  const recovered: string[] = []
  const nodeRecovered = ({ name }: { readonly name: string }) => void recovered.push(name)
  const recovery = new Recovery({ store, finisher, clock, logger, newId, nodeId, nodeRecovered })
  const life = await store.liveness.begin(nodeId)
  try {
    const record = { nodeId, name: 'doctor', host: hostname(), pid: process.pid, types: [], concurrency: 1 }
    await store.registerNode({ ...record, startedAt: clock.now(), claims: false })
    const stats = await recovery.recoverAtStart()
    await finisher.drained(WRITE_PATIENCE_MS)
    const { runningJobsRecovered, reservationsExpired, retriesCreated } = stats
    const count = recovered.length + runningJobsRecovered + reservationsExpired + retriesCreated
    if (count === 0) return []
    const message =
      `Recovery ended what dead nodes or damage had left: ${recovered.length} nodes, ${runningJobsRecovered} jobs, ` +
      `${reservationsExpired} direct executions; ${retriesCreated} retries were queued.`
    return [{ remedy: 'recovery', message, count }]
  } finally {
    await store.removeNode(nodeId, clock.now())
    await life.end()
  }
}
