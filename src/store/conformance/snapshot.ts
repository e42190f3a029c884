import type { Transition } from '../events.ts'
import type { Store } from '../store.ts'
import { NOW } from './fixtures.ts'

const ALL = 200

/** Everything a store shows of itself, for tests whose point is that nothing has changed. */
export async function takeSnapshot(store: Store, transitions: readonly Transition[]): Promise<object> {
  const { items: jobs } = await store.listJobs({ limit: ALL }, NOW)
  const { items: runs } = await store.listRuns({ limit: ALL })
  const nodes = await store.listNodes()
  return {
    jobs,
    runs,
    queue: (await store.listQueue(ALL, NOW)).map(({ jobId }) => jobId),
    logs: await Promise.all(runs.map(({ runId }) => store.readLogs(runId, 0, ALL))),
    nodes,
    occupancies: await Promise.all(nodes.map(({ nodeId }) => store.listOccupancies(nodeId, ALL))),
    reservations: (await store.listReservations({ limit: ALL })).items,
    directOccupancies: await Promise.all(nodes.map(({ nodeId }) => store.listDirectOccupancies(nodeId, ALL))),
    groups: (await store.listGroups({ limit: ALL })).items,
    hasCascades: await store.hasCascades(),
    templates: (await store.listTemplates({ state: 'any', limit: ALL })).items,
    schedules: (await store.listSchedules({ limit: ALL })).items,
    webhooks: (await store.listWebhooks({ limit: ALL })).items,
    deliveries: (await store.listDeliveries({ limit: ALL })).items,
    keys: (await store.listKeys({ limit: ALL })).items,
    operations: await store.findRunningOperations(ALL),
    endedOperations: (await store.listOperations({ limit: ALL })).items,
    audit: (await store.listAudit({ limit: ALL })).items,
    totals: await store.readTotals(),
    hours: await store.listHours(0, ALL),
    cancelWishes: await Promise.all(nodes.map(({ nodeId }) => store.findCancelWishes(nodeId))),
    chainEnds: await store.findChainEnds([...new Set(jobs.map(({ chainId }) => chainId))]),
    nextDueAt: await store.nextDueAt(),
    limits: await store.listLimits(),
    types: await store.findTypes(),
    transitions,
  }
}
