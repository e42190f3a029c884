// A direct execution runs now, in the next free place, before the queue, and its result is the answer to the call. It is
// no Job: it is never retried, and the history of Jobs does not know it. Its reservation remembers it.
import { defineJob, NonRetryableError, openScheduler, type Reservation, type Transition } from 'pawl'
import type { TestScheduler } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { aborted, listeningLogger, newGate, newStore, openTestScheduler, refusalOf } from './stage.ts'

const echo = defineJob({ type: 'echo', run: ({ params }) => params })

/** The only reservation of this store. */
async function onlyReservation({ scheduler }: TestScheduler): Promise<Reservation> {
  const { items } = await scheduler.listReservations()
  expect(items).toHaveLength(1)
  return items[0] as Reservation
}

describe('a direct execution', () => {
  test('answers with what the handler returned, typed', async () => {
    const story = defineJob({
      type: 'story',
      params: z.object({ genre: z.string(), length: z.number().default(1200) }),
      run: ({ params }) => ({ file: `${params.genre}-${params.length}.md` }),
    })
    await using stage = await openTestScheduler({ jobs: [story] })
    const { clock, scheduler } = stage
    const direct = await scheduler.runDirect(story, { genre: 'gothic' })
    if (direct.skipped === null) direct.result.file satisfies string
    expect(direct).toEqual({
      reservationId: expect.any(String),
      result: { file: 'gothic-1200.md' },
      skipped: null,
      startedAt: clock.now(),
      finishedAt: clock.now(),
    })
  })

  test('makes no Job, no Run and no event', async () => {
    await using stage = await openTestScheduler({ jobs: [echo] })
    const events: Transition[] = []
    for (const kind of ['job.queued', 'job.started', 'job.finished', 'run.progress'] as const) {
      stage.scheduler.on(kind, (event) => events.push(event))
    }
    await stage.scheduler.runDirect(echo, 'x')
    await stage.runUntilIdle()
    expect((await stage.scheduler.listJobs()).items).toEqual([])
    expect((await stage.scheduler.listRuns()).items).toEqual([])
    expect(events).toEqual([])
  })

  test('is remembered: who asked for what, when, where, and what came of it', async () => {
    await using stage = await openTestScheduler({ jobs: [echo] })
    const { reservationId } = await stage.scheduler.runDirect(echo, { n: 1 }, { createdBy: 'anna' })
    const now = stage.clock.now()
    expect(await onlyReservation(stage)).toEqual({
      reservationId,
      type: 'echo',
      status: 'RELEASED',
      params: { n: 1 },
      callerNodeId: stage.scheduler.nodeId,
      nodeId: stage.scheduler.nodeId,
      createdBy: 'anna',
      createdAt: now,
      renewedAt: now,
      startedAt: now,
      endedAt: now,
      outcome: 'COMPLETED',
      reason: null,
      error: null,
      result: { n: 1 },
    })
  })

  test('gives its handler the same context as a Job would, with the reservation’s id', async () => {
    const logger = listeningLogger()
    const curious = defineJob({
      type: 'curious',
      run: ({ jobId, chainId, runId, attempt, parents, log, progress, addArtifact }) => {
        log.warn('half way', { n: 1 })
        progress(0.5)
        addArtifact('/tmp/a')
        return { jobId, chainId, runId, attempt, parents }
      },
    })
    await using stage = await openTestScheduler({ jobs: [curious], logger })
    const { reservationId, result } = await stage.scheduler.runDirect(curious, null)
    const id = reservationId
    expect(result).toEqual({ jobId: id, chainId: id, runId: id, attempt: 1, parents: {} })
    expect(logger.told).toContainEqual({
      level: 'warn',
      fields: { reservationId, type: 'curious', n: 1 },
      message: 'half way',
    })
  })

  test('may skip', async () => {
    const skipping = defineJob({ type: 'skipping', run: ({ skip }) => skip('nothing new') })
    await using stage = await openTestScheduler({ jobs: [skipping] })
    expect(await stage.scheduler.runDirect(skipping, null)).toMatchObject({ result: null, skipped: 'nothing new' })
    expect(await onlyReservation(stage)).toMatchObject({ outcome: 'SKIPPED', error: 'nothing new' })
  })

  test('commits the follow-ups it asked for together with its success, and only then', async () => {
    const parent = defineJob({
      type: 'parent',
      params: z.boolean(),
      run: async ({ params: isFine, enqueue }) => {
        await enqueue(echo, 'follow-up', { delayMs: 1000 })
        if (!isFine) throw new Error('no')
      },
    })
    await using stage = await openTestScheduler({ jobs: [parent, echo] })
    await refusalOf(stage.scheduler.runDirect(parent, false))
    expect((await stage.scheduler.listJobs()).items).toEqual([])
    await stage.scheduler.runDirect(parent, true)
    expect((await stage.scheduler.listJobs()).items).toMatchObject([{ params: 'follow-up', retryOf: null }])
  })
})

