// The tour of Pawl begins here: read these files in the order of their numbers.
//
// A Job is an accepted request to execute a type once. This file is about accepting it.
import { defineJob, openScheduler } from 'pawl'
import { SettableClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  listeningLogger,
  namesOf,
  newGate,
  newSharedStore,
  newStore,
  openTestScheduler,
  position,
  refusalOf,
} from './stage.ts'

const story = defineJob({
  type: 'story',
  params: z.object({ genre: z.string(), length: z.number().int().default(1200) }),
  retry: { maxRetries: 0 },
  run: async ({ params }) => ({ text: `A ${params.genre} story of ${params.length} words` }),
})

describe('one Job', () => {
  test('is accepted, executed and remembered', async () => {
    await using stage = await openTestScheduler({ jobs: [story] })
    const handle = await stage.scheduler.enqueue(story, { genre: 'horror' }, { priority: 5, name: 'for the weekend' })

    const settled = await handle.settled()

    expect(settled).toEqual({
      outcome: 'COMPLETED',
      result: { text: 'A horror story of 1200 words' },
      error: null,
      reason: null,
      attempts: 1,
      jobId: handle.jobId,
    })
    expect(await handle.get()).toMatchObject({ status: 'FINISHED', outcome: 'COMPLETED', name: 'for the weekend' })
  })

  test('stores what the caller asked for, and what the schema and the type add', async () => {
    const store = newSharedStore()
    await using scheduler = await openScheduler({ store, jobs: [story] })

    const handle = await scheduler.enqueue(
      story,
      { genre: 'gothic' },
      {
        priority: -3,
        name: 'a',
        tags: ['night', 'draft'],
        createdBy: 'ada',
        timeoutMs: 5000,
        retry: { maxRetries: 1 },
      },
    )

    expect(handle.existed).toBe(false)
    expect(await handle.get()).toMatchObject({
      jobId: handle.jobId,
      chainId: handle.jobId,
      type: 'story',
      status: 'QUEUED',
      hold: null,
      outcome: null,
      params: { genre: 'gothic', length: 1200 },
      priority: -3,
      position: position(100),
      attempt: 1,
      retryOf: null,
      tags: ['night', 'draft'],
      createdBy: 'ada',
      startedAt: null,
      finishedAt: null,
      policy: { timeoutMs: 5000, retry: { maxRetries: 1, maxCrashRetries: 3 }, resources: [] },
    })
  })

  test('survives the process that accepted it: any later one on the file executes it', async () => {
    const store = newSharedStore()
    const first = await openScheduler({ store, jobs: [story] })
    const { jobId } = await first.enqueue(story, { genre: 'sea' })
    await first.close()

    await using second = await openScheduler({ store, jobs: [story] })
    await second.start()
    await second.stop()

    expect(await second.getJob(jobId)).toMatchObject({ status: 'FINISHED', outcome: 'COMPLETED' })
  })

  test('can be accepted by name where no handler is at hand, once the type is known on the store', async () => {
    const store = newSharedStore()
    await (await openScheduler({ store, jobs: [story] })).close()
    await using client = await openScheduler({ store })

    const { jobId } = await client.enqueue('story', { genre: 'sea' })

    expect(await client.getJob(jobId)).toMatchObject({ type: 'story', policy: { retry: { maxRetries: 0 } } })
    expect(await refusalOf(client.enqueue('sotry', {}))).toMatchObject({ code: 'unknown_type' })
  })

  test('gets back its params as the schema reads them, also from a schema that changes them', async () => {
    const seen: unknown[] = []
    const remind = defineJob({
      type: 'remind',
      params: z.object({ at: z.string().transform((text) => new Date(text)) }),
      run: ({ params }) => void seen.push(params.at),
    })
    await using stage = await openTestScheduler({ jobs: [remind] })

    await stage.scheduler.enqueue(remind, { at: '2026-03-01T00:00:00.000Z' })
    await stage.runUntilIdle()

    expect(seen).toEqual([new Date('2026-03-01T00:00:00.000Z')])
  })
})

