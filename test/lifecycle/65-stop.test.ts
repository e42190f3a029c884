// Stopping claims nothing more and aborts nothing. Closing waits, then aborts without blaming the Jobs.
import { defineJob, openScheduler } from 'pawl'
import { describe, expect, test, vi } from 'vitest'
import { aborted, listeningLogger, newGate, newSharedStore, newStore, openTestScheduler, refusalOf } from './stage.ts'

const note = defineJob({ type: 'note', run: () => null })

describe('start', () => {
  test('is needed before anything executes, and says what was recovered', async () => {
    await using scheduler = await openScheduler({ store: newStore(), jobs: [note] })
    const handle = await scheduler.enqueue(note, null)
    expect(scheduler.isStarted).toBe(false)
    expect((await handle.get()).status).toBe('QUEUED')

    expect(await scheduler.start()).toEqual({
      runningJobsRecovered: 0,
      reservationsExpired: 0,
      retriesCreated: 0,
      jobGroupsRecovered: 0,
      errors: [],
    })

    expect(scheduler.isStarted).toBe(true)
    expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED' })
  })

  test('makes a node that others can see, until it is closed', async () => {
    const store = newSharedStore()
    await using client = await openScheduler({ store })
    const worker = await openScheduler({ store, jobs: [note], name: 'the worker', concurrency: 3 })
    expect(await client.listNodes()).toEqual([])
    await worker.start()
    expect(await client.listNodes()).toMatchObject([
      { nodeId: worker.nodeId, name: 'the worker', types: ['note'], concurrency: 3, pid: process.pid },
    ])
    await worker.close()
    expect(await client.listNodes()).toEqual([])
  })
})

describe('stop', () => {
  test('waits for what executes and claims nothing more; start goes on', async () => {
    const gate = newGate()
    const work = defineJob({ type: 'work', run: () => gate.passed })
    await using stage = await openTestScheduler({ jobs: [work] })
    const { scheduler } = stage
    const first = await scheduler.enqueue(work, null)
    const second = await scheduler.enqueue(work, null)
    await stage.runUntilIdle()

    const stopping = scheduler.stop()
    gate.open()
    expect(await stopping).toEqual({ stillRunning: [] })
    await stage.advance('1m')

    expect((await first.get()).outcome).toBe('COMPLETED')
    expect((await second.get()).status).toBe('QUEUED')
    expect(scheduler.isStarted).toBe(false)

    await scheduler.start()
    expect(await second.settled()).toMatchObject({ outcome: 'COMPLETED' })
  })

  test('that times out names what still runs and aborts nothing: the Job runs once, to its own end', async () => {
    const gate = newGate()
    let executions = 0
    let wasAborted = false
    const work = defineJob({
      type: 'work',
      run: async ({ signal }) => {
        executions++
        await gate.passed
        wasAborted = signal.aborted
        return 'my own end'
      },
    })
    await using stage = await openTestScheduler({ jobs: [work] })
    const { scheduler } = stage
    const handle = await scheduler.enqueue(work, null)
    await stage.runUntilIdle()

    const stopping = scheduler.stop(5000)
    await stage.advance('5s')
    expect(await stopping).toEqual({ stillRunning: [handle.jobId] })
    expect((await handle.get()).status).toBe('RUNNING')

    expect(await scheduler.start()).toMatchObject({ runningJobsRecovered: 0 })
    await stage.advance('10s')
    gate.open()
    expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'my own end', attempts: 1 })
    expect([executions, wasAborted]).toEqual([1, false])
  })

  test('lets what it left running end and be recorded, without a start', async () => {
    const gate = newGate()
    const work = defineJob({ type: 'work', run: () => gate.passed })
    await using stage = await openTestScheduler({ jobs: [work] })
    const handle = await stage.scheduler.enqueue(work, null)
    await stage.runUntilIdle()
    const stopping = stage.scheduler.stop(1000)
    await stage.advance('1s')
    expect((await stopping).stillRunning).toHaveLength(1)
    gate.open()
    await stage.runUntilIdle()
    expect(await handle.get()).toMatchObject({ status: 'FINISHED', outcome: 'COMPLETED' })
  })
})

