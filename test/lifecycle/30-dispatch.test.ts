// Which Jobs start, and how many at once. Nothing is prefetched: a Job is claimed when its body can begin.
import { type ConcurrencyPolicy, defineJob, type JobType, openScheduler, type Scheduler } from 'pawl'
import { describe, expect, test, vi } from 'vitest'
import { type Gate, listeningLogger, newGate, newSharedStore, newStore, openTestScheduler, refusalOf } from './stage.ts'

const PATIENCE = { timeout: 10_000, interval: 2 }

/** A type whose bodies wait until they are let go, so that a test can see how many execute at once. */
function waitingType(type: string, options: { concurrency?: number; resources?: string[] } = {}) {
  const gates: Gate[] = []
  const job = defineJob({
    type,
    ...options,
    run: async () => {
      const gate = newGate()
      gates.push(gate)
      most = Math.max(most, ++executing)
      await gate.passed
      executing--
    },
  })
  let executing = 0
  let most = 0
  return {
    job,
    executing: () => executing,
    most: () => most,
    letOneGo: () => gates.shift()?.open(),
    letAllGo: () => gates.splice(0).forEach((gate) => gate.open()),
  }
}

function enqueueTimes(scheduler: Scheduler, type: JobType<null>, count: number) {
  return scheduler.enqueueMany(Array.from({ length: count }, () => ({ type, params: null })))
}

describe('concurrency of one scheduler', () => {
  test('is 1 unless it is asked for more', async () => {
    const { job, executing, letAllGo } = waitingType('work')
    await using stage = await openTestScheduler({ jobs: [job] })
    await enqueueTimes(stage.scheduler, job, 3)
    await stage.runUntilIdle()

    expect(executing()).toBe(1)
    expect(stage.scheduler.executing).toHaveLength(1)
    expect(await stage.scheduler.listQueue()).toHaveLength(2)
    letAllGo()
  })

  test('lets N bodies execute at once, and each that ends makes room for the next', async () => {
    const { job, executing, most, letOneGo, letAllGo } = waitingType('work')
    await using stage = await openTestScheduler({ jobs: [job], concurrency: 3 })
    await enqueueTimes(stage.scheduler, job, 5)
    await stage.runUntilIdle()
    expect(executing()).toBe(3)

    letOneGo()
    await stage.runUntilIdle()
    expect(executing()).toBe(3)
    expect(await stage.scheduler.listQueue()).toHaveLength(1)

    letAllGo()
    await stage.runUntilIdle()
    letAllGo()
    await stage.runUntilIdle()
    expect(executing()).toBe(0)
    expect(most()).toBe(3)
  })

  test('executes a thousand Jobs, each once', async () => {
    const executed: string[] = []
    const quick = defineJob({ type: 'quick', run: ({ jobId }) => void executed.push(jobId) })
    await using stage = await openTestScheduler({ jobs: [quick], concurrency: 20 })
    const handles = await enqueueTimes(stage.scheduler, quick, 1000)
    await stage.runUntilIdle()
    expect(executed.toSorted()).toEqual(handles.map(({ jobId }) => jobId).toSorted())
  })

  test('claims only the types it handles', async () => {
    const store = newSharedStore()
    const a = waitingType('a')
    const b = waitingType('b')
    await using both = await openScheduler({ store, jobs: [a.job, b.job] })
    await both.enqueue(a.job, null, { priority: 9 })
    const forB = await both.enqueue(b.job, null)

    await using stage = await openTestScheduler({ store, jobs: [b.job] })
    await stage.runUntilIdle()

    expect(stage.scheduler.executing).toEqual([forB.jobId])
    b.letAllGo()
  })
})

