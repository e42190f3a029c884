// The order of the queue is stored: priority first, then position. People may change it while Jobs wait.
import { defineJob, openScheduler, type Scheduler } from 'pawl'
import { describe, expect, test } from 'vitest'
import {
  namesOf,
  newGate,
  newSharedStore,
  newStore,
  openTestScheduler,
  plainSql,
  position,
  refusalOf,
} from './stage.ts'

const note = defineJob({ type: 'note', run: () => null })

const openQueue = () => openScheduler({ store: newStore(), jobs: [note] })

async function add(scheduler: Scheduler, name: string, priority = 0): Promise<string> {
  return (await scheduler.enqueue(note, null, { name, priority })).jobId
}

async function placesOf(scheduler: Scheduler): Promise<[string | null, number][]> {
  return (await scheduler.listQueue({ limit: 200 })).map(({ name, position }) => [name, position])
}

const NAMES_IN_ORDER = 'select name from pawl_jobs order by priority desc, position, created_at, job_id'

describe('the order', () => {
  test('is by priority, the highest first, then by position', async () => {
    await using scheduler = await openQueue()
    await add(scheduler, 'usual-1')
    await add(scheduler, 'low', -2_147_483_648)
    await add(scheduler, 'usual-2')
    await add(scheduler, 'urgent', 2_147_483_647)
    expect(namesOf(await scheduler.listQueue())).toEqual(['urgent', 'usual-1', 'usual-2', 'low'])
  })

  test('leaves a gap of 100 between neighbours of one priority, counted per priority', async () => {
    await using scheduler = await openQueue()
    for (const name of ['a', 'b', 'c']) await add(scheduler, name)
    await add(scheduler, 'x', 1)
    expect(await placesOf(scheduler)).toEqual([
      ['x', position(100)],
      ['a', position(100)],
      ['b', position(200)],
      ['c', position(300)],
    ])
  })

  test('is the order of execution, and a more urgent Job that arrives is next', async () => {
    const executed: (string | null)[] = []
    const gate = newGate()
    const work = defineJob({
      type: 'work',
      run: async ({ jobId }) => {
        executed.push((await stage.scheduler.getJob(jobId)).name)
        if (executed.length === 1) await gate.passed
      },
    })
    await using stage = await openTestScheduler({ jobs: [work] })
    const { scheduler } = stage
    for (const name of ['first', 'second', 'third']) await scheduler.enqueue(work, null, { name })
    await stage.runUntilIdle()
    expect(executed).toEqual(['first'])

    await scheduler.enqueue(work, null, { name: 'urgent', priority: 1 })
    gate.open()
    await stage.runUntilIdle()

    expect(executed).toEqual(['first', 'urgent', 'second', 'third'])
  })

  test('puts a new Job behind one that is executing, too', async () => {
    const gate = newGate()
    const work = defineJob({ type: 'work', run: () => gate.passed })
    await using stage = await openTestScheduler({ jobs: [work] })
    const first = await stage.scheduler.enqueue(work, null)
    await stage.runUntilIdle()

    const second = await stage.scheduler.enqueue(work, null)

    expect((await second.get()).position).toBe((await first.get()).position + 100)
    gate.open()
  })

  test('gives a retry the place of its predecessor, before everything that came later', async () => {
    const executed: string[] = []
    const work = defineJob({
      type: 'work',
      retry: { backoff: { kind: 'none' } },
      run: async ({ jobId, attempt }) => {
        const { name } = await stage.scheduler.getJob(jobId)
        executed.push(`${name} ${attempt}`)
        if (name === 'flaky' && attempt === 1) throw new Error('once more')
      },
    })
    await using stage = await openTestScheduler({ jobs: [work] })
    await stage.scheduler.enqueueMany(
      ['flaky', 'later-1', 'later-2'].map((name) => ({ type: work, params: null, name })),
    )
    await stage.runUntilIdle()
    expect(executed).toEqual(['flaky 1', 'flaky 2', 'later-1 1', 'later-2 1'])
  })
})

