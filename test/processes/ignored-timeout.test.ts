import { defineJob, type JobHandle, openScheduler } from 'pawl'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { newStore, openTestScheduler } from '../stores/package-stores.ts'

// A body that ignores its timeout: its Run ends at the deadline, but what it holds is free only when its code has ended.

test('the next Job of its resource, and its own retry, start only when it has really ended', async () => {
  const stubborn = new Bodies()
  await using process = await openTestScheduler({ jobs: [stubborn.type], resources: { oven: 1 }, concurrency: 5 })
  const { scheduler, advance, runUntilIdle } = process
  const late: unknown[] = []
  scheduler.on('run.late', ({ claim, ended }) => late.push([claim.jobId, ended]))
  const first = await scheduler.enqueue(stubborn.type, 'first')
  const second = await scheduler.enqueue(stubborn.type, 'second')
  await runUntilIdle()

  await advance('10s')
  const run = await scheduler.findRunOfJob(first.jobId)
  expect(run).toMatchObject({ status: 'FAILED', reason: 'timeout', durationMs: 10_000, willRetry: true })
  await advance('1h')
  expect(stubborn.begun).toEqual(['first 1'])
  const [, retry] = (await scheduler.getChain(first.jobId)).items
  expect(retry).toMatchObject({ status: 'QUEUED', hold: 'predecessor' })
  expect(await second.get()).toMatchObject({ status: 'QUEUED', hold: null })

  stubborn.end('first 1')
  await runUntilIdle()
  expect(stubborn.begun).toEqual(['first 1', 'first 2'])
  expect(late).toEqual([[first.jobId, 'returned']])
  expect(await scheduler.findRunOfJob(first.jobId)).toEqual(run)

  stubborn.end('first 2')
  await runUntilIdle()
  expect(stubborn.begun).toEqual(['first 1', 'first 2', 'second 1'])
  stubborn.end('second 1')
  expect(await outcomes(first, second)).toEqual(['COMPLETED', 'COMPLETED'])
})

test('its place stays taken: with one place, nothing else starts on this node', async () => {
  const stubborn = new Bodies()
  const other = defineJob({ type: 'other', run: () => 'done' })
  await using process = await openTestScheduler({ jobs: [stubborn.type, other], resources: { oven: 1 } })
  const { scheduler, advance, runUntilIdle } = process
  await scheduler.enqueue(stubborn.type, 'a', { retry: { maxRetries: 0 } })
  const waiting = await scheduler.enqueue(other, null)
  await advance('1h')
  expect(await waiting.get()).toMatchObject({ status: 'QUEUED' })
  stubborn.end('a 1')
  await runUntilIdle()
  expect(await waiting.get()).toMatchObject({ status: 'FINISHED', outcome: 'COMPLETED' })
})

test('what does not need its resource starts meanwhile in another place', async () => {
  const stubborn = new Bodies()
  const other = defineJob({ type: 'other', run: () => 'done' })
  const options = { jobs: [stubborn.type, other], resources: { oven: 1 }, concurrency: 2 }
  await using process = await openTestScheduler(options)
  const { scheduler, advance } = process
  await scheduler.enqueue(stubborn.type, 'a')
  await advance('10s')
  const free = await scheduler.enqueue(other, null)
  expect(await outcomes(free)).toEqual(['COMPLETED'])
  stubborn.end('a 1')
})

test('its business key stays taken until it has really ended', async () => {
  const stubborn = new Bodies()
  await using process = await openTestScheduler({ jobs: [stubborn.type], resources: { oven: 1 } })
  const { scheduler, advance, runUntilIdle } = process
  const options = { businessKey: 'cake', retry: { maxRetries: 0 } }
  await scheduler.enqueue(stubborn.type, 'a', options)
  await advance('10s')
  await expect(scheduler.enqueue(stubborn.type, 'b', options)).rejects.toMatchObject({ code: 'business_key_taken' })
  stubborn.end('a 1')
  await runUntilIdle()
  const next = await scheduler.enqueue(stubborn.type, 'b', options)
  await runUntilIdle()
  stubborn.end('b 1')
  expect(await outcomes(next)).toEqual(['COMPLETED'])
})

test('a body that blocks the event loop past its deadline has timed out, whatever it returns', async () => {
  const busy = defineJob({
    type: 'busy',
    timeoutMs: 20,
    retry: { maxRetries: 0 },
    run() {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 40)
      return 'too late'
    },
  })
  await using scheduler = await openScheduler({ store: newStore(), jobs: [busy] })
  const late: string[] = []
  scheduler.on('run.late', ({ claim }) => late.push(claim.jobId))
  const job = await scheduler.enqueue(busy, null)
  await scheduler.start()
  expect(await job.settled()).toMatchObject({ outcome: 'FAILED', reason: 'timeout', result: null, attempts: 1 })
  // Told when the outcome is written, which whoever waits for it may hear a moment before.
  await vi.waitFor(() => expect(late).toEqual([job.jobId]))
})

/** Bodies that end when the test says so, and not before. */
class Bodies {
  readonly begun: string[] = []
  readonly #ends = new Map<string, () => void>()
  readonly type = defineJob({
    type: 'stubborn',
    params: z.string(),
    timeoutMs: 10_000,
    resources: ['oven'],
    retry: { backoff: { kind: 'none' } },
    run: ({ params, attempt }) =>
      new Promise<string>((resolve) => {
        const name = `${params} ${attempt}`
        this.begun.push(name)
        this.#ends.set(name, () => resolve('late'))
      }),
  })

  end(name: string): void {
    this.#ends.get(name)?.()
  }
}

async function outcomes(...handles: readonly JobHandle[]): Promise<string[]> {
  const ends = await Promise.all(handles.map((handle) => handle.settled()))
  return ends.map(({ outcome }) => outcome)
}
