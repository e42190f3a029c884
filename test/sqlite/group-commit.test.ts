// Concurrent writes share one commit, because a power-safe commit costs the same for one write as for a hundred.
import { defineJob, openScheduler, type StoreSource } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { onFaultPoint } from 'pawl/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { newDatabasePath, withHandle } from './stage.ts'

type Store = Awaited<ReturnType<StoreSource['open']>>
type NewJob = Parameters<Store['enqueueJobs']>[0][number]

const quick = defineJob({ type: 'quick', run: () => null })

afterEach(() => onFaultPoint(null))

function countCommits(): () => number {
  let commits = 0
  onFaultPoint((point) => {
    if (point === 'store:after-commit') commits++
  })
  return () => commits
}

function newJob(jobId: string, changes: Partial<NewJob> = {}): NewJob {
  return {
    jobId,
    type: 'quick',
    name: null,
    params: 'null',
    priority: 0,
    runAt: null,
    policy: {
      retry: { maxRetries: 0, maxCrashRetries: 0, backoff: { kind: 'none' } },
      timeoutMs: null,
      resources: [],
    },
    tags: [],
    createdBy: null,
    businessKey: null,
    idempotency: null,
    templateId: null,
    scheduleId: null,
    slotAt: null,
    dependsOn: [],
    onParentFailure: 'cancel',
    webhookUrl: null,
    ...changes,
  }
}

const queueOf = async (store: Store) => (await store.listQueue(1000, 0)).map(({ jobId }) => jobId)

describe('concurrent writes', () => {
  test('share few commits, and one event row each', async () => {
    const path = newDatabasePath()
    await using scheduler = await openScheduler({ store: sqlite(path), jobs: [quick] })
    const commits = countCommits()

    const handles = await Promise.all(Array.from({ length: 500 }, (_, n) => scheduler.enqueue(quick, { n })))

    expect(new Set(handles.map(({ jobId }) => jobId)).size).toBe(500)
    expect(commits()).toBeLessThanOrEqual(3)
    const rows = withHandle(path, (handle) => handle.prepare('select count(*) as n from pawl_events').get())
    expect((rows as { n: number }).n).toBe(commits())
    expect(await scheduler.listQueue({ limit: 200 })).toHaveLength(200)
  })

  test('keep the order in which they were called', async () => {
    await using scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [quick] })
    const handles = await Promise.all(Array.from({ length: 150 }, () => scheduler.enqueue(quick, null)))
    const queue = await scheduler.listQueue({ limit: 200 })
    expect(queue.map(({ jobId }) => jobId)).toEqual(handles.map(({ jobId }) => jobId))
    expect(queue.map(({ position }) => position)).toEqual(handles.map((_, index) => (index + 1) * 100))
  })

  test('one after the other have a commit each', async () => {
    const path = newDatabasePath()
    await using scheduler = await openScheduler({ store: sqlite(path), jobs: [quick] })
    const commits = countCommits()
    for (let n = 0; n < 10; n++) await scheduler.enqueue(quick, null)
    expect(commits()).toBe(10)
  })

  test('are answered only after the commit: what fails before it was never acknowledged', async () => {
    const path = newDatabasePath()
    await using scheduler = await openScheduler({ store: sqlite(path), jobs: [quick] })
    onFaultPoint((point) => {
      if (point === 'store:before-commit') throw new Error('the plug was pulled')
    })
    const answers = await Promise.allSettled([scheduler.enqueue(quick, null), scheduler.enqueue(quick, null)])
    onFaultPoint(null)
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await scheduler.listQueue()).toEqual([])
    await scheduler.enqueue(quick, null)
  })
})

describe('in a group', () => {
  test('a conflict is an answer for its own item, and touches no other', async () => {
    await using scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [quick] })
    const commits = countCommits()
    const answers = await Promise.allSettled(
      ['k', 'other', 'k', null, 'k'].map((businessKey) =>
        scheduler.enqueue(quick, null, businessKey === null ? {} : { businessKey }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'rejected'])
    expect(answers[2]).toMatchObject({ reason: { code: 'business_key_taken' } })
    expect(commits()).toBe(1)
    expect(await scheduler.listQueue()).toHaveLength(3)
  })

  test.each<[string, NewJob]>([
    ['with an id that is there already', newJob('there')],
    ['with U+0000 in a key', newJob('poisoned', { businessKey: 'a\u0000b' })],
    ['with a priority that is no number', newJob('poisoned', { priority: 'high' as never })],
    ['with a missing value', newJob('poisoned', { params: null as never })],
  ])('an item that can never be written fails alone: %s', async (_, poisoned) => {
    const store = await sqlite(newDatabasePath()).open()
    await store.enqueueJobs([newJob('there')], 0)

    const answers = await Promise.allSettled([
      store.enqueueJobs([newJob('a')], 0),
      store.enqueueJobs([newJob('b'), newJob('c')], 0),
      store.enqueueJobs([newJob('left out'), poisoned], 0),
      store.enqueueJobs([newJob('d', { businessKey: 'k' })], 0),
      store.cancelJob({ jobId: 'there', mode: 'graceful', reason: null, now: 0 }),
    ])

    expect(answers.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    expect((await queueOf(store)).toSorted()).toEqual(['a', 'b', 'c', 'd'])
    expect((await store.findJob('there', 0))?.status).toBe('CANCELLED')
    // Nothing is left of it, not even in what the connection remembers.
    await store.enqueueJobs([newJob('e')], 0)
    expect(await queueOf(store)).toHaveLength(5)
    await store.close()
  })

  test('an item of a new type that is left out leaves no trace of that type behind', async () => {
    const store = await sqlite(newDatabasePath()).open()
    await Promise.allSettled([
      store.enqueueJobs([newJob('x', { type: 'new' }), newJob('x', { type: 'new' })], 0),
      store.enqueueJobs([newJob('good')], 0),
    ])
    await store.enqueueJobs([newJob('later', { type: 'new' })], 0)
    expect((await store.findJob('later', 0))?.type).toBe('new')
    expect((await store.findJob('good', 0))?.type).toBe('quick')
    expect(await store.findJob('x', 0)).toBeNull()
    await store.close()
  })
})

test('bodies that end together share the commit of their ends with the next claims', async () => {
  const path = newDatabasePath()
  await using scheduler = await openScheduler({ store: sqlite(path), jobs: [quick], concurrency: 100 })
  const handles = await scheduler.enqueueMany(Array.from({ length: 2000 }, () => ({ type: quick, params: null })))
  const commits = countCommits()
  await scheduler.start()
  await Promise.all(handles.map((handle) => handle.settled()))
  // Twenty full rounds of a claim and its finishes would be forty commits; a commit per Job would be four thousand.
  expect(commits()).toBeLessThan(200)
})
