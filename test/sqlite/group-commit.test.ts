// Concurrent writes share one commit, because a power-safe commit costs the same for one write as for a hundred.
import { defineJob, openScheduler, type StoreSource } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { onFaultPoint } from 'pawl/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { DatabaseSync, newDatabasePath, withHandle } from './stage.ts'

type Store = Awaited<ReturnType<StoreSource['open']>>
type NewJob = Parameters<Store['enqueueJobs']>[0][number]

const quick = defineJob({ type: 'quick', run: () => null })

afterEach(() => {
  onFaultPoint(null)
  vi.useRealTimers()
})

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

  test('of edits keep the order in which they were called, too', async () => {
    await using scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [quick] })
    const handles = await scheduler.enqueueMany(Array.from({ length: 5 }, () => ({ type: quick, params: null })))
    const ids = handles.map(({ jobId }) => jobId).toReversed()
    await Promise.all(ids.map((jobId) => scheduler.reprioritise(jobId, 1)))
    expect((await scheduler.listQueue()).map(({ jobId }) => jobId)).toEqual(ids)
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

describe('after a group that had to be taken apart', () => {
  const poisoned = newJob('poisoned', { params: null as never })

  test('the order is still that of the calls, also of those that did not fit into the group', async () => {
    const store = await sqlite(':memory:').open()
    const ids = Array.from({ length: 600 }, (_, n) => `job ${n}`)
    const writes = ids.map((jobId, n) => store.enqueueJobs([n === 7 ? poisoned : newJob(jobId)], 0))
    const answers = await Promise.allSettled(writes)
    expect(answers.filter(({ status }) => status === 'rejected')).toHaveLength(1)
    expect(await queueOf(store)).toEqual(ids.toSpliced(7, 1))
    await store.close()
  })

  test('writes share commits again', async () => {
    const store = await sqlite(':memory:').open()
    await Promise.allSettled([store.enqueueJobs([newJob('a')], 0), store.enqueueJobs([poisoned], 0)])
    const commits = countCommits()
    await Promise.all(['b', 'c', 'd'].map((jobId) => store.enqueueJobs([newJob(jobId)], 0)))
    expect(commits()).toBe(1)
    await store.close()
  })
})

test('whoever closes waits for what was called before', async () => {
  const path = newDatabasePath()
  const store = await sqlite(path).open()
  const written = store.enqueueJobs([newJob('last')], 0)
  await store.close()
  expect((await written).kind).toBe('enqueued')
  await expect(store.enqueueJobs([newJob('too late')], 0)).rejects.toMatchObject({ code: 'closed' })
})

describe('between two commits timers and I/O have a turn', () => {
  /** In which turn of the event loop each commit was made. */
  function watchTurns(): { readonly turns: number[]; stop(): void } {
    const turns: number[] = []
    let turn = 0
    let next = setImmediate(function count() {
      turn++
      next = setImmediate(count)
    })
    onFaultPoint((point) => {
      if (point === 'store:after-commit') turns.push(turn)
    })
    return { turns, stop: () => clearImmediate(next) }
  }

  test('when more is written at once than fits into one', async () => {
    const store = await sqlite(':memory:').open()
    const { turns, stop } = watchTurns()
    await Promise.all(Array.from({ length: 1_500 }, (_, n) => store.enqueueJobs([newJob(`job ${n}`)], 0)))
    stop()
    expect(turns.length).toBeGreaterThan(1)
    expect(new Set(turns).size).toBe(turns.length)
    await store.close()
  })

  test('when each is called as soon as the one before is answered', async () => {
    const store = await sqlite(':memory:').open()
    const { turns, stop } = watchTurns()
    const writeFrom = (n: number): Promise<unknown> =>
      store.enqueueJobs([newJob(`job ${n}`)], 0).then(() => (n < 20 ? writeFrom(n + 1) : null))
    await writeFrom(1)
    stop()
    expect(new Set(turns).size).toBe(20)
    await store.close()
  })
})