describe('close', () => {
  test('waits for what executes', async () => {
    const store = newSharedStore()
    const gate = newGate()
    const work = defineJob({ type: 'work', run: () => gate.passed })
    const scheduler = await openScheduler({ store, jobs: [work] })
    await scheduler.start()
    const { jobId } = await scheduler.enqueue(work, null)
    await vi.waitFor(() => expect(scheduler.executing).toEqual([jobId]))

    const closing = scheduler.close()
    gate.open()
    await closing

    await using reader = await openScheduler({ store })
    expect(await reader.getJob(jobId)).toMatchObject({ status: 'FINISHED', outcome: 'COMPLETED' })
  })

  test('aborts at its deadline as `shutdown`: tried again at once, charged to no budget', async () => {
    const store = newSharedStore()
    const reasons: unknown[] = []
    const work = defineJob({
      type: 'work',
      run: async ({ signal, attempt }) => {
        if (attempt > 1) return 'the second process did it'
        await aborted(signal)
        reasons.push(signal.reason.cause)
        throw signal.reason
      },
    })
    const stage = await openTestScheduler({ store, jobs: [work], shutdownTimeoutMs: 30_000 })
    const { jobId } = await stage.scheduler.enqueue(work, null)
    await stage.runUntilIdle()
    const startedAt = stage.clock.now()
    await stage.close()

    expect(reasons).toEqual(['shutdown'])
    await using after = await openTestScheduler({ store, jobs: [work], clock: stage.clock })
    await after.runUntilIdle()
    const { items } = await after.scheduler.getChain(jobId)
    expect(await after.scheduler.findRunOfJob(jobId)).toMatchObject({
      status: 'FAILED',
      reason: 'shutdown',
      finishedAt: startedAt + 30_000,
      willRetry: true,
    })
    expect(items[1]).toMatchObject({
      outcome: 'COMPLETED',
      counts: { errorRetries: 0, crashRetries: 0, shutdownRetries: 1 },
      runAt: startedAt + 30_000,
    })
  })

  test('does not try again what must not be retried', async () => {
    const store = newSharedStore()
    const work = defineJob({ type: 'work', retry: { maxRetries: 0 }, run: ({ signal }) => aborted(signal) })
    const stage = await openTestScheduler({ store, jobs: [work] })
    const { jobId } = await stage.scheduler.enqueue(work, null)
    await stage.runUntilIdle()
    await stage.close()

    await using reader = await openScheduler({ store })
    expect(await reader.getChain(jobId)).toMatchObject({ settled: true, outcome: 'FAILED' })
  })

  test('leaves a body that ignores its abort, and says so; its place stays taken while it executes', async () => {
    const store = newSharedStore()
    const gate = newGate()
    const logger = listeningLogger()
    const work = defineJob({ type: 'work', resources: ['gpu'], run: () => gate.passed })
    const options = { store, jobs: [work], resources: { gpu: 1 } }
    const stage = await openTestScheduler({ ...options, logger })
    const { jobId } = await stage.scheduler.enqueue(work, null)
    await stage.runUntilIdle()
    await stage.close()

    expect(logger.told).toMatchObject([{ level: 'warn', message: expect.stringContaining('ignored their abort') }])
    await using other = await openScheduler(options)
    const stats = await other.start()
    expect(stats.runningJobsRecovered).toBe(0)
    const [retry] = await other.listQueue()
    expect(retry).toMatchObject({ retryOf: jobId, hold: 'predecessor' })

    gate.open()
    await vi.waitFor(async () => expect(await other.getChain(jobId)).toMatchObject({ outcome: 'COMPLETED' }), {
      timeout: 10_000,
    })
  })

  test('may be called again and waits for the same end', async () => {
    const scheduler = await openScheduler({ store: newStore(), jobs: [note] })
    await scheduler.start()
    await Promise.all([scheduler.close(), scheduler.close()])
    await scheduler.close()
  })

  test('rejects those who still wait for a chain', async () => {
    const scheduler = await openScheduler({ store: newStore(), jobs: [note] })
    const handle = await scheduler.enqueue(note, null)
    const waiting = refusalOf(handle.settled())
    await scheduler.close()
    expect(await waiting).toMatchObject({ code: 'closed' })
  })

  test('is what `await using` does at the end of its block', async () => {
    const store = newSharedStore()
    let kept: Awaited<ReturnType<typeof openScheduler>> | undefined
    {
      await using scheduler = await openScheduler({ store, jobs: [note] })
      await scheduler.start()
      kept = scheduler
    }
    expect(await refusalOf(() => kept?.start())).toMatchObject({ code: 'closed' })
  })
})
