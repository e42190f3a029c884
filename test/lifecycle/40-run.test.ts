// A Run is the record of the one execution of a Job: what it was given, what it said, what came of it.
import { resolve } from 'node:path'
import { defineJob, type JobContext, type Progress } from 'pawl'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { newGate, newSharedStore, openTestScheduler } from './stage.ts'

/** Executes one Job of this handler and returns its Run. */
async function runOf(run: (context: JobContext) => unknown) {
  const job = defineJob({ type: 'work', retry: { maxRetries: 0 }, run })
  await using stage = await openTestScheduler({ jobs: [job] })
  const handle = await stage.scheduler.enqueue('work', null)
  await stage.runUntilIdle()
  const found = await stage.scheduler.findRunOfJob(handle.jobId)
  if (found === null || found.status === null) throw new Error('The body has ended, but its Run has not.')
  const settled = await handle.settled()
  return { run: found, settled, logs: await stage.scheduler.readLogs(found.runId), startedAt: stage.clock.now() }
}

describe('the result', () => {
  test.each([
    ['an object', { file: 'out.md', pages: [1, 2] }],
    ['a text', 'done'],
    ['zero', 0],
    ['false', false],
    ['null', null],
    ['a list', [1, 'two', { three: 3 }]],
    ['characters of every kind', 'ä€𝄞\u0000\u2028'],
  ])('is kept: %s', async (_, value) => {
    const { run, settled } = await runOf(() => value)
    expect(run).toMatchObject({ status: 'COMPLETED', reason: null, error: null, result: value, willRetry: false })
    expect(settled).toMatchObject({ outcome: 'COMPLETED', result: value })
  })

  test('of a handler that returns nothing is null', async () => {
    expect((await runOf(() => {})).run).toMatchObject({ status: 'COMPLETED', result: null })
  })

  test.each([
    ['a bigint', () => 10n, 'BigInt'],
    ['a function', () => () => 1, 'a function has no JSON form'],
    [
      'a circle',
      () => {
        const circle: { self?: unknown } = {}
        circle.self = circle
        return circle
      },
      'circular',
    ],
  ])('that JSON cannot hold fails the Run, and is not tried again: %s', async (_, handler, words) => {
    const { run, settled } = await runOf(handler)
    expect(run).toMatchObject({ status: 'FAILED', reason: 'unserialisable-result', willRetry: false })
    expect(run.error).toContain(words)
    expect(settled.attempts).toBe(1)
  })

  test('that is too large fails the Run and names both numbers', async () => {
    const { run } = await runOf(() => 'x'.repeat(300_000))
    expect(run).toMatchObject({ status: 'FAILED', reason: 'result-too-large', willRetry: false })
    expect(run.error).toContain('300002')
    expect(run.error).toContain('262144')
  })
})

describe('a failure', () => {
  test('keeps the message, the class and the stack of the error', async () => {
    const { run } = await runOf(() => {
      throw new RangeError('the printer is on fire')
    })
    expect(run).toMatchObject({ status: 'FAILED', reason: 'error', error: 'RangeError: the printer is on fire' })
    expect(run.stack).toContain('40-run.test.ts')
  })

  test.each([
    ['a text', 'no error object', 'no error object'],
    ['undefined', undefined, 'undefined'],
    ['an object without a prototype', Object.create(null) as object, ''],
    ['an error without a message of its own', Object.assign(new Error('x'), { message: undefined }), ''],
    ['an error whose message is no text', Object.assign(new Error('x'), { message: { code: 7 } }), ''],
    ['a symbol', Symbol('odd'), 'Symbol(odd)'],
  ])('may be thrown as anything: %s', async (_, thrown, words) => {
    const { run } = await runOf(() => {
      throw thrown
    })
    expect(run).toMatchObject({ status: 'FAILED', reason: 'error' })
    expect(run.error).toContain(words)
  })

  test('keeps a bounded part of a long message', async () => {
    const { run } = await runOf(() => {
      throw new Error('e'.repeat(100_000))
    })
    expect(run.error).toHaveLength(8192)
    expect(run.error?.endsWith('…')).toBe(true)
    expect(run.stack?.length).toBeLessThanOrEqual(16_384)
  })
})

