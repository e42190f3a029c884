// The timeout of a Job counts the time of its own body, not what it waited for.
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { newDatabasePath, newGate, openHandle } from '../lifecycle/stage.ts'
import { compute } from './stage.ts'

test('bodies that block the event loop one after the other take no time from each other', async () => {
  const busy = defineJob({ type: 'busy', timeoutMs: 250, retry: { maxRetries: 0 }, run: () => compute(60) })
  await using scheduler = await openScheduler({ store: sqlite(newDatabasePath()), jobs: [busy], concurrency: 6 })
  const handles = await scheduler.enqueueMany(Array.from({ length: 6 }, () => ({ type: busy, params: null })))
  await scheduler.start()
  const ends = await Promise.all(handles.map((handle) => handle.settled()))
  expect(ends.map(({ outcome, reason }) => reason ?? outcome)).toEqual(Array(6).fill('COMPLETED'))
})

test('a claim that waited for the lock of another process takes no time from the body', async () => {
  const path = newDatabasePath()
  const begun = newGate()
  const gate = newGate()
  const slow = defineJob({
    type: 'slow',
    timeoutMs: 5000,
    retry: { maxRetries: 0 },
    run: () => {
      begun.open()
      return gate.passed
    },
  })
  await using stage = await openTestScheduler({ store: sqlite(path), jobs: [slow] })
  const { scheduler, clock } = stage
  const handle = await scheduler.enqueue(slow, null, { delayMs: 1000 })
  await stage.runUntilIdle()

  const other = openHandle(path)
  other.exec('begin immediate')
  clock.set(clock.now() + 1000)
  expect(scheduler.isQuiet).toBe(false)
  clock.set(clock.now() + 10_000)
  other.exec('commit')
  other.close()
  await begun.passed
  await stage.advance(4999)
  expect(scheduler.executing).toEqual([handle.jobId])
  gate.open()
  await stage.runUntilIdle()

  expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED' })
})

test('a body that ignores the clock past its own timeout has failed all the same', async () => {
  const busy = defineJob({ type: 'busy', timeoutMs: 20, retry: { maxRetries: 0 }, run: () => compute(60) })
  await using scheduler = await openScheduler({ store: sqlite(newDatabasePath()), jobs: [busy] })
  await scheduler.start()
  const handle = await scheduler.enqueue(busy, null)
  expect(await handle.settled()).toMatchObject({ outcome: 'FAILED', reason: 'timeout' })
  await vi.waitFor(() => expect(scheduler.isQuiet).toBe(true))
})