describe('limits of the whole store', () => {
  test('of a type hold whatever the concurrency, and other types go past', async () => {
    const rare = waitingType('rare', { concurrency: 2 })
    const common = waitingType('common')
    await using stage = await openTestScheduler({ jobs: [rare.job, common.job], concurrency: 10 })
    await enqueueTimes(stage.scheduler, rare.job, 5)
    await enqueueTimes(stage.scheduler, common.job, 3)
    await stage.runUntilIdle()

    expect([rare.executing(), common.executing()]).toEqual([2, 3])

    rare.letOneGo()
    await stage.runUntilIdle()
    expect(rare.executing()).toBe(2)
    rare.letAllGo()
    common.letAllGo()
    await stage.runUntilIdle()
    rare.letAllGo()
    expect(rare.most()).toBe(2)
  })

  test('of a resource hold across the types that take it', async () => {
    const train = waitingType('train', { resources: ['gpu'] })
    const infer = waitingType('infer', { resources: ['gpu', 'disk'] })
    const plain = waitingType('plain')
    await using stage = await openTestScheduler({
      jobs: [train.job, infer.job, plain.job],
      concurrency: 10,
      resources: { gpu: 2, disk: 1 },
    })
    await enqueueTimes(stage.scheduler, infer.job, 2)
    await enqueueTimes(stage.scheduler, train.job, 2)
    await enqueueTimes(stage.scheduler, plain.job, 1)
    await stage.runUntilIdle()
    // The first `infer` takes gpu and disk; the second waits for the disk, and a `train` behind it takes the other gpu.
    expect([infer.executing(), train.executing(), plain.executing()]).toEqual([1, 1, 1])

    infer.letAllGo()
    await stage.runUntilIdle()
    expect([infer.executing(), train.executing()]).toEqual([1, 1])

    for (const type of [infer, train, plain, train]) {
      type.letAllGo()
      await stage.runUntilIdle()
    }
    expect(await stage.scheduler.listQueue()).toEqual([])
  })

  test('hold on two schedulers together', async () => {
    const store = newSharedStore()
    const left = waitingType('work', { resources: ['gpu'] })
    const right = waitingType('work', { resources: ['gpu'] })
    const options = { store, concurrency: 5, resources: { gpu: 3 } }
    await using one = await openScheduler({ ...options, jobs: [left.job] })
    await using two = await openScheduler({ ...options, jobs: [right.job] })
    const handles = await enqueueTimes(one, left.job, 12)
    await Promise.all([one.start(), two.start()])

    const together = () => left.executing() + right.executing()
    let most = 0
    const letGo = async () => {
      while ((await one.listQueue()).length > 0 || together() > 0) {
        await vi.waitFor(() => expect(together()).toBeGreaterThan(0), PATIENCE)
        most = Math.max(most, together())
        left.letOneGo()
        right.letOneGo()
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    await letGo()

    for (const handle of handles) expect((await handle.settled()).outcome).toBe('COMPLETED')
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(3)
  })

  test('`maxRunning` is the most of everything', async () => {
    const a = waitingType('a')
    const b = waitingType('b')
    await using stage = await openTestScheduler({ jobs: [a.job, b.job], concurrency: 10, maxRunning: 3 })
    await enqueueTimes(stage.scheduler, a.job, 2)
    await enqueueTimes(stage.scheduler, b.job, 4)
    await stage.runUntilIdle()
    expect([a.executing(), b.executing()]).toEqual([2, 1])
    for (let round = 0; round < 3; round++) {
      a.letAllGo()
      b.letAllGo()
      await stage.runUntilIdle()
    }
    expect(await stage.scheduler.listQueue()).toEqual([])
  })

  test('live in the store: a scheduler configured otherwise warns and obeys the stored ones', async () => {
    const store = newSharedStore()
    const work = waitingType('work', { concurrency: 4, resources: ['gpu'] })
    const first = { store, jobs: [work.job], maxRunning: 9, resources: { gpu: 1 } }
    await (await openScheduler(first)).close()

    const logger = listeningLogger()
    const other = waitingType('work', { concurrency: 5, resources: ['gpu'] })
    await using stage = await openTestScheduler({
      store,
      jobs: [other.job],
      maxRunning: 8,
      resources: { gpu: 7 },
      concurrency: 10,
      logger,
    })
    await enqueueTimes(stage.scheduler, other.job, 5)
    await stage.runUntilIdle()

    expect(logger.told.map(({ level, fields }) => [level, fields])).toEqual([
      ['warn', { limit: 'running', configured: 8, inForce: 9 }],
      ['warn', { limit: 'resource:gpu', configured: 7, inForce: 1 }],
      ['warn', { limit: 'type:work', configured: 5, inForce: 4 }],
    ])
    expect(other.executing()).toBe(1)
    expect(await stage.scheduler.listLimits()).toEqual([
      { name: 'resource:gpu', max: 1 },
      { name: 'running', max: 9 },
      { name: 'type:work', max: 4 },
    ])
    other.letAllGo()
  })

  test('can be changed for everybody while work goes on, and removed', async () => {
    const work = waitingType('work', { concurrency: 1 })
    await using stage = await openTestScheduler({ jobs: [work.job], concurrency: 10 })
    await enqueueTimes(stage.scheduler, work.job, 6)
    await stage.runUntilIdle()
    expect(work.executing()).toBe(1)

    await stage.scheduler.setLimit('type:work', 3)
    await stage.advance('5s')
    expect(work.executing()).toBe(3)

    await stage.scheduler.setLimit('type:work', null)
    await stage.advance('5s')
    expect(work.executing()).toBe(6)
    expect(await stage.scheduler.listLimits()).toEqual([])
    work.letAllGo()
  })

  test('refuse a resource of which nobody said how many there are', async () => {
    const { job } = waitingType('work', { resources: ['gpu'] })
    const refusal = await refusalOf(openScheduler({ store: newStore(), jobs: [job] }))
    expect(refusal).toMatchObject({ code: 'unknown_resource', path: 'resources.gpu' })
    expect(refusal.message).toContain("resources: { 'gpu': 1 }")
  })
})

describe('a concurrency policy of your own', () => {
  test('is asked once per claim, and can hold types back', async () => {
    const questions: { freePlaces: number; executing: number }[] = []
    const oneBigAtATime: ConcurrencyPolicy = {
      decideClaims({ freePlaces, executing, types }) {
        questions.push({ freePlaces, executing: executing.get('big') ?? 0 })
        return new Map(types.map((type) => [type, type === 'big' ? 1 - (executing.get('big') ?? 0) : freePlaces]))
      },
    }
    const big = waitingType('big')
    const small = waitingType('small')
    await using stage = await openTestScheduler({
      jobs: [big.job, small.job],
      concurrency: 4,
      concurrencyPolicy: oneBigAtATime,
    })
    await enqueueTimes(stage.scheduler, big.job, 3)
    await enqueueTimes(stage.scheduler, small.job, 2)
    await stage.runUntilIdle()
    expect([big.executing(), small.executing()]).toEqual([1, 2])

    big.letAllGo()
    await stage.runUntilIdle()
    expect(big.executing()).toBe(1)
    expect(big.most()).toBe(1)
    expect(questions.every(({ freePlaces }) => freePlaces >= 1 && freePlaces <= 4)).toBe(true)
    expect(questions.length).toBeLessThan(20)
    for (const type of [big, small]) {
      type.letAllGo()
      await stage.runUntilIdle()
    }
    big.letAllGo()
  })

  test('cannot exceed the free places, whatever it says', async () => {
    const work = waitingType('work')
    await using stage = await openTestScheduler({
      jobs: [work.job],
      concurrency: 2,
      concurrencyPolicy: { decideClaims: () => new Map([['work', 1000]]) },
    })
    await enqueueTimes(stage.scheduler, work.job, 5)
    await stage.runUntilIdle()
    expect(work.executing()).toBe(2)
    work.letAllGo()
  })

  test('that throws stops no other claim: it is told, and asked again', async () => {
    const logger = listeningLogger()
    let isBroken = true
    const work = waitingType('work')
    await using stage = await openTestScheduler({
      jobs: [work.job],
      logger,
      concurrencyPolicy: {
        decideClaims({ types }) {
          if (isBroken) throw new Error('a policy with a bug')
          return new Map(types.map((type) => [type, 1]))
        },
      },
    })
    await enqueueTimes(stage.scheduler, work.job, 1)
    await stage.runUntilIdle()
    expect(work.executing()).toBe(0)
    expect(logger.told[0]).toMatchObject({ level: 'error', message: expect.stringContaining('could not be claimed') })

    isBroken = false
    await stage.advance('1s')
    expect(work.executing()).toBe(1)
    work.letAllGo()
  })
})

test('a Job that another scheduler on the same file accepts starts without a poll', async () => {
  const store = newSharedStore()
  const work = waitingType('work')
  await using worker = await openScheduler({ store, jobs: [work.job] })
  await worker.start()
  await using client = await openScheduler({ store })

  const handle = await client.enqueue('work', null)
  await vi.waitFor(() => expect(work.executing()).toBe(1), PATIENCE)

  expect((await handle.get()).status).toBe('RUNNING')
  work.letAllGo()
  await handle.settled()
})
