// Jobs that depend on each other, through the public API, with real handlers on a virtual clock.
import { defineJob, NonRetryableError, openScheduler, type Scheduler } from 'pawl'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { storeKind } from '../stores/each-store.ts'
import { newSharedStore, newStore, openTestScheduler } from '../stores/package-stores.ts'
import { isSoundlyComposedStore } from './soundness.ts'

/** Returns its params. */
const echo = defineJob({ type: 'echo', params: z.string(), run: ({ params }) => params })

/** Returns what its parents returned. */
const collect = defineJob({ type: 'collect', run: ({ parents }) => parents })

const failing = defineJob({
  type: 'failing',
  run: () => {
    throw new NonRetryableError('no')
  },
})

/** Fails as often as its params say, then completes. */
const stubborn = defineJob({
  type: 'stubborn',
  params: z.number(),
  run: ({ params, attempt }) => {
    if (attempt <= params) throw new Error(`attempt ${attempt}`)
    return `attempt ${attempt}`
  },
})

const jobs = [echo, collect, failing, stubborn]

describe('a Job with `dependsOn`', () => {
  test('starts after its parents, and finds their results under the ids it named, in that order', async () => {
    await using stage = await openTestScheduler({ jobs, concurrency: 4 })
    const { scheduler } = stage
    const one = await scheduler.enqueue(echo, 'one', { delayMs: 1000 })
    const two = await scheduler.enqueue(echo, 'two')
    const child = await scheduler.enqueue(collect, null, { dependsOn: [two.jobId, one.jobId] })
    await stage.runUntilIdle()
    expect(await child.get()).toMatchObject({
      status: 'QUEUED',
      hold: 'dependencies',
      dependsOn: [two.jobId, one.jobId],
    })
    await stage.advance('1s')
    const { outcome, result } = await child.settled()
    expect(outcome).toBe('COMPLETED')
    expect(Object.entries(result as object)).toEqual([
      [two.jobId, 'two'],
      [one.jobId, 'one'],
    ])
  })

  test('waits for the retries of its parent, and then has the result of the last', async () => {
    await using stage = await openTestScheduler({ jobs })
    const parent = await stage.scheduler.enqueue(stubborn, 2)
    const child = await stage.scheduler.enqueue(collect, null, { dependsOn: [parent.jobId] })
    await stage.advance('29s')
    expect(await child.get()).toMatchObject({ hold: 'dependencies' })
    await stage.advance('1s')
    expect(await child.settled()).toMatchObject({ result: { [parent.jobId]: 'attempt 3' } })
  })

  test('is cancelled, runs, or waits when its parent fails, as it says', async () => {
    await using stage = await openTestScheduler({ jobs })
    const { scheduler } = stage
    const graph = await scheduler.enqueueGraph({
      parent: { type: failing, params: null },
      cancelled: { type: collect, params: null, dependsOn: ['parent'] },
      running: { type: collect, params: null, dependsOn: ['parent'], onParentFailure: 'run' },
      waiting: { type: collect, params: null, dependsOn: ['parent'], onParentFailure: 'wait' },
      behind: { type: collect, params: null, dependsOn: ['cancelled'] },
    })
    await stage.runUntilIdle()
    const error = `parent ${graph.parent.jobId} ended FAILED`
    expect(await graph.cancelled.settled()).toMatchObject({ outcome: 'CANCELLED', error })
    expect(await graph.running.settled()).toMatchObject({
      outcome: 'COMPLETED',
      result: { [graph.parent.jobId]: null },
    })
    expect(await graph.waiting.get()).toMatchObject({ status: 'QUEUED', hold: 'dependencies' })
    expect(await graph.behind.settled()).toMatchObject({ outcome: 'CANCELLED' })
  })

  test('in a thread or a process of its own has the results of its parents too', async () => {
    const module = new URL('./fixtures/collect.mjs', import.meta.url)
    const types = (['thread', 'process'] as const).map((isolation) =>
      defineJob({ type: `collect-${isolation}`, module, isolation }),
    )
    await using scheduler = await openScheduler({ store: newStore(), jobs: [...jobs, ...types] })
    await scheduler.start()
    const parent = await scheduler.enqueue(echo, 'hello')
    for (const type of types) {
      const child = await scheduler.enqueue(type, null, { dependsOn: [parent.jobId] })
      expect(await child.settled()).toMatchObject({ result: { [parent.jobId]: 'hello' } })
    }
  })

  test('may be a follow-up that depends on the handler’s own Job, or on another follow-up', async () => {
    const planner = defineJob({
      type: 'planner',
      run: async ({ enqueue, jobId }) => {
        const first = await enqueue(collect, null, { dependsOn: [jobId], name: 'first' })
        await enqueue(collect, null, { dependsOn: [first], name: 'second' })
        return 'planned'
      },
    })
    await using stage = await openTestScheduler({ jobs: [...jobs, planner] })
    const { jobId } = await stage.scheduler.enqueue(planner, null)
    await stage.runUntilIdle()
    const { items } = await stage.scheduler.listJobs({ type: 'collect' })
    const results = await Promise.all(items.map(({ jobId: id }) => stage.scheduler.findRunOfJob(id)))
    const [second, first] = results
    expect(first?.result).toEqual({ [jobId]: 'planned' })
    expect(second?.result).toEqual({ [items[1]?.jobId as string]: { [jobId]: 'planned' } })
  })

  test('tells when it is released', async () => {
    await using stage = await openTestScheduler({ jobs })
    const { scheduler } = stage
    const released: string[] = []
    scheduler.on('job.released', ({ jobId }) => void released.push(jobId))
    // One that is not due yet: a parent that had ended when its child is accepted would have nothing to release.
    const parent = await scheduler.enqueue(echo, 'a', { delayMs: 1000 })
    const child = await scheduler.enqueue(collect, null, { dependsOn: [parent.jobId] })
    await stage.advance('1s')
    // On PostgreSQL events wait for older transactions, also those of other tests.
    await vi.waitFor(() => expect(released).toEqual([child.jobId]), { timeout: 25_000, interval: 5 })
  })
})