describe('its place', () => {
  test('is the next one: after what executes, before the queue, and the same head goes on', async () => {
    const begun: unknown[] = []
    const gate = newGate()
    const work = defineJob({
      type: 'work',
      run: async ({ params }) => {
        begun.push(params)
        if (params === 'running') await gate.passed
      },
    })
    await using stage = await openTestScheduler({ jobs: [work] })
    const { scheduler } = stage
    await scheduler.enqueue(work, 'running')
    await stage.runUntilIdle()
    await scheduler.enqueueMany(['head', 'next'].map((params) => ({ type: work, params, priority: 9 })))
    const direct = scheduler.runDirect(work, 'direct')
    await stage.advance('10s')
    const queue = (await scheduler.listQueue()).map(({ params }) => params)
    expect([begun, queue]).toEqual([['running'], ['head', 'next']])
    gate.open()
    await direct
    await stage.runUntilIdle()
    expect(begun).toEqual(['running', 'direct', 'head', 'next'])
  })

  test('comes in the order of arrival', async () => {
    const begun: unknown[] = []
    const gate = newGate()
    const work = defineJob({
      type: 'work',
      run: async ({ params }) => {
        begun.push(params)
        if (params === 'running') await gate.passed
      },
    })
    await using stage = await openTestScheduler({ jobs: [work] })
    await stage.scheduler.enqueueMany(['running', 'waiting'].map((params) => ({ type: work, params })))
    await stage.runUntilIdle()
    const calls: Promise<unknown>[] = []
    for (const params of ['first', 'second', 'third']) {
      calls.push(stage.scheduler.runDirect(work, params))
      await stage.runUntilIdle()
    }
    gate.open()
    await Promise.all(calls)
    await stage.runUntilIdle()
    expect(begun).toEqual(['running', 'first', 'second', 'third', 'waiting'])
  })

  test('is one of `concurrency`, beside the Jobs', async () => {
    const gate = newGate()
    const begun: unknown[] = []
    const work = defineJob({
      type: 'work',
      run: async ({ params }) => {
        begun.push(params)
        await gate.passed
      },
    })
    await using stage = await openTestScheduler({ jobs: [work], concurrency: 3 })
    const { scheduler } = stage
    await scheduler.enqueueMany(['a', 'b'].map((params) => ({ type: work, params })))
    await stage.runUntilIdle()
    const calls: Promise<unknown>[] = []
    for (const params of ['direct', 'waits']) {
      calls.push(scheduler.runDirect(work, params))
      await stage.runUntilIdle()
    }
    await scheduler.enqueue(work, 'c')
    await stage.runUntilIdle()
    expect(begun).toEqual(['a', 'b', 'direct'])
    expect(scheduler.executing).toHaveLength(2)
    expect(scheduler.executingDirect).toHaveLength(1)
    gate.open()
    await Promise.all(calls)
    await stage.runUntilIdle()
    expect(begun).toEqual(['a', 'b', 'direct', 'waits', 'c'])
  })

  test('is not held back by a concurrency policy: that is about Jobs', async () => {
    const concurrencyPolicy = { decideClaims: () => new Map<string, number>() }
    await using stage = await openTestScheduler({ jobs: [echo], concurrencyPolicy })
    const job = await stage.scheduler.enqueue(echo, 'never')
    expect(await stage.scheduler.runDirect(echo, 'now')).toMatchObject({ result: 'now' })
    expect((await job.get()).status).toBe('QUEUED')
  })
})

