// `settled()` waits for the end of a chain, in whatever process it runs. It reads the state, so it cannot miss it.
import { defineJob, openScheduler } from 'pawl'
import { describe, expect, test } from 'vitest'
import { newGate, newSharedStore, openTestScheduler, refusalOf } from './stage.ts'

const flaky = defineJob({
  type: 'flaky',
  run: ({ attempt }) => {
    if (attempt < 3) throw new Error(`failure ${attempt}`)
    return { attempt }
  },
})

describe('settled', () => {
  test('follows the chain across retries', async () => {
    await using stage = await openTestScheduler({ jobs: [flaky] })
    const handle = await stage.scheduler.enqueue(flaky, null)
    let settled: unknown = null
    const waiting = handle.settled().then((end) => {
      settled = end
    })
    await stage.advance('29s')
    expect(settled).toBeNull()
    await stage.advance('1s')
    await waiting
    const last = (await stage.scheduler.getChain(handle.jobId)).items[2]
    expect(settled).toEqual({
      outcome: 'COMPLETED',
      result: { attempt: 3 },
      error: null,
      reason: null,
      attempts: 3,
      jobId: last?.jobId,
    })
  })

  test('answers at once when the chain has ended, and everybody who waits', async () => {
    await using stage = await openTestScheduler({ jobs: [flaky] })
    const handle = await stage.scheduler.enqueue(flaky, null)
    const waiting = [handle.settled(), handle.settled()]
    await stage.advance('1m')
    const [one, two] = await Promise.all(waiting)
    expect(one).toEqual(two)
    expect(await handle.settled()).toEqual(one)
  })

  test('works from another scheduler on the same file that executes nothing', async () => {
    const store = newSharedStore()
    const gate = newGate<string>()
    const work = defineJob({ type: 'work', run: () => gate.passed })
    await using worker = await openScheduler({ store, jobs: [work] })
    await worker.start()
    await using client = await openScheduler({ store })
    const handle = await client.enqueue('work', null)

    const waiting = handle.settled()
    gate.open('from the worker')

    expect(await waiting).toMatchObject({ outcome: 'COMPLETED', result: 'from the worker' })
  })

  test('never rejects because a Job failed', async () => {
    const failing = defineJob({ type: 'failing', retry: { maxRetries: 0 }, run: () => Promise.reject(new Error('no')) })
    await using stage = await openTestScheduler({ jobs: [failing] })
    const handle = await stage.scheduler.enqueue(failing, null)
    expect(await handle.settled()).toEqual({
      outcome: 'FAILED',
      result: null,
      error: 'no',
      reason: 'error',
      attempts: 1,
      jobId: handle.jobId,
    })
  })

  test('of a chain that was pruned is refused, not awaited for ever', async () => {
    const note = defineJob({ type: 'note', run: () => null })
    await using stage = await openTestScheduler({ jobs: [note] })
    const handle = await stage.scheduler.enqueue(note, null)
    await handle.settled()
    await stage.advance('1s')
    expect(await stage.scheduler.prune({ olderThanMs: 0 })).toEqual({
      jobsRemoved: 1,
      groupsRemoved: 0,
      reservationsRemoved: 0,
      auditRemoved: 0,
      operationsRemoved: 0,
    })

    const answer = Promise.race([refusalOf(handle.settled()), stage.advance('1m').then(() => 'still waiting')])
    expect(await answer).toMatchObject({ code: 'job_not_found' })
  })
})
