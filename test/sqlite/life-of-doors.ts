// Keys, edits and the record of who asked for what, lived through once: part of the life whose statements are explained.
import type { Scheduler, StoreSource } from 'pawl'
import type { AuditNote } from 'pawl/store'
import type { SettableClock } from 'pawl/testing'
import { newHash, newKey } from '../../src/store/conformance/api-keys.ts'
import { newJob } from '../../src/store/conformance/fixtures.ts'

type Store = Awaited<ReturnType<StoreSource['open']>>

const note = (at: number, overrides: Partial<AuditNote> = {}): AuditNote => ({
  actor: 'key:ada',
  action: 'job.something',
  subject: null,
  made: () => [],
  details: () => null,
  at,
  ...overrides,
})

/** The scheduler must be stopped, so that what is edited stays queued. */
export async function useDoors(scheduler: Scheduler, store: Store, clock: SettableClock): Promise<void> {
  const { jobId } = await scheduler.enqueue('quick', null, { delayMs: 1_000 })
  await scheduler.edit(jobId, { priority: 3, params: 1, runAt: null })
  await useKeys(store, clock.now())
  await useOperations(scheduler, store, clock.now())
  const now = clock.now()
  for (let index = 0; index < 300; index++) {
    const actor = `key:${index % 3}`
    await store.recordAudit(note(now - 3_600_000 + index, { actor, subject: `s${index % 7}` }))
  }
  const group = { groupId: 'audited', name: null, mode: 'parallel', onFailure: 'stop', createdBy: null } as const
  const member = newJob({ type: 'quick' })
  await store.audited(note(now, { made: () => ['audited', member.jobId] })).createGroup(group, [member], now)
  await store.countAudit(now - 3_000_000)
  await store.pruneAudit(now - 3_000_000, 100)
}

async function useOperations(scheduler: Scheduler, store: Store, now: number): Promise<void> {
  const { operations } = scheduler
  for (const kind of ['cancel', 'retry'] as const) {
    const { operationId } = await operations.start({ kind, filter: { type: 'nothing of this type' } })
    await operations.abort(operationId).catch(() => {})
    await operations.get(operationId)
    for (const status of [{}, { status: 'ABORTED' } as const]) await operations.list({ ...status, limit: 2 })
  }
  const ids = await scheduler.enqueueMany(Array.from({ length: 3 }, () => ({ type: 'quick', params: null })))
  const order = { kind: 'cancel', filter: null, jobIds: ids.map(({ jobId }) => jobId), mode: 'graceful' } as const
  for (let n = 0; n < 50; n++) {
    const operationId = `operation ${n}`
    const rest = { reason: null, createdBy: null, matched: { matched: 3, isMatchedCapped: false } }
    await store.startOperation({ ...order, ...rest, operationId }, now - 3_600_000)
    const page = { operationId, pages: 0, jobIds: order.jobIds, failed: 0, next: null, newId: () => '' }
    await store.applyOperationPage({ ...page, now: now - 3_600_000 + n })
  }
  await store.findRunningOperations(10)
  const filter = { limit: 10 } as const
  await store.matchJobs({ kind: 'cancel', mode: 'abort', filter: { ...filter, status: 'QUEUED' }, lastSeq: null })
  const failed = { ...filter, status: 'FINISHED', outcome: 'FAILED' } as const
  for (const type of [{}, { type: 'quick' }]) {
    await store.matchJobs({ kind: 'retry', mode: null, filter: { ...failed, ...type }, lastSeq: 1_000 })
  }
  await store.countPrunableOperations(now - 3_000_000)
  await store.pruneOperations(now - 3_599_990, 100)
}

async function useKeys(store: Store, now: number): Promise<void> {
  const hash = newHash()
  const key = newKey({ createdAt: now })
  await store.hasKeys()
  await store.createKey(key, hash)
  for (let index = 0; index < 100; index++) await store.createKey(newKey({ createdAt: now }), newHash())
  await store.findKeyByHash(hash)
  await store.findKey(key.keyId)
  await store.revokeKey(key.keyId, now)
  await store.revokeKey('none', now)
  await store.hasKeys()
}

/** What people ask for: pages of lists. */
export async function readDoors(store: Store): Promise<void> {
  const { nextCursor } = await store.listKeys({ limit: 2 })
  await store.listKeys({ limit: 2, cursor: nextCursor })
  for (const filter of [{}, { subject: 's1' }, { actor: 'key:1' }, { subject: 's1', actor: 'key:1' }]) {
    const page = await store.listAudit({ ...filter, limit: 2 })
    await store.listAudit({ ...filter, limit: 2, cursor: page.nextCursor })
  }
}
