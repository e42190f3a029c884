// Cancelling acts on the live Job of a chain, whichever of its Jobs is named. Nothing is retried afterwards.
import { defineJob, openScheduler } from 'pawl'
import { describe, expect, test, vi } from 'vitest'
import { aborted, newGate, newSharedStore, openTestScheduler, refusalOf } from './stage.ts'

const note = defineJob({ type: 'note', run: () => null })

describe('a QUEUED Job', () => {
  test('becomes CANCELLED and never has a Run', async () => {
    await using stage = await openTestScheduler({ jobs: [note] })
    const handle = await stage.scheduler.enqueue(note, null, { delayMs: 1000 })

    expect(await handle.cancel({ reason: 'not needed any more' })).toEqual({ kind: 'cancelled', jobId: handle.jobId })
    await stage.advance('1h')

    const now = stage.clock.now()
    expect(await handle.get()).toMatchObject({
      status: 'CANCELLED',
      outcome: null,
      cancelReason: 'not needed any more',
      cancelRequestedAt: now - 3_600_000,
      finishedAt: now - 3_600_000,
      startedAt: null,
    })
    expect(await stage.scheduler.findRunOfJob(handle.jobId)).toBeNull()
    expect(await handle.settled()).toMatchObject({ outcome: 'CANCELLED', error: 'not needed any more', attempts: 1 })
  })

  test('is cancelled also when it is the retry that waits, whichever id of the chain is given', async () => {
    const failing = defineJob({
      type: 'failing',
      run: () => {
        throw new Error('no')
      },
    })
    await using stage = await openTestScheduler({ jobs: [failing] })
    const { scheduler } = stage
    const handle = await scheduler.enqueue(failing, null)
    await stage.advance('15s')
    const { items } = await scheduler.getChain(handle.jobId)
    expect(items).toHaveLength(3)

    // The second of three: ended long ago, but its chain lives.
    expect(await scheduler.cancel(items[1]?.jobId ?? '')).toEqual({ kind: 'cancelled', jobId: items[2]?.jobId })

    await stage.advance('1h')
    const chain = await scheduler.getChain(handle.jobId)
    expect(chain).toMatchObject({ settled: true, outcome: 'CANCELLED' })
    expect(chain.items.map(({ status }) => status)).toEqual(['FINISHED', 'FINISHED', 'CANCELLED'])
  })
})

describe('a RUNNING Job, gracefully (the default)', () => {
  test('is not interrupted; its true outcome is recorded', async () => {
    const gate = newGate()
    let wasAborted = false
    const work = defineJob({
      type: 'work',
      run: async ({ signal }) => {
        await gate.passed
        wasAborted = signal.aborted
        return 'finished all the same'
      },
    })
    await using stage = await openTestScheduler({ jobs: [work] })
    const handle = await stage.scheduler.enqueue(work, null)
    await stage.runUntilIdle()

    expect(await handle.cancel()).toEqual({ kind: 'requested', jobId: handle.jobId })
    await stage.advance('5s')
    expect(await handle.get()).toMatchObject({ status: 'RUNNING', cancelMode: 'graceful' })

    gate.open()
    expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'finished all the same' })
    expect(wasAborted).toBe(false)
    expect((await handle.get()).status).toBe('FINISHED')
  })

  test('is not tried again when it fails', async () => {
    const gate = newGate()
    const work = defineJob({ type: 'work', run: () => gate.passed })
    await using stage = await openTestScheduler({ jobs: [work] })
    const handle = await stage.scheduler.enqueue(work, null)
    await stage.runUntilIdle()
    await handle.cancel()
    gate.break(new Error('failed anyway'))
    await stage.advance('1h')

    expect(await handle.settled()).toMatchObject({ outcome: 'FAILED', reason: 'error', attempts: 1 })
    const run = await stage.scheduler.findRunOfJob(handle.jobId)
    expect(run?.willRetry).toBe(false)
  })
})

