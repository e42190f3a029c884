// Many callers at once: a long line for one thing holds up nobody else, and waiting costs no more for being many.
import { defineJob } from 'pawl'
import { expect, test, vi } from 'vitest'
import { newGate, newStore, openTestScheduler, refusalOf, storeKind } from '../lifecycle/stage.ts'

test('a long line before a taken limit holds up neither another direct execution nor the queue', async () => {
  const gate = newGate()
  const slow = defineJob({ type: 'slow', concurrency: 1, run: () => gate.passed })
  const fast = defineJob({ type: 'fast', run: ({ params }) => params })
  const stage = await openTestScheduler({ jobs: [slow, fast], concurrency: 5 })
  const { scheduler } = stage
  const line = Array.from({ length: 1_100 }, () => scheduler.runDirect(slow, null))
  await stage.runUntilIdle()
  const call = scheduler.runDirect(fast, 'direct', { waitTimeoutMs: 3_000 })
  await stage.runUntilIdle()
  expect(await call).toMatchObject({ result: 'direct' })
  expect(await scheduler.runDirect(fast, 'at once', { onBusy: 'reject' })).toMatchObject({ result: 'at once' })
  const job = await scheduler.enqueue(fast, 'queued')
  await stage.runUntilIdle()
  expect(await job.settled()).toMatchObject({ outcome: 'COMPLETED' })
  expect(scheduler.executingDirect).toHaveLength(1)
  gate.open()
  await Promise.all(line)
  await stage.close()
}, 120_000)

/** Callers of a type, and how often the store is asked about them while they wait. */
async function openCountedStage() {
  const source = newStore()
  const store = await source.open()
  const statuses = vi.spyOn(store, 'findReservationStatuses')
  const records = vi.spyOn(store, 'findReservations')
  const total = (calls: readonly (readonly [readonly string[]])[]) => calls.reduce((sum, [ids]) => sum + ids.length, 0)
  const count = () => ({ statuses: total(statuses.mock.calls), records: total(records.mock.calls) })
  const gate = newGate()
  const work = defineJob({
    type: 'work',
    run: async ({ params }) => {
      await gate.passed
      return params
    },
  })
  const stage = await openTestScheduler({
    store: { ...source, open: async () => store },
    jobs: [work],
    concurrency: 5,
  })
  return { stage, store, work, gate, count }
}

test('each caller is looked at when it begins to wait, when its body starts and when it ends, however many wait', async () => {
  const { stage, work, gate, count } = await openCountedStage()
  gate.open()
  const calls = Array.from({ length: 400 }, (_, n) => stage.scheduler.runDirect(work, n))
  await stage.runUntilIdle()
  expect((await Promise.all(calls)).map(({ result }) => result)).toEqual(calls.map((_, n) => n))
  expect(count().statuses).toBeLessThanOrEqual(3 * 400)
  // Where a look takes a while, it may be asked for again before its answer has come.
  if (storeKind === 'sqlite') expect(count().records).toBe(400)
  else expect(count().records).toBeLessThan(2 * 400)
  await stage.close()
})

test('while nothing happens, callers are asked about without reading their records', async () => {
  const { stage, work, gate, count } = await openCountedStage()
  const calls = Array.from({ length: 600 }, (_, n) => stage.scheduler.runDirect(work, n))
  await stage.runUntilIdle()
  const before = count()
  await stage.advance('60s')
  const { statuses, records } = count()
  expect(records).toBe(0)
  expect(statuses - before.statuses).toBeGreaterThanOrEqual(600)
  gate.open()
  await Promise.all(calls)
  await stage.close()
})

test('a caller whose record was pruned before it looked is told so, and not that nothing was executed', async () => {
  const { stage, store, work, gate } = await openCountedStage()
  const call = refusalOf(stage.scheduler.runDirect(work, 'pruned'))
  await stage.runUntilIdle()
  const unreadable = vi.mocked(store.findReservationStatuses)
  unreadable.mockRejectedValue(new Error('the file cannot be read'))
  gate.open()
  await stage.runUntilIdle()
  unreadable.mockRestore()
  const page = await store.pruneReservations({ endedBefore: stage.clock.now() + 1, limit: 10, cursor: null })
  expect(page.removed).toBe(1)
  await stage.advance('5s')
  const error = await call
  expect(error).toMatchObject({ code: 'direct_expired' })
  expect(error.message).toMatch(/was pruned/)
  expect(error.message).not.toMatch(/was not executed/)
  await stage.close()
})