describe('many Jobs', () => {
  test('are accepted in the given order, each with a handle of its own', async () => {
    await using scheduler = await openScheduler({ store: newStore(), jobs: [story] })

    const handles = await scheduler.enqueueMany([
      { type: story, params: { genre: 'a' }, name: 'a' },
      { type: story, params: { genre: 'b' }, name: 'b', priority: 1 },
      { type: 'story', params: { genre: 'c' }, name: 'c' },
    ])

    expect(handles.map(({ existed }) => existed)).toEqual([false, false, false])
    expect(namesOf(await scheduler.listQueue())).toEqual(['b', 'a', 'c'])
    expect((await handles[2].get()).name).toBe('c')
  })

  test('are accepted all or not at all, and the refusal says which one is wrong', async () => {
    await using scheduler = await openScheduler({ store: newStore(), jobs: [story] })
    await scheduler.enqueue(story, { genre: 'first' }, { businessKey: 'order-7', name: 'holder' })

    const invalid = await refusalOf(
      scheduler.enqueueMany([
        { type: story, params: { genre: 'good' } },
        { type: 'story', params: { genre: 7 } },
      ]),
    )
    const taken = await refusalOf(
      scheduler.enqueueMany([
        { type: story, params: { genre: 'good' } },
        { type: story, params: { genre: 'good' } },
        { type: story, params: { genre: 'good' }, businessKey: 'order-7' },
      ]),
    )

    expect(invalid).toMatchObject({ code: 'invalid_params', path: 'jobs.1.params.genre', details: { index: 1 } })
    expect(taken).toMatchObject({ code: 'business_key_taken', path: 'jobs.2.businessKey', details: { index: 2 } })
    expect(taken.message).toContain('Nothing was stored')
    expect(namesOf(await scheduler.listQueue())).toEqual(['holder'])
  })

  test('may be none', async () => {
    await using scheduler = await openScheduler({ store: newStore(), jobs: [story] })
    expect(await scheduler.enqueueMany([])).toEqual([])
  })
})

describe('a delayed Job', () => {
  test('waits until its instant and starts exactly then', async () => {
    await using stage = await openTestScheduler({ jobs: [story] })
    const { scheduler, clock } = stage
    const now = clock.now()
    const later = await scheduler.enqueue(story, { genre: 'a' }, { delayMs: 90_000 })
    const atDate = await scheduler.enqueue(story, { genre: 'b' }, { runAt: new Date(now + 60_000) })
    const past = await scheduler.enqueue(story, { genre: 'c' }, { runAt: now - 5 })

    await stage.runUntilIdle()
    expect(await later.get()).toMatchObject({ status: 'QUEUED', hold: 'delayed', runAt: now + 90_000 })
    expect(await past.get()).toMatchObject({ status: 'FINISHED', startedAt: now })

    await stage.advance('10m')
    expect((await later.get()).startedAt).toBe(now + 90_000)
    expect((await atDate.get()).startedAt).toBe(now + 60_000)
  })
})

describe('an idempotency key', () => {
  test('makes one Job however often it is used, and answers with the first', async () => {
    await using stage = await openTestScheduler({ jobs: [story] })
    const { scheduler } = stage
    const first = await scheduler.enqueue(story, { genre: 'a', length: 5 }, { idempotencyKey: 'request-1' })
    await stage.runUntilIdle()

    const again = await scheduler.enqueue('story', { length: 5, genre: 'a' }, { idempotencyKey: 'request-1' })

    expect(again).toMatchObject({ jobId: first.jobId, existed: true })
    expect(await again.settled()).toMatchObject({ outcome: 'COMPLETED', result: { text: 'A a story of 5 words' } })
    expect((await scheduler.listJobs()).items).toHaveLength(1)
  })

  test('compares what was asked for, not what the schema makes of it', async () => {
    let made = 0
    const numbered = defineJob({
      type: 'numbered',
      params: z.object({ number: z.number().default(() => ++made) }),
      run: () => null,
    })
    await using scheduler = await openScheduler({ store: newStore(), jobs: [numbered] })
    const first = await scheduler.enqueue(numbered, {}, { idempotencyKey: 'k' })
    const second = await scheduler.enqueue(numbered, {}, { idempotencyKey: 'k' })
    expect(second).toMatchObject({ jobId: first.jobId, existed: true })
  })

  test('is refused with other params or another type, naming the first Job', async () => {
    const other = defineJob({ type: 'other', run: () => null })
    await using scheduler = await openScheduler({ store: newStore(), jobs: [story, other] })
    const { jobId } = await scheduler.enqueue(story, { genre: 'a' }, { idempotencyKey: 'k' })

    for (const call of [
      () => scheduler.enqueue(story, { genre: 'b' }, { idempotencyKey: 'k' }),
      () => scheduler.enqueue(other, { genre: 'a', length: 1200 }, { idempotencyKey: 'k' }),
    ]) {
      expect(await refusalOf(call)).toMatchObject({ code: 'idempotency_key_reused', details: { jobId } })
    }
    expect((await scheduler.listJobs()).items).toHaveLength(1)
  })

  test('holds among the items of one list and among calls made at the same time', async () => {
    await using scheduler = await openScheduler({ store: newStore(), jobs: [story] })
    const item = { type: story, params: { genre: 'a' }, idempotencyKey: 'k' }

    const [one, two] = await scheduler.enqueueMany([item, item])
    const atOnce = await Promise.all(
      Array.from({ length: 20 }, () => scheduler.enqueue(story, { genre: 'a' }, { idempotencyKey: 'k' })),
    )

    expect([one.existed, two.existed]).toEqual([false, true])
    expect(new Set([one, two, ...atOnce].map(({ jobId }) => jobId)).size).toBe(1)
    expect((await scheduler.listJobs()).items).toHaveLength(1)
  })
})

