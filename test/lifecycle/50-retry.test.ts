// A retry is a new Job in the same chain; every attempt keeps its own Run. Nothing ever goes back from RUNNING to QUEUED.
import { type BackoffOptions, defineJob, NonRetryableError, type RetryOptions } from 'pawl'
import type { TestScheduler } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { newGate, openTestScheduler, position, refusalOf } from './stage.ts'

/** A type that fails as often as the test says, and remembers when it was executed. */
function flakyType(failures: number, retry?: RetryOptions & { shouldRetry?: (error: unknown) => boolean }) {
  const startedAt: number[] = []
  const job = defineJob({
    type: 'flaky',
    ...(retry === undefined ? {} : { retry }),
    run: ({ attempt }) => {
      startedAt.push(stage?.clock.now() ?? 0)
      if (startedAt.length <= failures) throw new Error(`failure ${attempt}`)
      return `attempt ${attempt}`
    },
  })
  let stage: TestScheduler | null = null
  const open = async (options: Parameters<typeof openTestScheduler>[0] = {}) => {
    stage = await openTestScheduler({ jobs: [job], ...options })
    return stage
  }
  /** The seconds between one execution and the next. */
  const pauses = () => startedAt.slice(1).map((at, index) => (at - (startedAt[index] as number)) / 1000)
  return { job, open, pauses, executions: () => startedAt.length }
}

const ALWAYS = Number.POSITIVE_INFINITY

