// Waiting for a chain comes to an end, also when another process writes without a pause or removes the chain.
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler, SettableClock } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { newDatabasePath, refusalOf } from '../lifecycle/stage.ts'

const note = defineJob({ type: 'note', run: () => 'done' })

test('settled() is not put off by somebody else who commits all the time', async () => {
  const path = newDatabasePath()
  await using client = await openScheduler({ store: sqlite(path, { durability: 'process' }), jobs: [note] })
  await using other = await openScheduler({ store: sqlite(path, { durability: 'process' }), jobs: [note] })
  const handle = await client.enqueue(note, null)
  let end: unknown = null
  const waiting = handle.settled().then((settled) => {
    end = settled
  })
  let isOver = false
  let commits = 0
  const commitWithoutPause = async () => {
    while (!isOver) await other.setLimit('resource:noise', 1 + (++commits % 100))
  }
  const noise = commitWithoutPause()
  try {
    await other.start()
    await vi.waitFor(() => expect(end).toMatchObject({ outcome: 'COMPLETED', result: 'done' }), { timeout: 4000 })
  } finally {
    isOver = true
    await noise
  }
  await waiting
})

test('settled() of a chain that settled elsewhere and was pruned is refused, not left waiting', async () => {
  const path = newDatabasePath()
  const clock = new SettableClock()
  await using client = await openScheduler({ store: sqlite(path), jobs: [note], clock })
  const setTimer = vi.spyOn(clock, 'after')
  const handle = await client.enqueue(note, null)
  let refusal: unknown = null
  const waiting = refusalOf(handle.settled()).then((error) => {
    refusal = error
  })
  // It has found nothing yet, and will look again.
  await vi.waitFor(() => expect(setTimer).toHaveBeenCalled())
  await using stage = await openTestScheduler({ store: sqlite(path), jobs: [note] })
  await stage.runUntilIdle()
  await stage.advance('1s')
  expect(await stage.scheduler.prune({ olderThanMs: 0 })).toEqual({
    jobsRemoved: 1,
    groupsRemoved: 0,
    reservationsRemoved: 0,
    auditRemoved: 0,
    operationsRemoved: 0,
  })

  await vi.waitFor(() => {
    clock.set(clock.now() + 5000)
    expect(refusal).toMatchObject({ code: 'job_not_found' })
  })
  await waiting
})