test('a handler that skips ends SKIPPED with its reason, and is not tried again', async () => {
  const { run, settled } = await runOf(({ skip }) => skip('no new mail'))
  expect(run).toMatchObject({ status: 'SKIPPED', reason: null, error: 'no new mail', result: null, willRetry: false })
  expect(settled).toMatchObject({ outcome: 'SKIPPED', error: 'no new mail', attempts: 1 })
})

test('the handler is given all that its context promises', async () => {
  const contexts: Record<string, unknown>[] = []
  const work = defineJob({
    type: 'work',
    params: z.object({ n: z.number() }),
    run: ({ signal, log, progress, addArtifact, enqueue, skip, ...facts }) => {
      contexts.push({ ...facts, functions: [log.debug, progress, addArtifact, enqueue, skip].map((f) => typeof f) })
      expect(signal.aborted).toBe(false)
      if (facts.attempt === 1) throw new Error('again')
    },
  })
  await using stage = await openTestScheduler({ jobs: [work] })
  const { jobId } = await stage.scheduler.enqueue(work, { n: 4 })
  await stage.advance('10s')

  const { items } = await stage.scheduler.getChain(jobId)
  const runs = await Promise.all(items.map((item) => stage.scheduler.findRunOfJob(item.jobId)))
  const functions = ['function', 'function', 'function', 'function', 'function']
  expect(contexts).toEqual(
    items.map((item, index) => ({
      params: { n: 4 },
      jobId: item.jobId,
      chainId: jobId,
      runId: runs[index]?.runId,
      attempt: index + 1,
      parents: {},
      functions,
    })),
  )
})

test('the Run remembers its params, its times and its node', async () => {
  const gate = newGate()
  const work = defineJob({ type: 'work', run: () => gate.passed })
  await using stage = await openTestScheduler({ jobs: [work] })
  const { scheduler, clock } = stage
  const startedAt = clock.now()
  const handle = await scheduler.enqueue(work, { any: 'json' })
  await stage.runUntilIdle()

  expect(await scheduler.findRunOfJob(handle.jobId)).toMatchObject({ status: null, finishedAt: null, durationMs: null })

  await stage.advance('1500ms')
  gate.open()
  await handle.settled()
  expect(await scheduler.findRunOfJob(handle.jobId)).toMatchObject({
    jobId: handle.jobId,
    chainId: handle.jobId,
    type: 'work',
    attempt: 1,
    paramsSnapshot: { any: 'json' },
    nodeId: scheduler.nodeId,
    startedAt,
    finishedAt: startedAt + 1500,
    durationMs: 1500,
  })
  expect(await handle.get()).toMatchObject({ startedAt, finishedAt: startedAt + 1500 })
})

test('a Job that has not started has no Run', async () => {
  const work = defineJob({ type: 'work', run: () => null })
  await using stage = await openTestScheduler({ jobs: [work] })
  const { jobId } = await stage.scheduler.enqueue(work, null, { delayMs: 1000 })
  expect(await stage.scheduler.findRunOfJob(jobId)).toBeNull()
})

test('params that the handler no longer accepts end the Run before its body begins', async () => {
  let executed = 0
  const strict = defineJob({ type: 'work', params: z.object({ n: z.number() }), run: () => void executed++ })
  const loose = defineJob({ type: 'work', run: () => null })
  const store = newSharedStore()
  const before = await openTestScheduler({ store, jobs: [loose] })
  const { jobId } = await before.scheduler.enqueue(loose, { n: 'seven' }, { delayMs: 1000 })
  await before.close()

  await using stage = await openTestScheduler({ store, jobs: [strict] })
  await stage.advance('1h')

  expect(executed).toBe(0)
  const run = await stage.scheduler.findRunOfJob(jobId)
  expect(run).toMatchObject({ status: 'FAILED', reason: 'invalid-params', willRetry: false })
  expect(run?.error).toContain('params.n')
})