describe('a graph', () => {
  test('that is a diamond runs each Job once, in an order that respects it', async () => {
    const order: string[] = []
    const step = defineJob({ type: 'step', params: z.string(), run: ({ params }) => void order.push(params) })
    await using stage = await openTestScheduler({ jobs: [step], concurrency: 4 })
    const graph = await stage.scheduler.enqueueGraph({
      bottom: { type: step, params: 'bottom', dependsOn: ['left', 'right'] },
      left: { type: step, params: 'left', dependsOn: ['top'] },
      right: { type: step, params: 'right', dependsOn: ['top'] },
      top: { type: step, params: 'top' },
    })
    expect(Object.keys(graph)).toEqual(['bottom', 'left', 'right', 'top'])
    await stage.runUntilIdle()
    // Both in the middle are claimed at once, in order. On PostgreSQL each then reads its parents' results, and begins after that.
    const told = storeKind === 'sqlite' ? order : [order[0], ...order.slice(1, 3).sort(), ...order.slice(3)]
    expect(told).toEqual(['top', 'left', 'right', 'bottom'])
  })

  test('may depend on Jobs that exist, and names them by their ids', async () => {
    await using stage = await openTestScheduler({ jobs })
    const outside = await stage.scheduler.enqueue(echo, 'outside')
    const graph = await stage.scheduler.enqueueGraph({
      a: { type: echo, params: 'a' },
      b: { type: collect, params: null, dependsOn: ['a', outside.jobId] },
    })
    const expected = { [graph.a.jobId]: 'a', [outside.jobId]: 'outside' }
    expect(await graph.b.settled()).toMatchObject({ result: expected })
  })

  test('with any kind of names is itself', async () => {
    await using stage = await openTestScheduler({ jobs })
    const names = ['#a', '7', '__proto__', 'a b', 'ü', 'constructor']
    const graph = Object.fromEntries(
      names.map((name, index) => {
        const dependsOn = index === 0 ? [] : [names[index - 1] as string]
        return [name, { type: echo, params: name, dependsOn }]
      }),
    )
    const handles = await stage.scheduler.enqueueGraph(graph)
    expect(Object.keys(handles).sort()).toEqual(names.toSorted())
    await stage.runUntilIdle()
    for (const name of names) {
      const handle = Object.getOwnPropertyDescriptor(handles, name)?.value as { settled(): Promise<unknown> }
      expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', result: name })
    }
  })

  test('that is submitted again with the same keys is the same graph', async () => {
    await using stage = await openTestScheduler({ jobs })
    const submit = () =>
      stage.scheduler.enqueueGraph({
        a: { type: echo, params: 'a', idempotencyKey: 'a' },
        b: { type: collect, params: null, dependsOn: ['a'], idempotencyKey: 'b' },
        c: { type: collect, params: null, dependsOn: ['a'] },
      })
    const [first, second] = [await submit(), await submit()]
    expect([second.a.jobId, second.b.jobId]).toEqual([first.a.jobId, first.b.jobId])
    expect(second.c.jobId).not.toBe(first.c.jobId)
    expect(await second.c.get()).toMatchObject({ dependsOn: [first.a.jobId] })
    expect(await second.c.settled()).toMatchObject({ result: { [first.a.jobId]: 'a' } })
  })

  test('may be a list with local names', async () => {
    await using stage = await openTestScheduler({ jobs })
    const [b, a] = await stage.scheduler.enqueueMany([
      { type: collect, params: null, dependsOn: ['#a'] },
      { ref: 'a', type: echo, params: 'a' },
    ])
    expect(await b.settled()).toMatchObject({ result: { [a.jobId]: 'a' } })
  })

  test('of 10,000 Jobs in a line is accepted', async () => {
    const store = newSharedStore()
    await using scheduler = await openScheduler({ store, jobs })
    await scheduler.enqueueGraph(lineOf(10_000, 'failing'))
    expect(await countByStatus(scheduler, 'QUEUED')).toBe(10_000)
    await isSoundlyComposedStore(store)
  }, 120_000)

  test('of thousands of Jobs in a line: when its head fails, all of them are cancelled', async () => {
    // On a server each takes several round trips.
    const length = storeKind === 'sqlite' ? 10_000 : 2_000
    const store = newSharedStore()
    await using stage = await openTestScheduler({ store, jobs })
    const { scheduler } = stage
    const line = await scheduler.enqueueGraph(lineOf(length, 'failing'))
    await stage.runUntilIdle()
    expect(await line[`${length - 1}`]?.settled()).toMatchObject({ outcome: 'CANCELLED' })
    expect(await countByStatus(scheduler, 'CANCELLED')).toBe(length - 1)
    await isSoundlyComposedStore(store)
  }, 240_000)

  test('of 1,000 Jobs in a line runs to its end, each after the one before it', async () => {
    let last = -1
    const step = defineJob({
      type: 'step',
      params: z.number(),
      run: ({ params }) => {
        expect(params).toBe(last + 1)
        last = params
      },
    })
    await using stage = await openTestScheduler({ jobs: [step], concurrency: 10 })
    await stage.scheduler.enqueueGraph(lineOf(1_000, 'step'))
    await stage.runUntilIdle()
    expect(last).toBe(999)
  }, 240_000)
})