describe('a business key', () => {
  test('belongs to one chain until it is settled, retries included', async () => {
    const flaky = defineJob({
      type: 'flaky',
      run: ({ attempt }) => {
        if (attempt === 1) throw new Error('the first time fails')
        return attempt
      },
    })
    await using stage = await openTestScheduler({ jobs: [flaky] })
    const { scheduler } = stage
    const first = await scheduler.enqueue(flaky, null, { businessKey: 'invoice-9' })
    await stage.runUntilIdle()

    const refusal = await refusalOf(scheduler.enqueue(flaky, null, { businessKey: 'invoice-9' }))
    expect(refusal).toMatchObject({ code: 'business_key_taken', path: 'businessKey', details: { jobId: first.jobId } })

    await stage.advance('10s')
    expect(await first.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 2 })
    const second = await scheduler.enqueue(flaky, null, { businessKey: 'invoice-9' })
    expect(second.existed).toBe(false)
  })

  test('is free again after a cancel', async () => {
    await using scheduler = await openScheduler({ store: newStore(), jobs: [story] })
    const first = await scheduler.enqueue(story, { genre: 'a' }, { businessKey: 'k' })
    await first.cancel()
    await scheduler.enqueue(story, { genre: 'b' }, { businessKey: 'k' })
  })

  test('stays taken while a body whose outcome is known still executes', async () => {
    const gate = newGate()
    const stubborn = defineJob({
      type: 'stubborn',
      timeoutMs: 1000,
      retry: { maxRetries: 0 },
      run: () => gate.passed,
    })
    await using stage = await openTestScheduler({ jobs: [stubborn] })
    const { scheduler } = stage
    const first = await scheduler.enqueue(stubborn, null, { businessKey: 'k' })
    await stage.advance('2s')

    expect(await first.settled()).toMatchObject({ outcome: 'FAILED', reason: 'timeout' })
    expect(await refusalOf(scheduler.enqueue(stubborn, null, { businessKey: 'k' }))).toMatchObject({
      code: 'business_key_taken',
    })

    gate.open()
    await stage.runUntilIdle()
    await scheduler.enqueue(stubborn, null, { businessKey: 'k' })
  })
})

