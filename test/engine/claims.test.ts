// What a node may claim, and that nothing waits longer than it must.
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler } from 'pawl/testing'
import { expect, test } from 'vitest'
import { aborted, newDatabasePath, newGate } from '../lifecycle/stage.ts'

test('a concurrency policy can hold back, but not claim a type without a handler here nor more than there is room for', async () => {
  const path = newDatabasePath()
  const gate = newGate()
  const here = defineJob({ type: 'here', run: () => gate.passed })
  const elsewhere = defineJob({ type: 'elsewhere', run: () => null })
  await using other = await openScheduler({ store: sqlite(path), jobs: [elsewhere] })
  const notOurs = await other.enqueue(elsewhere, null)
  await using stage = await openTestScheduler({
    store: sqlite(path),
    jobs: [here],
    concurrency: 2,
    concurrencyPolicy: {
      decideClaims: () =>
        new Map([
          ['elsewhere', 10],
          ['here', 10],
        ]),
    },
  })
  await stage.scheduler.enqueueMany([1, 2, 3, 4].map((params) => ({ type: here, params })))
  await stage.advance('10s')
  expect(stage.scheduler.executing).toHaveLength(2)
  expect((await notOurs.get()).status).toBe('QUEUED')
  gate.open()
  await stage.advance('1m')
  expect((await stage.scheduler.listQueue()).map(({ type }) => type)).toEqual(['elsewhere'])
})

test('raising a limit starts what waited for it at once', async () => {
  const gate = newGate()
  const one = defineJob({ type: 'one', concurrency: 1, run: () => gate.passed })
  await using stage = await openTestScheduler({ store: sqlite(newDatabasePath()), jobs: [one], concurrency: 4 })
  await stage.scheduler.enqueueMany([1, 2, 3].map((params) => ({ type: one, params })))
  await stage.runUntilIdle()
  expect(stage.scheduler.executing).toHaveLength(1)
  await stage.scheduler.setLimit('type:one', 2)
  await stage.runUntilIdle()
  expect(stage.scheduler.executing).toHaveLength(2)
  await stage.scheduler.setLimit('type:one', null)
  await stage.runUntilIdle()
  expect(stage.scheduler.executing).toHaveLength(3)
  gate.open()
})

test('an abort that is committed together with the claim is carried out at once', async () => {
  const obedient = defineJob({
    type: 'obedient',
    run: async ({ signal }) => {
      await aborted(signal)
      signal.throwIfAborted()
    },
  })
  await using stage = await openTestScheduler({ store: sqlite(newDatabasePath()), jobs: [obedient] })
  const handle = await stage.scheduler.enqueue(obedient, null)
  // The enqueue has just woken the node: its claim waits for the next commit, and the wish joins it there.
  expect(await stage.scheduler.cancel(handle.jobId, { mode: 'abort' })).toMatchObject({ kind: 'requested' })
  await stage.runUntilIdle()
  expect(stage.scheduler.executing).toEqual([])
  expect(await stage.scheduler.findRunOfJob(handle.jobId)).toMatchObject({ status: 'FAILED', reason: 'cancelled' })
})