test('a schema that itself throws fails the Run instead of leaving it open', async () => {
  let isBroken = false
  const schema = z.unknown().refine(() => {
    if (isBroken) throw new Error('the schema has a bug')
    return true
  })
  const work = defineJob({ type: 'work', params: schema, retry: { maxRetries: 0 }, run: () => null })
  await using stage = await openTestScheduler({ jobs: [work] })
  const { jobId } = await stage.scheduler.enqueue(work, {}, { delayMs: 1000 })
  isBroken = true
  await stage.advance('1s')
  expect(await stage.scheduler.findRunOfJob(jobId)).toMatchObject({
    status: 'FAILED',
    error: expect.stringContaining('the schema has a bug'),
  })
})

describe('progress', () => {
  test('is written about once a second while the body executes, and told to listeners', async () => {
    const gates = [newGate(), newGate(), newGate()] as const
    const work = defineJob({
      type: 'work',
      run: async ({ progress }) => {
        progress(0.1, 'began')
        progress(0.2)
        await gates[0].passed
        progress(0.7, 'nearly')
        await gates[1].passed
        progress(1)
        await gates[2].passed
      },
    })
    await using stage = await openTestScheduler({ jobs: [work] })
    const handle = await stage.scheduler.enqueue(work, null)
    const heard: Progress[] = []
    const stopListening = handle.onProgress((progress) => heard.push(progress))
    const stored = async () => (await stage.scheduler.findRunOfJob(handle.jobId))?.progress

    await stage.runUntilIdle()
    expect(await stored()).toBeNull()
    await stage.advance('1s')
    expect(await stored()).toEqual({ fraction: 0.2, message: null })

    gates[0].open()
    await stage.advance('1s')
    expect(await stored()).toEqual({ fraction: 0.7, message: 'nearly' })

    // A store may hold back the newest events for a moment.
    await vi.waitFor(() => expect(heard).toHaveLength(2), { timeout: 10_000, interval: 5 })
    stopListening()
    gates[1].open()
    await stage.advance('1s')
    gates[2].open()
    await handle.settled()
    expect(await stored()).toEqual({ fraction: 1, message: null })
    expect(heard).toEqual([
      { fraction: 0.2, message: null },
      { fraction: 0.7, message: 'nearly' },
    ])
  })

  test('of a quick body is written with its outcome', async () => {
    const { run } = await runOf(({ progress }) => progress(0.5, 'half'))
    expect(run.progress).toEqual({ fraction: 0.5, message: 'half' })
  })

  test.each([-0.1, 1.1, Number.NaN, '1'])('of %s is a mistake of the handler', async (fraction) => {
    const { run } = await runOf(({ progress }) => progress(fraction as number))
    expect(run).toMatchObject({ status: 'FAILED', error: expect.stringContaining('a number from 0 to 1') })
  })
})

