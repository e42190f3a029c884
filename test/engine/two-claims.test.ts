// Where the database works in a process of its own, two claims of one node may be under way at the same time.
import { expect, test, vi } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { openTestScheduler } from '../../src/testing/index.ts'
import { listeningLogger, newDatabasePath, newGate } from '../lifecycle/stage.ts'
import { FarSource } from './far-store.ts'

function newFarSource(): FarSource {
  const source = new FarSource(sqlite(newDatabasePath()))
  source.claimsAtOnce = 2
  return source
}

const upTo = (last: number) => Array.from({ length: last }, (_, index) => index + 1)

function list<Type>(type: Type, length: number) {
  return upTo(length).map((params) => ({ type, params }))
}

test('bodies of one claim execute while the next claim is under way', async () => {
  const store = newFarSource()
  const started: unknown[] = []
  const work = defineJob({ type: 'work', run: ({ params }) => void started.push(params) })
  await using stage = await openTestScheduler({ store, jobs: [work], concurrency: 20 })
  await stage.runUntilIdle()
  const before = store.counts.get('claimJobs') ?? 0
  const first = store.holdCalls('claimJobs')
  await stage.scheduler.enqueueMany(list(work, 20))
  await vi.waitFor(() => expect(store.counts.get('claimJobs')).toBe(before + 1))
  const later = store.holdCalls('claimJobs')
  first.letGo()
  await vi.waitFor(() => expect(started).toEqual(upTo(10)))
  expect(store.counts.get('claimJobs')).toBeGreaterThan(before + 1)
  later.letGo()
  await stage.runUntilIdle()
  expect(started).toEqual(upTo(20))
})

test('all claims together never take more jobs than there are places', async () => {
  const store = newFarSource()
  let executing = 0
  let most = 0
  let done = 0
  const gate = newGate()
  const work = defineJob({
    type: 'work',
    run: async ({ params }) => {
      most = Math.max(most, ++executing)
      await gate.passed
      for (let turn = 0; turn < Number(params) % 4; turn++) await new Promise((resolve) => setImmediate(resolve))
      executing--
      done++
    },
  })
  await using stage = await openTestScheduler({ store, jobs: [work], concurrency: 25 })
  await stage.scheduler.enqueueMany(list(work, 300))
  await stage.runUntilIdle()
  expect(executing).toBe(25)
  gate.open()
  await stage.runUntilIdle()
  expect(done).toBe(300)
  expect(most).toBe(25)
})

test('a job that a failed claim was to take is taken soon, also when another claim went well meanwhile', async () => {
  const store = newFarSource()
  const started: unknown[] = []
  const gate = newGate()
  const logger = listeningLogger()
  const work = defineJob({
    type: 'work',
    run: ({ params }) => {
      started.push(params)
      // A place that becomes free would make the node look at once.
      return gate.passed
    },
  })
  await using stage = await openTestScheduler({ store, jobs: [work], concurrency: 20, logger })
  // The claim that goes well will wait for this one.
  await stage.scheduler.enqueue(work, 'much later', { runAt: new Date(stage.clock.now() + 3_600_000) })
  await stage.runUntilIdle()
  const before = store.counts.get('claimJobs') ?? 0
  const well = store.holdAnswers('claimJobs')
  const first = await stage.scheduler.enqueue(work, 'first')
  await vi.waitFor(async () => expect((await first.get()).status).toBe('RUNNING'))
  const failing = store.holdCalls('claimJobs')
  await stage.scheduler.enqueue(work, 'second')
  await vi.waitFor(() => expect(store.counts.get('claimJobs')).toBe(before + 2))
  store.cut()
  failing.letGo()
  await vi.waitFor(() =>
    expect(logger.told.map(({ message }) => message)).toContainEqual(expect.stringMatching('claimed')),
  )
  store.mend()
  well.letGo()
  await stage.runUntilIdle()
  expect(started).toEqual(['first'])
  await stage.advance('500ms')
  expect(started).toEqual(['first', 'second'])
  gate.open()
})

test('a policy of the user is asked for one claim at a time', async () => {
  const store = newFarSource()
  const work = defineJob({ type: 'work', run: () => null })
  const concurrencyPolicy = { decideClaims: () => new Map([['work', 1]]) }
  await using stage = await openTestScheduler({ store, jobs: [work], concurrency: 20, concurrencyPolicy })
  await stage.runUntilIdle()
  const before = store.counts.get('claimJobs') ?? 0
  const calls = store.holdCalls('claimJobs')
  for (const { type, params } of list(work, 3)) await stage.scheduler.enqueue(type, params)
  expect(store.counts.get('claimJobs')).toBe(before + 1)
  calls.letGo()
  await stage.runUntilIdle()
  expect(await stage.scheduler.listQueue()).toEqual([])
})