describe('automatic retries', () => {
  test('come after 10, 20 and 40 seconds: four executions, then the chain is settled as FAILED', async () => {
    const flaky = flakyType(ALWAYS)
    await using stage = await flaky.open()
    const handle = await stage.scheduler.enqueue(flaky.job, { some: 'params' }, { priority: 3, tags: ['t'] })

    await stage.advance('1d')

    expect(flaky.pauses()).toEqual([10, 20, 40])
    expect(await handle.settled()).toMatchObject({
      outcome: 'FAILED',
      reason: 'error',
      error: 'failure 4',
      attempts: 4,
    })
    const chain = await stage.scheduler.getChain(handle.jobId)
    expect(chain).toMatchObject({ chainId: handle.jobId, settled: true, outcome: 'FAILED' })
    expect(chain.items.map(({ attempt, status, counts }) => [attempt, status, counts.errorRetries])).toEqual([
      [1, 'FINISHED', 0],
      [2, 'FINISHED', 1],
      [3, 'FINISHED', 2],
      [4, 'FINISHED', 3],
    ])
    expect(chain.items.map(({ retryOf }) => retryOf)).toEqual([null, ...chain.items.slice(0, 3).map((j) => j.jobId)])
    for (const job of chain.items) {
      expect(job).toMatchObject({ priority: 3, position: position(100), tags: ['t'], params: { some: 'params' } })
    }
    const runs = await Promise.all(chain.items.map(({ jobId }) => stage.scheduler.findRunOfJob(jobId)))
    expect(runs.map((run) => [run?.error, run?.willRetry])).toEqual([
      ['failure 1', true],
      ['failure 2', true],
      ['failure 3', true],
      ['failure 4', false],
    ])
  })

  test('stop with the first success, and `settled()` waits for it', async () => {
    const flaky = flakyType(2)
    await using stage = await flaky.open()
    const handle = await stage.scheduler.enqueue(flaky.job, null)
    const settled = handle.settled()
    await stage.advance('1h')
    expect(await settled).toMatchObject({ outcome: 'COMPLETED', result: 'attempt 3', attempts: 3 })
    expect(flaky.executions()).toBe(3)
  })

  test('wait as delayed Jobs that anybody can see', async () => {
    const flaky = flakyType(1)
    await using stage = await flaky.open()
    const { jobId } = await stage.scheduler.enqueue(flaky.job, null)
    await stage.runUntilIdle()
    const [retry] = await stage.scheduler.listQueue()
    expect(retry).toMatchObject({
      status: 'QUEUED',
      hold: 'delayed',
      retryOf: jobId,
      chainId: jobId,
      attempt: 2,
      runAt: stage.clock.now() + 10_000,
    })
  })

  test.each([
    ['type', { maxRetries: 0 }, {}],
    ['Job', { maxRetries: 3 }, { retry: { maxRetries: 0 } }],
  ])('do not come when the %s forbids them', async (_, ofType, ofJob) => {
    const flaky = flakyType(ALWAYS, ofType)
    await using stage = await flaky.open()
    const handle = await stage.scheduler.enqueue(flaky.job, null, ofJob)
    await stage.advance('1d')
    expect(flaky.executions()).toBe(1)
    expect(await handle.settled()).toMatchObject({ outcome: 'FAILED', attempts: 1 })
    expect((await handle.get()).policy.retry).toMatchObject({ maxRetries: 0, maxCrashRetries: 0 })
  })

  const backoffs: [string, RetryOptions, number[]][] = [
    ['none', { maxRetries: 3, backoff: { kind: 'none' } }, [0, 0, 0]],
    ['fixed', { maxRetries: 3, backoff: { kind: 'fixed', delayMs: 7_000 } }, [7, 7, 7]],
    ['another base', { maxRetries: 3, backoff: { kind: 'exponential', baseMs: 1_000 } }, [1, 2, 4]],
    ['another factor', { maxRetries: 3, backoff: { kind: 'exponential', baseMs: 1_000, factor: 3 } }, [1, 3, 9]],
    ['a cap', { maxRetries: 4, backoff: { kind: 'exponential', baseMs: 4_000, maxMs: 10_000 } }, [4, 8, 10, 10]],
    [
      'the cap of an hour unless another is given',
      { maxRetries: 2, backoff: { kind: 'exponential', baseMs: 3_000_000 } },
      [3000, 3600],
    ],
  ]
  test.each(backoffs)('wait as the backoff says: %s', async (_, retry, expected) => {
    const flaky = flakyType(ALWAYS, retry)
    await using stage = await flaky.open()
    await stage.scheduler.enqueue(flaky.job, null)
    await stage.advance('1d')
    expect(flaky.pauses()).toEqual(expected)
  })

  test('are shortened by jitter, with the chance that the caller brings', async () => {
    const chances = [0, 0.5, 1 - 2 ** -32]
    const backoff: BackoffOptions = { kind: 'exponential', baseMs: 10_000, factor: 1, jitter: 0.4 }
    const flaky = flakyType(ALWAYS, { maxRetries: 3, backoff })
    // Each execution has one chance, the one that follows its failure.
    await using stage = await flaky.open({ random: { next: () => chances[flaky.executions() - 1] ?? 0 } })
    await stage.scheduler.enqueue(flaky.job, null)
    await stage.advance('1h')
    expect(flaky.pauses()).toEqual([10, 8, 6])
  })

  test('end early with a NonRetryableError', async () => {
    let executions = 0
    const job = defineJob({
      type: 'work',
      run: () => {
        executions++
        throw new NonRetryableError('the address does not exist')
      },
    })
    await using stage = await openTestScheduler({ jobs: [job] })
    const handle = await stage.scheduler.enqueue(job, null)
    await stage.advance('1d')
    expect(executions).toBe(1)
    expect(await handle.settled()).toMatchObject({
      outcome: 'FAILED',
      reason: 'error',
      error: 'NonRetryableError: the address does not exist',
      attempts: 1,
    })
  })

  test('can be vetoed by `shouldRetry`, which sees the error and the attempt', async () => {
    const asked: [string, number][] = []
    const job = defineJob({
      type: 'work',
      retry: {
        backoff: { kind: 'none' },
        shouldRetry(error, { attempt }) {
          asked.push([(error as Error).message, attempt])
          return attempt < 2
        },
      },
      run: ({ attempt }) => {
        throw new Error(`failure ${attempt}`)
      },
    })
    await using stage = await openTestScheduler({ jobs: [job] })
    const handle = await stage.scheduler.enqueue(job, null)
    expect(await handle.settled()).toMatchObject({ outcome: 'FAILED', attempts: 2 })
    expect(asked).toEqual([
      ['failure 1', 1],
      ['failure 2', 2],
    ])
  })

  test('are not extended by `shouldRetry`, and a veto that throws is none', async () => {
    const eager = flakyType(ALWAYS, { maxRetries: 1, backoff: { kind: 'none' }, shouldRetry: () => true })
    await using first = await eager.open()
    await first.scheduler.enqueue(eager.job, null)
    await first.advance('1d')
    expect(eager.executions()).toBe(2)

    const broken = flakyType(ALWAYS, {
      maxRetries: 1,
      shouldRetry: () => {
        throw new Error('a veto with a bug')
      },
    })
    const told: string[] = []
    const logger = { info: () => {}, error: () => {}, warn: (_: object, message: string) => void told.push(message) }
    await using second = await broken.open({ logger })
    await second.scheduler.enqueue(broken.job, null)
    await second.advance('1d')
    expect(broken.executions()).toBe(2)
    expect(told[0]).toContain('shouldRetry failed')
  })
})