// A connection of its own stands for another process: SQLite gives its lock to connections. Timers stand still, so that it
// is told apart what comes in the next turn of the event loop and what only after some time.
describe('while another process has the lock of the database', () => {
  async function openBesideOther() {
    const path = newDatabasePath()
    const store = await sqlite(path).open()
    const other = new DatabaseSync(path)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    const answers: string[] = []
    return {
      store,
      other,
      answers,
      lock: () => other.exec('begin immediate'),
      unlock: () => other.exec('rollback'),
      /** Its answer is noted when it comes. */
      write: (jobId: string): Promise<unknown> =>
        store.enqueueJobs([newJob(jobId)], 0).then(
          () => answers.push(jobId),
          (error: { code?: string }) => answers.push(`${jobId}: ${error.code}`),
        ),
      close: async () => {
        // Whoever gives way waits for a timer.
        await passMs(1)
        vi.useRealTimers()
        await store.close()
        other.close()
      },
    }
  }

  async function passTurns(count: number): Promise<void> {
    for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
  }

  async function passMs(ms: number): Promise<void> {
    vi.advanceTimersByTime(ms)
    await passTurns(2)
  }

  test('a write waits, and is done in the turn after the lock was freed', async () => {
    const { store, answers, lock, unlock, write, close } = await openBesideOther()
    lock()
    void write('patient')
    await passTurns(20)
    expect(answers).toEqual([])
    unlock()
    await passTurns(2)
    expect(answers).toEqual(['patient'])
    expect(await queueOf(store)).toEqual(['patient'])
    await close()
  })

  test('whoever has waited for many turns asks less often', async () => {
    const { answers, lock, unlock, write, close } = await openBesideOther()
    lock()
    void write('patient')
    await passTurns(100)
    unlock()
    await passTurns(100)
    expect(answers).toEqual([])
    await passMs(25)
    expect(answers).toEqual(['patient'])
    await close()
  })

  test('a write gives up after a minute, has changed nothing, and the next one is as patient', async () => {
    const { store, answers, lock, unlock, write, close } = await openBesideOther()
    lock()
    void write('impatient')
    await passTurns(100)
    await passMs(59_900)
    expect(answers).toEqual([])
    await passMs(200)
    expect(answers).toEqual(['impatient: store_busy'])
    void write('next')
    await passTurns(100)
    await passMs(59_900)
    unlock()
    await passMs(25)
    expect(answers).toEqual(['impatient: store_busy', 'next'])
    expect(await queueOf(store)).toEqual(['next'])
    await close()
  })

  test('each write has its minute, also one that came while another waited', async () => {
    const { answers, lock, unlock, write, close } = await openBesideOther()
    lock()
    void write('first').then(() => {
      lock()
      return write('second')
    })
    await passTurns(100)
    await passMs(40_000)
    unlock()
    await passMs(25)
    expect(answers).toEqual(['first'])
    await passMs(1)
    await passTurns(100)
    await passMs(40_000)
    expect(answers).toEqual(['first'])
    unlock()
    await passMs(25)
    expect(answers).toEqual(['first', 'second'])
    await close()
  })

  test('whoever closes waits two seconds and no longer', async () => {
    const { store, other, answers, lock, write } = await openBesideOther()
    lock()
    void write('late')
    await passTurns(100)
    const closed = store.close().then(() => answers.push('closed'))
    await passMs(1_900)
    expect(answers).toEqual([])
    await passMs(200)
    expect(answers).toEqual(['late: store_busy'])
    await passMs(1)
    vi.useRealTimers()
    await closed
    expect(answers).toEqual(['late: store_busy', 'closed'])
    other.close()
  })

  test('whoever has waited for the lock gives way after its commit, so that the other one gets it too', async () => {
    const { store, answers, lock, unlock, write, close } = await openBesideOther()
    lock()
    void write('first').then(() => write('second'))
    await passTurns(20)
    unlock()
    await passTurns(20)
    expect(answers).toEqual(['first'])
    // Here the other one comes in, and is not disturbed for as long as it takes.
    lock()
    await passMs(1)
    await passTurns(20)
    expect(answers).toEqual(['first'])
    unlock()
    await passTurns(2)
    expect(answers).toEqual(['first', 'second'])
    expect(await queueOf(store)).toEqual(['first', 'second'])
    await close()
  })

  test('that is forgotten when nobody else has had it for a while', async () => {
    const { answers, lock, unlock, write, close } = await openBesideOther()
    lock()
    void write('first')
    await passTurns(20)
    unlock()
    await passTurns(2)
    await passMs(150)
    void write('second').then(() => write('third'))
    await passTurns(20)
    expect(answers).toEqual(['first', 'second', 'third'])
    await close()
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