describe('a handler that fails', () => {
  const failing = defineJob({
    type: 'failing',
    params: z.string(),
    run: ({ params }) => {
      throw params === 'never' ? new NonRetryableError(params) : new TypeError(params)
    },
  })

  test('fails the call with its own words, and nothing else happens', async () => {
    await using stage = await openTestScheduler({ jobs: [failing] })
    const error = await refusalOf(stage.scheduler.runDirect(failing, 'the ink ran out'))
    const { reservationId } = await onlyReservation(stage)
    expect(error).toMatchObject({ code: 'direct_failed', details: { reason: 'error', reservationId } })
    expect(error.message).toContain('TypeError: the ink ran out')
    await stage.advance('1h')
    expect((await stage.scheduler.listJobs()).items).toEqual([])
    expect(await onlyReservation(stage)).toMatchObject({
      status: 'RELEASED',
      outcome: 'FAILED',
      reason: 'error',
      error: 'TypeError: the ink ran out',
    })
  })

  test('never asks `shouldRetry`', async () => {
    let isAsked = false
    const asking = defineJob({
      type: 'asking',
      retry: {
        shouldRetry: () => {
          isAsked = true
          return true
        },
      },
      run: () => Promise.reject(new Error('no')),
    })
    await using stage = await openTestScheduler({ jobs: [asking] })
    await refusalOf(stage.scheduler.runDirect(asking, null))
    expect(isAsked).toBe(false)
  })

  test('gives its place to whoever is next', async () => {
    await using stage = await openTestScheduler({ jobs: [failing, echo] })
    await refusalOf(stage.scheduler.runDirect(failing, 'never'))
    expect(await stage.scheduler.runDirect(echo, 1)).toMatchObject({ result: 1 })
  })

  test('by a result that cannot be written says so', async () => {
    const odd = defineJob({ type: 'odd', run: () => 1n as unknown as number })
    const large = defineJob({ type: 'large', run: () => 'x'.repeat(300_000) })
    await using stage = await openTestScheduler({ jobs: [odd, large] })
    const reasons = await Promise.all(
      [odd, large].map(async (type) => (await refusalOf(stage.scheduler.runDirect(type, null))).details['reason']),
    )
    expect(reasons).toEqual(['unserialisable-result', 'result-too-large'])
  })

  test('by taking too long is interrupted, and the call is told at that instant', async () => {
    const slow = defineJob({ type: 'slow', timeoutMs: 5000, run: ({ signal }) => aborted(signal) })
    await using stage = await openTestScheduler({ jobs: [slow] })
    const beganAt = stage.clock.now()
    const call = refusalOf(stage.scheduler.runDirect(slow, null))
    await stage.advance('5s')
    expect(await call).toMatchObject({ code: 'direct_failed', details: { reason: 'timeout' } })
    expect(await onlyReservation(stage)).toMatchObject({ reason: 'timeout', endedAt: beganAt + 5000 })
  })

  test('and ignores its abort keeps its place and its resources until it has really ended', async () => {
    const gate = newGate()
    const begun: string[] = []
    const deaf = defineJob({ type: 'deaf', timeoutMs: 1000, resources: ['printer'], run: () => gate.passed })
    const printing = defineJob({
      type: 'printing',
      resources: ['printer'],
      run: () => void begun.push('printing'),
    })
    await using stage = await openTestScheduler({ jobs: [deaf, printing], concurrency: 2, resources: { printer: 1 } })
    const call = refusalOf(stage.scheduler.runDirect(deaf, null))
    await stage.runUntilIdle()
    await stage.scheduler.enqueue(printing, null)
    await stage.advance('10m')
    expect((await call).details).toMatchObject({ reason: 'timeout' })
    expect(begun).toEqual([])
    expect(stage.scheduler.executingDirect).toHaveLength(1)
    gate.open()
    await stage.runUntilIdle()
    expect(begun).toEqual(['printing'])
  })
})