describe('a retry by hand', () => {
  test('works after all automatic ones, with fresh budgets', async () => {
    const flaky = flakyType(7)
    await using stage = await flaky.open()
    const { scheduler } = stage
    const handle = await scheduler.enqueue(flaky.job, null)
    await stage.advance('1h')
    const exhausted = await handle.settled()
    expect(exhausted).toMatchObject({ outcome: 'FAILED', attempts: 4 })

    const retry = await scheduler.retry(exhausted.jobId)
    expect(retry.kind).toBe('created')
    expect(await scheduler.getJob(retry.jobId)).toMatchObject({
      attempt: 5,
      chainId: handle.jobId,
      retryOf: exhausted.jobId,
      counts: { errorRetries: 0, crashRetries: 0, shutdownRetries: 0 },
    })

    await stage.advance('1h')
    expect(flaky.pauses().slice(4)).toEqual([10, 20, 40])
    expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'attempt 8', attempts: 8 })
  })

  test('stands last at its priority, or at the one that is given', async () => {
    const flaky = flakyType(1, { maxRetries: 0 })
    await using stage = await flaky.open()
    const { scheduler } = stage
    const failed = await scheduler.enqueue(flaky.job, null)
    await stage.runUntilIdle()
    await scheduler.stop()
    await scheduler.enqueue(flaky.job, null)
    await scheduler.enqueue(flaky.job, null, { priority: 2 })

    const { jobId } = await scheduler.retry(failed.jobId, { priority: 2 })

    expect((await scheduler.listQueue()).map((job) => [job.priority, job.jobId === jobId])).toEqual([
      [2, false],
      [2, true],
      [0, false],
    ])
  })

  test('can name the Run instead of the Job', async () => {
    const flaky = flakyType(1, { maxRetries: 0 })
    await using stage = await flaky.open()
    const { jobId } = await stage.scheduler.enqueue(flaky.job, null)
    await stage.runUntilIdle()
    const run = await stage.scheduler.findRunOfJob(jobId)
    expect(await stage.scheduler.retry({ runId: run?.runId ?? '' })).toMatchObject({ kind: 'created' })
  })

  test('makes the automatic retry that still waits due now, and makes no other', async () => {
    const flaky = flakyType(1)
    await using stage = await flaky.open()
    const { scheduler } = stage
    const handle = await scheduler.enqueue(flaky.job, null)
    await stage.advance('4s')
    const [waiting] = await scheduler.listQueue()

    expect(await scheduler.retry(handle.jobId)).toEqual({ kind: 'made-due', jobId: waiting?.jobId })
    await stage.runUntilIdle()

    expect(flaky.pauses()).toEqual([4])
    const { items } = await scheduler.getChain(handle.jobId)
    expect(items).toHaveLength(2)
    expect(items[1]).toMatchObject({ runAt: stage.clock.now(), startedAt: stage.clock.now() })
  })

  test('makes a retry due that also waits for the body of its predecessor: it starts when that has ended', async () => {
    const gate = newGate()
    const stubborn = defineJob({
      type: 'stubborn',
      timeoutMs: 1000,
      run: ({ attempt }) => (attempt === 1 ? gate.passed : undefined),
    })
    await using stage = await openTestScheduler({ jobs: [stubborn], concurrency: 2 })
    const { scheduler } = stage
    const handle = await scheduler.enqueue(stubborn, null)
    await stage.advance('2s')
    expect(await scheduler.retry(handle.jobId)).toMatchObject({ kind: 'made-due' })
    await stage.advance('1s')
    const [waiting] = await scheduler.listQueue()
    expect(waiting).toMatchObject({ hold: 'predecessor' })

    gate.open()
    await stage.runUntilIdle()
    expect(await scheduler.getJob(waiting?.jobId ?? '')).toMatchObject({
      outcome: 'COMPLETED',
      startedAt: stage.clock.now(),
    })
  })

  test('of an earlier attempt is refused and names the last', async () => {
    const flaky = flakyType(ALWAYS, { maxRetries: 2, backoff: { kind: 'none' } })
    await using stage = await flaky.open()
    const { scheduler } = stage
    const handle = await scheduler.enqueue(flaky.job, null)
    const { jobId: lastJobId } = await handle.settled()
    const lastRunId = (await scheduler.findRunOfJob(lastJobId))?.runId

    const refusal = await refusalOf(scheduler.retry(handle.jobId))

    expect(refusal).toMatchObject({ code: 'not_last_attempt', details: { lastJobId, lastRunId } })
    expect(refusal.message).toContain(lastJobId)
  })

  test('of a cancelled Job makes a new one', async () => {
    const flaky = flakyType(0)
    await using stage = await flaky.open()
    const handle = await stage.scheduler.enqueue(flaky.job, null, { delayMs: 1000 })
    await handle.cancel()
    expect(await handle.settled()).toMatchObject({ outcome: 'CANCELLED' })

    await stage.scheduler.retry(handle.jobId)
    await stage.runUntilIdle()
    expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 2 })
  })

  test('is refused for what did not fail, for what runs and for what nobody knows', async () => {
    const gate = newGate()
    const flaky = flakyType(0)
    const slow = defineJob({ type: 'slow', run: () => gate.passed })
    await using stage = await openTestScheduler({ jobs: [flaky.job, slow] })
    const { scheduler } = stage
    const good = await scheduler.enqueue(flaky.job, null)
    await good.settled()
    const running = await scheduler.enqueue(slow, null)
    await stage.runUntilIdle()

    expect(await refusalOf(scheduler.retry(good.jobId))).toMatchObject({
      code: 'not_retryable',
      details: { outcome: 'COMPLETED' },
    })
    expect(await refusalOf(scheduler.retry(running.jobId))).toMatchObject({
      code: 'not_retryable',
      details: { status: 'RUNNING' },
    })
    expect(await refusalOf(scheduler.retry('nobody'))).toMatchObject({ code: 'job_not_found' })
    expect(await refusalOf(scheduler.retry({ runId: 'nobody' }))).toMatchObject({ code: 'run_not_found' })
    gate.open()
  })

  test('takes the business key again, or is refused when another chain has it', async () => {
    const flaky = flakyType(1, { maxRetries: 0 })
    await using stage = await flaky.open()
    const { scheduler } = stage
    const failed = await scheduler.enqueue(flaky.job, null, { businessKey: 'k' })
    await failed.settled()
    const holder = await scheduler.enqueue(flaky.job, null, { businessKey: 'k', delayMs: 60_000 })

    expect(await refusalOf(scheduler.retry(failed.jobId))).toMatchObject({
      code: 'business_key_taken',
      details: { jobId: holder.jobId },
    })
    await holder.cancel()
    await scheduler.retry(failed.jobId)
    expect(await refusalOf(scheduler.enqueue(flaky.job, null, { businessKey: 'k' }))).toMatchObject({
      code: 'business_key_taken',
      details: { jobId: failed.jobId },
    })
  })
})