describe('follow-ups of a handler', () => {
  const step = defineJob({ type: 'step', params: z.object({ of: z.string() }), run: ({ params }) => params.of })

  test('are committed together with its COMPLETED outcome, and not before', async () => {
    const asked = newGate()
    const gate = newGate()
    const split = defineJob({
      type: 'split',
      run: async ({ enqueue, jobId }) => {
        const one = await enqueue(step, { of: jobId }, { priority: 7, name: 'one' })
        const two = await enqueue('step', { of: jobId }, { name: 'two' })
        asked.open()
        await gate.passed
        return [one, two]
      },
    })
    await using stage = await openTestScheduler({ jobs: [split, step] })
    const { scheduler } = stage
    const handle = await scheduler.enqueue(split, null)
    await asked.passed
    await stage.runUntilIdle()
    expect((await scheduler.listJobs()).items).toHaveLength(1)

    gate.open()
    const settled = await handle.settled()

    const { items } = await scheduler.listJobs()
    expect(items.map(({ jobId }) => jobId)).toEqual(expect.arrayContaining(settled.result ?? []))
    expect(namesOf(items)).toEqual(['two', 'one', null])
    expect(items[1]).toMatchObject({ priority: 7, params: { of: handle.jobId } })
    await stage.runUntilIdle()
    expect(await scheduler.listQueue()).toEqual([])
  })

  test.each([
    ['throws', () => Promise.reject(new Error('after all not'))],
    ['skips', (skip: (reason: string) => unknown) => skip('after all not')],
    ['returns what JSON cannot hold', () => 10n],
  ])('do not exist when the handler %s afterwards', async (_, end) => {
    const split = defineJob({
      type: 'split',
      retry: { maxRetries: 0 },
      run: async ({ enqueue, skip }): Promise<unknown> => {
        await enqueue(step, { of: 'nothing' })
        return end(skip)
      },
    })
    await using stage = await openTestScheduler({ jobs: [split, step] })
    const handle = await stage.scheduler.enqueue(split, null)

    expect((await handle.settled()).outcome).not.toBe('COMPLETED')

    expect((await stage.scheduler.listJobs()).items).toHaveLength(1)
  })

  test('do not exist when the handler finishes after its timeout', async () => {
    const gate = newGate()
    const split = defineJob({
      type: 'split',
      timeoutMs: 1000,
      retry: { maxRetries: 0 },
      run: async ({ enqueue }) => {
        await enqueue(step, { of: 'nothing' })
        await gate.passed
      },
    })
    await using stage = await openTestScheduler({ jobs: [split, step] })
    await stage.scheduler.enqueue(split, null)
    await stage.advance('2s')
    gate.open()
    await stage.runUntilIdle()
    expect((await stage.scheduler.listJobs()).items).toHaveLength(1)
  })

  test('are dropped and told when their key is taken; COMPLETED stands', async () => {
    const logger = listeningLogger()
    const split = defineJob({
      type: 'split',
      run: async ({ enqueue }) => {
        await enqueue(step, { of: 'a' }, { businessKey: 'taken' })
        await enqueue(step, { of: 'b' }, { name: 'kept' })
        return 'done'
      },
    })
    await using stage = await openTestScheduler({ jobs: [split, step], logger })
    const { scheduler } = stage
    await scheduler.enqueue(step, { of: 'holder' }, { businessKey: 'taken', delayMs: 60_000, name: 'holder' })

    const settled = await (await scheduler.enqueue(split, null, { name: 'split' })).settled()

    expect(settled).toMatchObject({ outcome: 'COMPLETED', result: 'done' })
    expect(namesOf((await scheduler.listJobs()).items)).toEqual(['kept', 'split', 'holder'])
    expect(logger.told).toEqual([
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('follow-up was dropped') }),
    ])
  })

  test('are checked at the door of the handler: a wrong one fails there', async () => {
    const split = defineJob({
      type: 'split',
      retry: { maxRetries: 0 },
      run: ({ enqueue }) => enqueue('step', { of: 7 }),
    })
    await using stage = await openTestScheduler({ jobs: [split, step] })
    const settled = await (await stage.scheduler.enqueue(split, null)).settled()
    expect(settled).toMatchObject({ outcome: 'FAILED', reason: 'error', error: expect.stringContaining('params.of') })
  })

  test('that nobody awaited count as well: a good one is committed, a refused one fails the Run', async () => {
    const store = newSharedStore()
    await (await openScheduler({ store, jobs: [story] })).close()
    const careless = defineJob({
      type: 'careless',
      params: z.object({ follow: z.string() }),
      retry: { maxRetries: 0 },
      run: ({ enqueue, params }) => {
        // Known on the store alone, so it has to be looked up while the handler goes on.
        void enqueue(params.follow, { genre: 'sea' })
      },
    })
    await using stage = await openTestScheduler({ store, jobs: [careless] })
    const { scheduler } = stage

    const good = await scheduler.enqueue(careless, { follow: 'story' })
    expect(await good.settled()).toMatchObject({ outcome: 'COMPLETED' })
    expect((await scheduler.listQueue()).map(({ type }) => type)).toEqual(['story'])

    const bad = await scheduler.enqueue(careless, { follow: 'sotry' })
    expect(await bad.settled()).toMatchObject({ outcome: 'FAILED', error: expect.stringContaining('sotry') })
    expect(await scheduler.listQueue()).toHaveLength(1)
  })

  test.each([
    ['checked at once', 'step', { of: 7 }, 'Invalid params'],
    ['looked up on the store first', 'sotry', {}, 'Unknown job type'],
  ])('that are refused are rejected, and a handler that catches it goes on: %s', async (_, type, params, words) => {
    const careful = defineJob({
      type: 'careful',
      retry: { maxRetries: 0 },
      run: ({ enqueue }) => enqueue(type, params).catch((error: Error) => `caught: ${error.message}`),
    })
    await using stage = await openTestScheduler({ jobs: [careful, step] })
    const settled = await (await stage.scheduler.enqueue(careful, null)).settled()
    expect(settled).toMatchObject({ outcome: 'COMPLETED', result: expect.stringContaining(`caught: ${words}`) })
  })
})

test('a type that only others handle is accepted with the policy it has there now', async () => {
  const store = newSharedStore()
  const clock = new SettableClock()
  const first = defineJob({ type: 'elsewhere', timeoutMs: 1000, run: () => null })
  await (await openScheduler({ store, jobs: [first], clock })).close()
  await using caller = await openScheduler({ store, clock })
  expect((await (await caller.enqueue('elsewhere', null)).get()).policy.timeoutMs).toBe(1000)

  const second = defineJob({ type: 'elsewhere', timeoutMs: 2000, run: () => null })
  await (await openScheduler({ store, jobs: [second], clock })).close()
  clock.set(clock.now() + 10_000)
  expect((await (await caller.enqueue('elsewhere', null)).get()).policy.timeoutMs).toBe(2000)
})