describe('a request', () => {
  const strict = defineJob({ type: 'strict', params: z.object({ n: z.number() }), run: ({ params }) => params.n })

  test('is checked like that of a Job, before anything is stored', async () => {
    await using stage = await openTestScheduler({ jobs: [strict, echo] })
    const run = (type: string, params: unknown) => refusalOf(stage.scheduler.runDirect(type, params))
    expect(await run('strict', { n: 'one' })).toMatchObject({ code: 'invalid_params', path: 'params.n' })
    expect(await run('echo', 'x'.repeat(300_000))).toMatchObject({ code: 'params_too_large' })
    expect(await run('echo', 1n)).toMatchObject({ code: 'unserialisable_params' })
    expect(await run('nobody', null)).toMatchObject({ code: 'unknown_type' })
    expect((await stage.scheduler.listReservations()).items).toEqual([])
  })

  test.for([
    [{ waitTimeoutMs: 0 }, 'waitTimeoutMs'],
    [{ onBusy: 'wonder' }, 'onBusy'],
    [{ signal: 'stop' }, 'signal'],
    [{ createdBy: '' }, 'createdBy'],
    [{ priority: 5 }, 'priority'],
  ] as const)('with %o is refused', async ([options, path]) => {
    await using stage = await openTestScheduler({ jobs: [echo] })
    const refusal = await refusalOf(stage.scheduler.runDirect(echo, null, options as never))
    expect(refusal).toMatchObject({ code: 'invalid_option', path })
  })

  test('for a type that no started scheduler handles is refused', async () => {
    const scheduler = await openScheduler({ store: newStore(), jobs: [echo] })
    expect(await refusalOf(scheduler.runDirect(echo, 1))).toMatchObject({ code: 'no_node' })
    await scheduler.start()
    expect(await scheduler.runDirect(echo, 1)).toMatchObject({ result: 1 })
    await scheduler.stop()
    expect(await refusalOf(scheduler.runDirect(echo, 1))).toMatchObject({ code: 'no_node' })
    await scheduler.start()
    expect(await scheduler.runDirect(echo, 2)).toMatchObject({ result: 2 })
    await scheduler.close()
    expect(await refusalOf(scheduler.runDirect(echo, 1))).toMatchObject({ code: 'closed' })
  })
})

describe('while every place is taken', () => {
  /** One place, taken until the gate opens. */
  async function openBusyStage() {
    const gate = newGate()
    const begun: unknown[] = []
    const work = defineJob({
      type: 'work',
      run: async ({ params }) => {
        begun.push(params)
        if (params === 'running') await gate.passed
        return params
      },
    })
    const stage = await openTestScheduler({ jobs: [work] })
    await stage.scheduler.enqueue(work, 'running')
    await stage.runUntilIdle()
    return { stage, work, gate, begun, scheduler: stage.scheduler }
  }

  test('a call may be refused at once, without a trace', async () => {
    const { stage, work, gate, scheduler } = await openBusyStage()
    const refusal = await refusalOf(scheduler.runDirect(work, 'now', { onBusy: 'reject' }))
    expect(refusal).toMatchObject({ code: 'direct_busy' })
    expect((await scheduler.listReservations()).items).toEqual([])
    gate.open()
    await stage.runUntilIdle()
    expect(await scheduler.runDirect(work, 'now', { onBusy: 'reject' })).toMatchObject({ result: 'now' })
    await stage.close()
  })

  test('a call waits, ten minutes and more, and does not expire', async () => {
    const { stage, work, gate, scheduler } = await openBusyStage()
    const call = scheduler.runDirect(work, 'patient', { waitTimeoutMs: 3_600_000 })
    await stage.advance('10m')
    expect(await onlyReservation(stage)).toMatchObject({ status: 'WAITING', renewedAt: stage.clock.now() })
    gate.open()
    expect(await call).toMatchObject({ result: 'patient', startedAt: stage.clock.now() })
    await stage.close()
  })

  test('a call waits five minutes unless told otherwise; then it is refused, and never executed', async () => {
    const { stage, work, gate, begun, scheduler } = await openBusyStage()
    const calledAt = stage.clock.now()
    const usual = refusalOf(scheduler.runDirect(work, 'usual'))
    await stage.runUntilIdle()
    const short = refusalOf(scheduler.runDirect(work, 'short', { waitTimeoutMs: 1000 }))
    await stage.advance('1h')
    expect(await usual).toMatchObject({ code: 'direct_wait_timeout', details: { waitTimeoutMs: 300_000 } })
    expect(await short).toMatchObject({ code: 'direct_wait_timeout', details: { waitTimeoutMs: 1000 } })
    const ended = (await scheduler.listReservations()).items.map(({ status, reason, outcome, endedAt }) => ({
      status,
      reason,
      outcome,
      afterMs: (endedAt ?? 0) - calledAt,
    }))
    const released = { status: 'RELEASED', reason: 'wait-timeout', outcome: null }
    expect(ended).toEqual([
      { ...released, afterMs: 1000 },
      { ...released, afterMs: 300_000 },
    ])
    gate.open()
    await stage.runUntilIdle()
    expect(begun).toEqual(['running'])
    await stage.close()
  })

  test('a caller that gives up leaves the line', async () => {
    const { stage, work, gate, begun, scheduler } = await openBusyStage()
    const abort = new AbortController()
    const call = scheduler.runDirect(work, 'given up', { signal: abort.signal })
    await stage.runUntilIdle()
    const next = scheduler.runDirect(work, 'next')
    await stage.runUntilIdle()
    abort.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    await stage.runUntilIdle()
    const [, given] = (await scheduler.listReservations()).items
    expect(given).toMatchObject({ status: 'RELEASED', reason: 'caller-gone' })
    gate.open()
    await next
    expect(begun).toEqual(['running', 'next'])
    await stage.close()
  })

  test('a signal that has fired before the call refuses it', async () => {
    const { stage, work, gate, scheduler } = await openBusyStage()
    const signal = AbortSignal.abort(new Error('too late'))
    await expect(scheduler.runDirect(work, null, { signal })).rejects.toThrow('too late')
    expect((await scheduler.listReservations()).items).toEqual([])
    gate.open()
    await stage.close()
  })

  test('closing gives the tickets back and tells the callers', async () => {
    const { stage, work, gate, begun, scheduler } = await openBusyStage()
    const call = refusalOf(scheduler.runDirect(work, 'too late'))
    await stage.runUntilIdle()
    const closed = stage.close()
    expect(await call).toMatchObject({ code: 'closed' })
    gate.open()
    await closed
    expect(begun).toEqual(['running'])
  })
})

