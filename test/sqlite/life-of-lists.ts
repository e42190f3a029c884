// What people ask for who look at the store from outside, lived through once: part of the life whose statements are explained.
import type { StoreSource } from 'pawl'
import type { SettableClock, TestScheduler } from 'pawl/testing'

type Store = Awaited<ReturnType<StoreSource['open']>>

const HOUR_MS = 3_600_000

/** Jobs with tags that end, are retried and are pruned, and statistics of hours that are long ago. */
export async function liveWithLists(stage: TestScheduler, store: Store, clock: SettableClock): Promise<void> {
  const { scheduler } = stage
  await scheduler.enqueueMany(
    Array.from({ length: 200 }, (_, n) => ({ type: 'quick', params: null, tags: [`n${n}`, 'red'] })),
  )
  await scheduler.enqueue('failing', null, { tags: ['red'], retry: { maxRetries: 1 } })
  const skipping = await scheduler.groups.create({
    onFailure: 'skip',
    jobs: [
      { type: 'failing', params: null, retry: { maxRetries: 0 } },
      ...Array.from({ length: 100 }, () => ({ type: 'quick', params: null, delayMs: HOUR_MS })),
    ],
  })
  await stage.advance('2m')
  await skipping.settled()
  await store.foldMinutes({ before: clock.now() + HOUR_MS, limit: 100 })
  await store.foldHours({ nodesBefore: clock.now() - 48 * HOUR_MS, hoursBefore: clock.now() - 90 * 24 * HOUR_MS })
}

/** Pages of every list of Jobs and Runs, and the numbers of the queue. */
export async function readLists(store: Store, now: number): Promise<void> {
  const walk = async (list: (cursor: string | null) => Promise<{ readonly nextCursor: string | null }>) => {
    const { nextCursor } = await list(null)
    if (nextCursor !== null) await list(nextCursor)
  }
  const statuses = [{}, ...(['QUEUED', 'RUNNING', 'FINISHED', 'CANCELLED'] as const).map((status) => ({ status }))]
  const marks = [{}, { tag: 'red' }, { groupId: 'g' }, { scheduleId: 's' }, { templateId: 't' }]
  for (const status of statuses) {
    for (const mark of marks) {
      for (const type of [{}, { type: 'quick' }]) {
        await walk((cursor) => store.listJobs({ ...status, ...mark, ...type, limit: 2, cursor }, now))
      }
    }
  }
  const outcomes = [{}, ...(['COMPLETED', 'FAILED', 'SKIPPED'] as const).map((status) => ({ status }))]
  for (const status of outcomes) {
    for (const type of [{}, { type: 'quick' }]) {
      await walk((cursor) => store.listRuns({ ...status, ...type, limit: 2, cursor }))
    }
  }
  const searches = [
    { paramsPath: ['x'] },
    { error: 'x' },
    { createdFrom: 1, createdBefore: now },
    { outcome: 'FAILED' as const, error: 'x' },
    { outcome: 'COMPLETED' as const },
    { status: 'QUEUED' as const, paramsPath: ['x'] },
  ]
  for (const search of searches) await walk((cursor) => store.listJobs({ ...search, limit: 2, cursor }, now))
  const dependent = await findDependent(store, now)
  await store.listChildren(dependent.dependsOn[0] ?? '', { limit: 2, cursor: null }, now)
  await store.countEnded(1_000)
  await store.listFailedRuns(0, 100)
  await store.listRunTimes(0, 100)
  await store.readTotals()
  await store.listHours(now - 24 * HOUR_MS, 100)
  await store.listMinutes(now - HOUR_MS, now)
  await store.countQueue(1_000, now)
}

async function findDependent(store: Store, now: number) {
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<Store['listJobs']>> = await store.listJobs({ limit: 200, cursor }, now)
    const found = page.items.find(({ dependsOn }) => dependsOn.length > 0)
    if (found !== undefined) return found
    cursor = page.nextCursor
  } while (cursor !== null)
  throw new Error('no Job of this life depends on another')
}