describe('logs', () => {
  test('are kept in order, with level, time and fields', async () => {
    const { logs, startedAt } = await runOf(({ log }) => {
      log.debug('one')
      log.info('two', { pages: 3, nested: { ok: true } })
      log.warn('three')
      log.error('four', { error: 'x' })
    })
    expect(logs).toEqual([
      { at: startedAt, level: 'debug', text: 'one', fields: null },
      { at: startedAt, level: 'info', text: 'two', fields: { pages: 3, nested: { ok: true } } },
      { at: startedAt, level: 'warn', text: 'three', fields: null },
      { at: startedAt, level: 'error', text: 'four', fields: { error: 'x' } },
    ])
  })

  test('can be read page by page, also while the body executes', async () => {
    const gate = newGate()
    const work = defineJob({
      type: 'work',
      run: async ({ log }) => {
        for (let line = 1; line <= 5; line++) log.info(`line ${line}`)
        await gate.passed
        log.info('line 6')
      },
    })
    await using stage = await openTestScheduler({ jobs: [work] })
    const handle = await stage.scheduler.enqueue(work, null)
    await stage.advance('1s')
    const { runId } = (await stage.scheduler.findRunOfJob(handle.jobId)) ?? { runId: '' }
    const texts = async (options: { after?: number; limit?: number }) =>
      (await stage.scheduler.readLogs(runId, options)).map(({ text }) => text)

    expect(await texts({ limit: 2 })).toEqual(['line 1', 'line 2'])
    expect(await texts({ after: 3 })).toEqual(['line 4', 'line 5'])
    gate.open()
    await handle.settled()
    expect(await texts({ after: 4 })).toEqual(['line 5', 'line 6'])
  })

  test('are capped: 10,000 lines, 8,192 characters each; the rest is counted', async () => {
    const { run, logs } = await runOf(({ log }) => {
      log.info('x'.repeat(20_000))
      for (let line = 0; line < 10_004; line++) log.info(`line ${line}`)
    })
    expect(logs).toHaveLength(10_000)
    expect(logs[0]?.text).toHaveLength(8192)
    expect(run.logsDropped).toBe(5)
  })

  test('count the cap over the whole Run, also when it was written in parts', async () => {
    const gate = newGate()
    const work = defineJob({
      type: 'work',
      run: async ({ log }) => {
        for (let line = 0; line < 9_999; line++) log.info(`line ${line}`)
        await gate.passed
        for (let line = 0; line < 3; line++) log.info(`more ${line}`)
      },
    })
    await using stage = await openTestScheduler({ jobs: [work] })
    const handle = await stage.scheduler.enqueue(work, null)
    await stage.advance('1s')
    gate.open()
    await handle.settled()
    const run = await stage.scheduler.findRunOfJob(handle.jobId)
    expect(run?.logsDropped).toBe(2)
    expect(await stage.scheduler.readLogs(run?.runId ?? '')).toHaveLength(10_000)
  })

  test('never fail their handler: fields that JSON cannot hold are named, large ones cut', async () => {
    const { run, logs } = await runOf(({ log }) => {
      log.info('odd', { big: 10n })
      log.info('large', { text: 'y'.repeat(40_000) })
    })
    expect(run.status).toBe('COMPLETED')
    expect(JSON.stringify(logs[0]?.fields)).toContain('BigInt')
    expect(JSON.stringify(logs[1]?.fields).length).toBeLessThan(20_000)
  })

  test('that come after the end of the Run are dropped and counted', async () => {
    const gate = newGate()
    const work = defineJob({
      type: 'work',
      timeoutMs: 1000,
      retry: { maxRetries: 0 },
      run: async ({ log }) => {
        log.info('in time')
        await gate.passed
        log.info('too late')
        log.info('too late as well')
      },
    })
    await using stage = await openTestScheduler({ jobs: [work] })
    const { jobId } = await stage.scheduler.enqueue(work, null)
    await stage.advance('1s')
    gate.open()
    await stage.advance('5s')

    const run = await stage.scheduler.findRunOfJob(jobId)
    expect((await stage.scheduler.readLogs(run?.runId ?? '')).map(({ text }) => text)).toEqual(['in time'])
    expect(run?.logsDropped).toBe(2)
  })
})

describe('artifacts', () => {
  test('are recorded by their resolved path, with a name, and never opened', async () => {
    const { run } = await runOf(({ addArtifact }) => {
      addArtifact('no-such-folder/report.pdf')
      addArtifact('/also/not/there.png', { name: 'the picture' })
    })
    expect(run.artifacts).toEqual([
      { name: 'report.pdf', path: resolve('no-such-folder/report.pdf') },
      { name: 'the picture', path: '/also/not/there.png' },
    ])
  })

  test('are at most 1,000 per Run', async () => {
    const { run } = await runOf(({ addArtifact }) => {
      for (let index = 0; index < 1_010; index++) addArtifact(`/a/${index}`)
    })
    expect(run.artifacts).toHaveLength(1000)
  })

  test('need a path', async () => {
    const { run } = await runOf(({ addArtifact }) => addArtifact(''))
    expect(run).toMatchObject({ status: 'FAILED', error: expect.stringContaining('path') })
  })
})