describe('while it executes', () => {
  test('ten minutes and more are no reason to expire', async () => {
    const long = defineJob({
      type: 'long',
      run: () => new Promise<string>((resolve) => stage.clock.after(3_600_000, () => resolve('done'))),
    })
    await using stage = await openTestScheduler({ jobs: [long] })
    const call = stage.scheduler.runDirect(long, null)
    await stage.advance('10m')
    expect(await onlyReservation(stage)).toMatchObject({ status: 'RUNNING' })
    await stage.advance('50m')
    expect(await call).toMatchObject({ result: 'done' })
  })

  test('a caller that gives up is answered at once, and the body goes on to its end', async () => {
    const gate = newGate<string>()
    const long = defineJob({ type: 'long', run: () => gate.passed })
    await using stage = await openTestScheduler({ jobs: [long] })
    const abort = new AbortController()
    const call = stage.scheduler.runDirect(long, null, { signal: abort.signal })
    await stage.runUntilIdle()
    abort.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    await stage.runUntilIdle()
    expect(await onlyReservation(stage)).toMatchObject({ status: 'RUNNING' })
    gate.open('done')
    await stage.runUntilIdle()
    expect(await onlyReservation(stage)).toMatchObject({ status: 'RELEASED', outcome: 'COMPLETED', result: 'done' })
  })

  test('stop waits for it, and names no Job that still runs', async () => {
    const gate = newGate<string>()
    const long = defineJob({ type: 'long', run: () => gate.passed })
    await using stage = await openTestScheduler({ jobs: [long] })
    const call = stage.scheduler.runDirect(long, null)
    await stage.runUntilIdle()
    let isStopped = false
    const stopping = stage.scheduler.stop(60_000).then((stopped) => {
      isStopped = true
      return stopped
    })
    await stage.advance('30s')
    expect(isStopped).toBe(false)
    gate.open('done')
    expect(await stopping).toEqual({ stillRunning: [] })
    expect(await call).toMatchObject({ result: 'done' })
  })

  test('closing waits, then aborts it as `shutdown`: the caller is told, and nobody tries again', async () => {
    const polite = defineJob({ type: 'polite', run: ({ signal }) => aborted(signal) })
    const stage = await openTestScheduler({ jobs: [polite], shutdownTimeoutMs: 5000 })
    const call = refusalOf(stage.scheduler.runDirect(polite, null))
    await stage.runUntilIdle()
    await stage.close()
    expect(await call).toMatchObject({ code: 'direct_failed', details: { reason: 'shutdown' } })
  })

  test('a body that a call of its own waits for is no deadlock when there is a second place', async () => {
    const outer = defineJob({
      type: 'outer',
      run: async () => (await stage.scheduler.runDirect(echo, 'inner')).result,
    })
    await using stage = await openTestScheduler({ jobs: [outer, echo], concurrency: 2 })
    expect(await stage.scheduler.runDirect(outer, null)).toMatchObject({ result: 'inner' })
  })
})