describe('moving a Job', () => {
  test('goes to the front, to the back, before and after another', async () => {
    await using scheduler = await openQueue()
    const [a, b, c, d] = [
      await add(scheduler, 'a'),
      await add(scheduler, 'b'),
      await add(scheduler, 'c'),
      await add(scheduler, 'd'),
    ]

    expect(await scheduler.move(d, { to: 'front' })).toEqual({ priority: 0, position: position(0) })
    expect(namesOf(await scheduler.listQueue())).toEqual(['d', 'a', 'b', 'c'])

    expect(await scheduler.move(a, { to: 'back' })).toEqual({ priority: 0, position: position(400) })
    expect(namesOf(await scheduler.listQueue())).toEqual(['d', 'b', 'c', 'a'])

    expect(await scheduler.move(a, { before: c })).toEqual({ priority: 0, position: position(250) })
    expect(namesOf(await scheduler.listQueue())).toEqual(['d', 'b', 'a', 'c'])

    expect(await scheduler.move(d, { after: b })).toEqual({ priority: 0, position: position(225) })
    expect(namesOf(await scheduler.listQueue())).toEqual(['b', 'd', 'a', 'c'])
  })

  test('before the first and after the last goes outside of them', async () => {
    await using scheduler = await openQueue()
    const [a, b, c] = [await add(scheduler, 'a'), await add(scheduler, 'b'), await add(scheduler, 'c')]
    await scheduler.move(c, { before: a })
    await scheduler.move(a, { after: b })
    expect(await placesOf(scheduler)).toEqual([
      ['c', position(0)],
      ['b', position(200)],
      ['a', position(300)],
    ])
  })

  test('next to a Job of another priority takes that priority', async () => {
    await using scheduler = await openQueue()
    const calm = await add(scheduler, 'calm')
    const urgent = await add(scheduler, 'urgent', 9)
    expect(await scheduler.move(calm, { before: urgent })).toEqual({ priority: 9, position: position(0) })
    expect(namesOf(await scheduler.listQueue())).toEqual(['calm', 'urgent'])
  })

  test('next to itself changes nothing', async () => {
    await using scheduler = await openQueue()
    const a = await add(scheduler, 'a')
    expect(await scheduler.move(a, { before: a })).toEqual({ priority: 0, position: position(100) })
  })

  test('never runs out of room, however often the same gap is used', async () => {
    await using scheduler = await openQueue()
    const head = await add(scheduler, 'head')
    const names = Array.from({ length: 30 }, (_, index) => `n${index}`)
    const ids: string[] = []
    for (const name of names) ids.push(await add(scheduler, name))

    // Each goes right behind the head, so the last one moved comes first; the gap of 100 lasts for six moves.
    for (const jobId of ids) await scheduler.move(jobId, { after: head })

    const places = await placesOf(scheduler)
    expect(places.map(([name]) => name)).toEqual(['head', ...names.toReversed()])
    expect(new Set(places.map(([, position]) => position)).size).toBe(places.length)
  })

  test.each([
    ['a few neighbours', 10],
    ['hundreds of neighbours', 900],
    // More than a move may renumber by itself: then the whole priority is normalised.
    ['more than a thousand neighbours', 1100],
  ])('makes room among %s without a gap, and keeps their order', async (_, count) => {
    const store = newSharedStore()
    await using scheduler = await openScheduler({ store, jobs: [note] })
    const names = Array.from({ length: count }, (_, index) => `n${index}`)
    const handles = await scheduler.enqueueMany(names.map((name) => ({ type: note, params: null, name })))
    for (const table of ['pawl_jobs', 'pawl_queue']) await plainSql(store, `update ${table} set position = 1000 + seq`)
    const [first, second] = handles.map(({ jobId }) => jobId) as [string, string]

    await scheduler.move(await add(scheduler, 'after the first'), { after: first })
    await scheduler.move(await add(scheduler, 'before the second'), { before: second })

    const expected = ['n0', 'after the first', 'before the second', ...names.slice(1)]
    expect((await plainSql(store, NAMES_IN_ORDER)).map(({ name }) => name)).toEqual(expected)
  })

  test('changes what is executed next', async () => {
    const executed: string[] = []
    const gate = newGate()
    const work = defineJob({
      type: 'work',
      run: async ({ jobId }) => {
        executed.push(jobId)
        if (executed.length === 1) await gate.passed
      },
    })
    await using stage = await openTestScheduler({ jobs: [work] })
    const [a, b, c] = await stage.scheduler.enqueueMany([
      { type: work, params: null },
      { type: work, params: null },
      { type: work, params: null },
    ])
    await stage.runUntilIdle()
    await stage.scheduler.move(c.jobId, { to: 'front' })
    gate.open()
    await stage.runUntilIdle()
    expect(executed).toEqual([a.jobId, c.jobId, b.jobId])
  })

  test('is refused for a Job that does not wait, and next to one that does not', async () => {
    await using stage = await openTestScheduler({ jobs: [note] })
    const { scheduler } = stage
    const ended = await scheduler.enqueue(note, null)
    await stage.runUntilIdle()
    const waiting = await scheduler.enqueue(note, null, { delayMs: 1000 })

    expect(await refusalOf(scheduler.move(ended.jobId, { to: 'front' }))).toMatchObject({
      code: 'job_not_queued',
      details: { status: 'FINISHED' },
    })
    expect(await refusalOf(scheduler.move(waiting.jobId, { before: ended.jobId }))).toMatchObject({
      code: 'job_not_queued',
      details: { jobId: ended.jobId },
    })
    expect(await refusalOf(scheduler.move('nobody', { to: 'front' }))).toMatchObject({ code: 'job_not_found' })
  })
})