describe('a parent with many children', () => {
  test('lets all of them run, page by page, while others are served', async () => {
    let executed = 0
    const count = defineJob({ type: 'count', run: () => void executed++ })
    await using stage = await openTestScheduler({ jobs: [...jobs, count], concurrency: 50 })
    const parent = await stage.scheduler.enqueue(echo, 'parent', { delayMs: 1000 })
    const child = { type: count, params: null, dependsOn: [parent.jobId] }
    await stage.scheduler.enqueueMany(Array.from({ length: 1_000 }, () => child))
    await stage.advance('1s')
    expect(executed).toBe(1_000)
  })
})

describe('retry', () => {
  test('with `dependents` brings back what was cancelled because of the failure', async () => {
    let isOnline = false
    const load = defineJob({
      type: 'load',
      retry: { maxRetries: 0 },
      run: () => {
        if (!isOnline) throw new Error('offline')
        return 'data'
      },
    })
    await using stage = await openTestScheduler({ jobs: [...jobs, load] })
    const { scheduler } = stage
    const graph = await scheduler.enqueueGraph({
      load: { type: load, params: null },
      use: { type: collect, params: null, dependsOn: ['load'] },
      tell: { type: collect, params: null, dependsOn: ['use'] },
      unwanted: { type: collect, params: null, dependsOn: ['load'] },
    })
    await graph.unwanted.cancel()
    expect(await graph.tell.settled()).toMatchObject({ outcome: 'CANCELLED' })
    isOnline = true
    await scheduler.retry(graph.load.jobId, { dependents: true })
    const used = { [graph.load.jobId]: 'data' }
    expect(await graph.tell.settled()).toMatchObject({ result: { [graph.use.jobId]: used }, attempts: 2 })
    expect(await graph.unwanted.settled()).toMatchObject({ outcome: 'CANCELLED', attempts: 1 })
  })

  test('of a cancelled child runs it without the parent that failed', async () => {
    await using stage = await openTestScheduler({ jobs })
    const parent = await stage.scheduler.enqueue(failing, null)
    const child = await stage.scheduler.enqueue(collect, null, { dependsOn: [parent.jobId] })
    await stage.runUntilIdle()
    await stage.scheduler.retry(child.jobId)
    expect(await child.settled()).toMatchObject({ outcome: 'COMPLETED', result: { [parent.jobId]: null } })
  })

  test('of a parent that completes at last lets those go on that waited', async () => {
    await using stage = await openTestScheduler({ jobs })
    const { scheduler } = stage
    const parent = await scheduler.enqueue(stubborn, 1, { retry: { maxRetries: 0 } })
    const child = await scheduler.enqueue(collect, null, { dependsOn: [parent.jobId], onParentFailure: 'wait' })
    await stage.runUntilIdle()
    await scheduler.retry(parent.jobId)
    expect(await child.settled()).toMatchObject({ result: { [parent.jobId]: 'attempt 2' } })
  })
})

/** Jobs of which each depends on the one before it. */
function lineOf(length: number, type: string) {
  return Object.fromEntries(
    Array.from({ length }, (_, index) => {
      const dependsOn = index === 0 ? [] : [String(index - 1)]
      return [String(index), { type, params: index, dependsOn }]
    }),
  )
}

async function countByStatus(scheduler: Scheduler, status: 'QUEUED' | 'CANCELLED' | 'FINISHED'): Promise<number> {
  let count = 0
  let cursor: string | null = null
  do {
    const page = await scheduler.listJobs({ status, limit: 200, cursor })
    count += page.items.length
    cursor = page.nextCursor
  } while (cursor !== null)
  return count
}
