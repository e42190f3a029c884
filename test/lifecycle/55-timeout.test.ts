// A timeout ends the Run at its instant. The code may go on: until it has really ended it keeps its place and resources.
import { defineJob, type LateFinish, openScheduler } from 'pawl'
import { describe, expect, test } from 'vitest'
import { aborted, newGate, newStore, openTestScheduler } from './stage.ts'

describe('a body that takes longer than its timeout', () => {
  test('finds its signal fired, and its Run FAILED with reason `timeout` at that instant', async () => {
    const reasons: Error[] = []
    const firedAt: number[] = []
    const obedient = defineJob({
      type: 'obedient',
      timeoutMs: 300_000,
      retry: { maxRetries: 0 },
      run: async ({ signal }) => {
        await aborted(signal)
        firedAt.push(stage.clock.now())
        reasons.push(signal.reason)
        signal.throwIfAborted()
      },
    })
    await using stage = await openTestScheduler({ jobs: [obedient] })
    const startedAt = stage.clock.now()
    const handle = await stage.scheduler.enqueue(obedient, null)
    await stage.advance('1h')

    expect(firedAt).toEqual([startedAt + 300_000])
    expect(reasons[0]).toMatchObject({ name: 'TimeoutError', cause: 'timeout' })
    expect(await handle.settled()).toMatchObject({ outcome: 'FAILED', reason: 'timeout', attempts: 1 })
    const run = await stage.scheduler.findRunOfJob(handle.jobId)
    expect(run).toMatchObject({
      status: 'FAILED',
      reason: 'timeout',
      finishedAt: startedAt + 300_000,
      durationMs: 300_000,
    })
    expect(run?.error).toContain('300000 ms')
  })

  test('is tried again like any failure, on the budget of failures', async () => {
    const obedient = defineJob({ type: 'obedient', timeoutMs: 1000, run: ({ signal }) => aborted(signal) })
    await using stage = await openTestScheduler({ jobs: [obedient] })
    const handle = await stage.scheduler.enqueue(obedient, null)
    await stage.advance('1h')
    const { items } = await stage.scheduler.getChain(handle.jobId)
    expect(items.map(({ counts }) => counts.errorRetries)).toEqual([0, 1, 2, 3])
    expect(items.slice(1).map((job, index) => (job.startedAt ?? 0) - (items[index]?.finishedAt ?? 0))).toEqual([
      10_000, 20_000, 40_000,
    ])
  })

  test('keeps its place and its resources until it has really ended; its retry and its neighbours wait', async () => {
    const gate = newGate()
    const started: string[] = []
    const stubborn = defineJob({
      type: 'stubborn',
      timeoutMs: 1000,
      resources: ['printer'],
      retry: { backoff: { kind: 'none' } },
      run: async ({ attempt }) => {
        started.push(`stubborn ${attempt}`)
        if (attempt === 1) await gate.passed
      },
    })
    const neighbour = defineJob({
      type: 'neighbour',
      resources: ['printer'],
      run: () => void started.push('neighbour'),
    })
    const other = defineJob({ type: 'other', run: () => void started.push('other') })
    await using stage = await openTestScheduler({
      jobs: [stubborn, neighbour, other],
      concurrency: 2,
      resources: { printer: 1 },
    })
    const { scheduler } = stage
    const handle = await scheduler.enqueue(stubborn, null)
    await stage.advance('1s')
    await scheduler.enqueue(neighbour, null)
    await scheduler.enqueue(other, null)
    await stage.advance('1m')

    expect(started).toEqual(['stubborn 1', 'other'])
    expect((await scheduler.findRunOfJob(handle.jobId))?.reason).toBe('timeout')
    expect(scheduler.executing).toEqual([handle.jobId])
    const [retry] = await scheduler.listQueue()
    expect(retry).toMatchObject({ retryOf: handle.jobId, hold: 'predecessor' })

    gate.open()
    await stage.runUntilIdle()
    expect(started).toEqual(['stubborn 1', 'other', 'stubborn 2', 'neighbour'])
    expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 2 })
  })

  test('changes nothing with its late result, and the lateness is told', async () => {
    const gate = newGate()
    const stubborn = defineJob({
      type: 'stubborn',
      timeoutMs: 1000,
      retry: { maxRetries: 0 },
      run: async () => {
        await gate.passed
        return 'too late'
      },
    })
    await using stage = await openTestScheduler({ jobs: [stubborn] })
    const late: LateFinish[] = []
    stage.scheduler.on('run.late', (event) => late.push(event))
    const handle = await stage.scheduler.enqueue(stubborn, null)
    await stage.advance('1s')
    const before = await stage.scheduler.findRunOfJob(handle.jobId)

    await stage.advance('1m')
    gate.open()
    await stage.runUntilIdle()

    expect(await stage.scheduler.findRunOfJob(handle.jobId)).toEqual(before)
    expect(before).toMatchObject({ status: 'FAILED', reason: 'timeout', result: null })
    expect(late).toMatchObject([
      {
        claim: { runId: before?.runId, jobId: handle.jobId, nodeId: stage.scheduler.nodeId },
        type: 'stubborn',
        ended: 'returned',
      },
    ])
  })

  test('is found out also when it blocked the event loop past its deadline', async () => {
    const late: LateFinish[] = []
    const blocking = defineJob({
      type: 'blocking',
      timeoutMs: 30,
      retry: { maxRetries: 0 },
      run: () => {
        const until = performance.now() + 100
        while (performance.now() < until);
        return 'done, but too late'
      },
    })
    await using scheduler = await openScheduler({ store: newStore(), jobs: [blocking] })
    scheduler.on('run.late', (event) => late.push(event))
    await scheduler.start()

    const handle = await scheduler.enqueue(blocking, null)

    expect(await handle.settled()).toMatchObject({ outcome: 'FAILED', reason: 'timeout', result: null })
    expect((await scheduler.findRunOfJob(handle.jobId))?.durationMs).toBeGreaterThanOrEqual(100)
    expect(late).toMatchObject([{ ended: 'returned' }])
  })
})

describe('the timeout', () => {
  test('does not concern a body that ends in time, not even at the last millisecond', async () => {
    const gate = newGate()
    const work = defineJob({ type: 'work', timeoutMs: 5000, run: () => gate.passed })
    await using stage = await openTestScheduler({ jobs: [work] })
    const handle = await stage.scheduler.enqueue(work, null)
    await stage.advance('4999ms')
    gate.open()
    await stage.advance('1m')
    expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED' })
  })

  test('can be given, or lifted, for one Job', async () => {
    const gate = newGate()
    const work = defineJob({
      type: 'work',
      timeoutMs: 2000,
      retry: { maxRetries: 0 },
      run: ({ signal }) => Promise.race([aborted(signal), gate.passed]),
    })
    await using stage = await openTestScheduler({ jobs: [work], concurrency: 3 })
    const { scheduler } = stage
    const usual = await scheduler.enqueue(work, null)
    const short = await scheduler.enqueue(work, null, { timeoutMs: 500 })
    const endless = await scheduler.enqueue(work, null, { timeoutMs: null })
    await stage.advance('1h')
    const durations = await Promise.all(
      [usual, short, endless].map(async ({ jobId }) => (await scheduler.findRunOfJob(jobId))?.durationMs),
    )
    expect(durations).toEqual([2000, 500, null])
    gate.open()
    await endless.settled()
  })
})