describe('changing the priority', () => {
  test('puts the Job last at the new one', async () => {
    await using scheduler = await openQueue()
    const a = await add(scheduler, 'a')
    await add(scheduler, 'b')
    await add(scheduler, 'x', 5)
    await add(scheduler, 'y', 5)
    expect(await scheduler.reprioritise(a, 5)).toEqual({ priority: 5, position: position(300) })
    expect(namesOf(await scheduler.listQueue())).toEqual(['x', 'y', 'a', 'b'])
  })

  test('to the one it has changes nothing', async () => {
    await using scheduler = await openQueue()
    const a = await add(scheduler, 'a')
    await add(scheduler, 'b')
    expect(await scheduler.reprioritise(a, 0)).toEqual({ priority: 0, position: position(100) })
  })

  test('is refused for a Job that does not wait', async () => {
    await using stage = await openTestScheduler({ jobs: [note] })
    const { jobId } = await stage.scheduler.enqueue(note, null)
    await stage.runUntilIdle()
    expect(await refusalOf(stage.scheduler.reprioritise(jobId, 3))).toMatchObject({ code: 'job_not_queued' })
  })
})

describe('normalising', () => {
  test('numbers a priority 100, 200, 300 … again and keeps the order', async () => {
    const source = newStore()
    const store = await source.open()
    await using scheduler = await openScheduler({ store: { ...source, open: async () => store }, jobs: [note] })
    for (const name of ['a', 'b', 'c']) await add(scheduler, name)
    const d = await add(scheduler, 'd')
    await scheduler.move(d, { to: 'front' })
    await scheduler.move(d, { to: 'front' })
    await add(scheduler, 'other', 1)

    expect(await store.normalisePositions(0)).toBe(4)

    expect(await placesOf(scheduler)).toEqual([
      ['other', position(100)],
      ['d', 100],
      ['a', 200],
      ['b', 300],
      ['c', 400],
    ])
  })
})