describe('a RUNNING Job, by abort', () => {
  test('finds its signal fired; the Run is FAILED with reason `cancelled`, the Job CANCELLED', async () => {
    const reasons: unknown[] = []
    const work = defineJob({
      type: 'work',
      run: async ({ signal }) => {
        await aborted(signal)
        reasons.push(signal.reason)
        throw signal.reason
      },
    })
    await using stage = await openTestScheduler({ jobs: [work] })
    const handle = await stage.scheduler.enqueue(work, null)
    await stage.runUntilIdle()

    expect(await handle.cancel({ mode: 'abort', reason: 'wrong file' })).toMatchObject({ kind: 'requested' })
    await stage.advance('1h')

    expect(reasons).toMatchObject([{ name: 'AbortError', cause: 'cancelled' }])
    expect(await handle.settled()).toMatchObject({ outcome: 'CANCELLED', reason: 'cancelled', attempts: 1 })
    expect(await handle.get()).toMatchObject({ status: 'CANCELLED', outcome: 'FAILED', cancelReason: 'wrong file' })
    expect(await stage.scheduler.findRunOfJob(handle.jobId)).toMatchObject({
      status: 'FAILED',
      reason: 'cancelled',
      willRetry: false,
    })
  })

  test('that ignores its signal keeps its place until it ends, and its result changes nothing', async () => {
    const gate = newGate()
    const work = defineJob({ type: 'work', run: () => gate.passed })
    await using stage = await openTestScheduler({ jobs: [work, note] })
    const { scheduler } = stage
    const handle = await scheduler.enqueue(work, null)
    const next = await scheduler.enqueue(note, null)
    await stage.runUntilIdle()
    await handle.cancel({ mode: 'abort' })
    await stage.advance('5s')

    expect((await handle.get()).status).toBe('CANCELLED')
    expect((await next.get()).status).toBe('QUEUED')

    gate.open()
    await next.settled()
    expect(await handle.settled()).toMatchObject({ outcome: 'CANCELLED' })
  })

  test('may follow a graceful wish, and a graceful one does not take it back', async () => {
    const work = defineJob({ type: 'work', run: ({ signal }) => aborted(signal) })
    await using stage = await openTestScheduler({ jobs: [work] })
    const handle = await stage.scheduler.enqueue(work, null)
    await stage.runUntilIdle()
    await handle.cancel({ reason: 'first' })
    await Promise.all([handle.cancel({ mode: 'abort', reason: 'second' }), handle.cancel()])
    expect(await handle.settled()).toMatchObject({ outcome: 'CANCELLED' })
    expect(await handle.get()).toMatchObject({ cancelMode: 'abort', cancelReason: 'first' })
  })

  test('works from another scheduler on the same file, within a second', async () => {
    const store = newSharedStore()
    const work = defineJob({ type: 'work', run: ({ signal }) => aborted(signal) })
    await using worker = await openScheduler({ store, jobs: [work] })
    await worker.start()
    const { jobId } = await worker.enqueue(work, null)
    await vi.waitFor(() => expect(worker.executing).toEqual([jobId]))
    await using client = await openScheduler({ store })

    const askedAt = Date.now()
    await client.cancel(jobId, { mode: 'abort' })
    await vi.waitFor(async () => expect((await client.getJob(jobId)).status).toBe('CANCELLED'), { timeout: 5000 })

    expect(((await client.getJob(jobId)).finishedAt ?? 0) - askedAt).toBeLessThan(1000)
  })
})

describe('a chain that has ended', () => {
  test('cannot be cancelled any more: `job_ended`', async () => {
    await using stage = await openTestScheduler({ jobs: [note] })
    const handle = await stage.scheduler.enqueue(note, null)
    await handle.settled()
    expect(await refusalOf(handle.cancel())).toMatchObject({
      code: 'job_ended',
      details: { jobId: handle.jobId, outcome: 'COMPLETED' },
    })
  })

  test('that is CANCELLED already stays so, and asking again is no error', async () => {
    await using stage = await openTestScheduler({ jobs: [note] })
    const handle = await stage.scheduler.enqueue(note, null, { delayMs: 1000 })
    await handle.cancel({ reason: 'first' })
    expect(await handle.cancel({ reason: 'second' })).toEqual({ kind: 'cancelled', jobId: handle.jobId })
    expect((await handle.get()).cancelReason).toBe('first')
  })

  test('or was never there is `job_not_found`', async () => {
    await using stage = await openTestScheduler({ jobs: [note] })
    expect(await refusalOf(stage.scheduler.cancel('nobody'))).toMatchObject({ code: 'job_not_found' })
  })
})
