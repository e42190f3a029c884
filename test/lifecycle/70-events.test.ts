// Every transition that any process commits on the store is told once, in the order of the commits.
import { defineJob, openScheduler, type Scheduler, type Transition, type TransitionKind } from 'pawl'
import { describe, expect, test, vi } from 'vitest'
import { storeKind } from '../stores/each-store.ts'
import { aborted, listeningLogger, newGate, newSharedStore, newStore, openTestScheduler } from './stage.ts'

const KINDS: readonly TransitionKind[] = [
  'job.queued',
  'job.started',
  'job.finished',
  'job.cancelled',
  'job.cancel-requested',
  'job.moved',
  'job.edited',
  'run.progress',
  'run.released',
]

function listen(scheduler: Scheduler): Transition[] {
  const heard: Transition[] = []
  for (const kind of KINDS) scheduler.on(kind, (transition) => heard.push(transition))
  return heard
}

const kindsOf = (heard: readonly Transition[]) => heard.map(({ kind }) => kind)

const PATIENCE = { timeout: 10_000, interval: 5 }

/** A store may hold back the newest events for a moment, until no earlier one can appear. */
const whenHeard = (heard: readonly Transition[], count: number) =>
  vi.waitFor(() => expect(heard.length).toBeGreaterThanOrEqual(count), PATIENCE)

describe('events', () => {
  test('tell of a whole life with a retry, in order', async () => {
    const flaky = defineJob({
      type: 'flaky',
      run: ({ attempt }) => {
        if (attempt === 1) throw new Error('once more')
      },
    })
    await using stage = await openTestScheduler({ jobs: [flaky] })
    const heard = listen(stage.scheduler)
    const begin = stage.clock.now()
    const { jobId } = await stage.scheduler.enqueue(flaky, null)
    await stage.advance('10s')

    const retryId = (await stage.scheduler.getChain(jobId)).items[1]?.jobId
    const [firstRun, secondRun] = await Promise.all(
      [jobId, retryId ?? ''].map(async (id) => (await stage.scheduler.findRunOfJob(id))?.runId),
    )
    const first = { jobId, chainId: jobId, type: 'flaky', attempt: 1 }
    const retry = { jobId: retryId, chainId: jobId, type: 'flaky', attempt: 2 }
    const open = { outcome: null, reason: null }
    await whenHeard(heard, 6)
    expect(heard).toEqual([
      { kind: 'job.queued', ...first, ...open, runId: null, status: 'QUEUED', at: begin },
      { kind: 'job.started', ...first, ...open, runId: firstRun, status: 'RUNNING', at: begin },
      {
        kind: 'job.finished',
        ...first,
        runId: firstRun,
        status: 'FINISHED',
        outcome: 'FAILED',
        reason: 'error',
        at: begin,
      },
      { kind: 'job.queued', ...retry, ...open, runId: null, status: 'QUEUED', at: begin },
      { kind: 'job.started', ...retry, ...open, runId: secondRun, status: 'RUNNING', at: begin + 10_000 },
      {
        kind: 'job.finished',
        ...retry,
        runId: secondRun,
        status: 'FINISHED',
        outcome: 'COMPLETED',
        reason: null,
        at: begin + 10_000,
      },
    ])
  })

  test('tell of moves, cancels, progress and a body that ended after its timeout', async () => {
    const gate = newGate()
    const slow = defineJob({
      type: 'slow',
      timeoutMs: 5000,
      retry: { maxRetries: 0 },
      run: async ({ progress, signal }) => {
        progress(0.5, 'half')
        await aborted(signal)
        await gate.passed
      },
    })
    await using stage = await openTestScheduler({ jobs: [slow] })
    const { scheduler } = stage
    const heard = listen(scheduler)
    const running = await scheduler.enqueue(slow, null)
    await stage.advance('1s')
    const waiting = await scheduler.enqueue(slow, null)
    await scheduler.move(waiting.jobId, { to: 'front' })
    await scheduler.reprioritise(waiting.jobId, 3)
    await scheduler.edit(waiting.jobId, { runAt: stage.clock.now() + 60_000 })
    await waiting.cancel()
    await running.cancel()
    await stage.advance('4s')
    gate.open()
    await stage.runUntilIdle()

    await whenHeard(heard, 11)
    expect(heard.map(({ kind, jobId }) => [kind, jobId === running.jobId ? 'running' : 'waiting'])).toEqual([
      ['job.queued', 'running'],
      ['job.started', 'running'],
      ['run.progress', 'running'],
      ['job.queued', 'waiting'],
      ['job.moved', 'waiting'],
      ['job.moved', 'waiting'],
      ['job.edited', 'waiting'],
      ['job.cancelled', 'waiting'],
      ['job.cancel-requested', 'running'],
      ['job.finished', 'running'],
      ['run.released', 'running'],
    ])
    expect(heard[2]).toMatchObject({ progress: 0.5, message: 'half' })
    expect(heard[9]).toMatchObject({ outcome: 'FAILED', reason: 'timeout' })
  })

  test('tell of an aborted Job as cancelled, and of a manual retry as queued', async () => {
    const work = defineJob({ type: 'work', run: ({ signal, attempt }) => (attempt === 1 ? aborted(signal) : null) })
    await using stage = await openTestScheduler({ jobs: [work] })
    const heard = listen(stage.scheduler)
    const handle = await stage.scheduler.enqueue(work, null)
    await stage.runUntilIdle()
    await handle.cancel({ mode: 'abort' })
    await stage.runUntilIdle()
    await stage.scheduler.retry(handle.jobId)
    await stage.runUntilIdle()
    await whenHeard(heard, 8)
    expect(kindsOf(heard)).toEqual([
      'job.queued',
      'job.started',
      'job.cancel-requested',
      'job.cancelled',
      'run.released',
      'job.queued',
      'job.started',
      'job.finished',
    ])
    expect(heard[3]).toMatchObject({ status: 'CANCELLED', outcome: 'FAILED', reason: 'cancelled' })
  })

  test('come each once and in order for a thousand Jobs', async () => {
    const quick = defineJob({ type: 'quick', run: () => null })
    await using stage = await openTestScheduler({ jobs: [quick], concurrency: 10 })
    const heard = listen(stage.scheduler)
    const handles = await stage.scheduler.enqueueMany(
      Array.from({ length: 1000 }, () => ({ type: quick, params: null })),
    )
    await stage.runUntilIdle()
    await whenHeard(heard, 3000)
    expect(heard).toHaveLength(3000)
    for (const { jobId } of handles) {
      expect(kindsOf(heard.filter((event) => event.jobId === jobId))).toEqual([
        'job.queued',
        'job.started',
        'job.finished',
      ])
    }
  })

  test('reach a listener from the moment it listens, and no longer after it stops', async () => {
    const quick = defineJob({ type: 'quick', run: () => null })
    await using stage = await openTestScheduler({ jobs: [quick] })
    const first = await stage.scheduler.enqueue(quick, null)
    await first.settled()
    const heard: Transition[] = []
    const stop = stage.scheduler.on('job.finished', (event) => heard.push(event))
    const second = await stage.scheduler.enqueue(quick, null)
    await stage.runUntilIdle()
    await vi.waitFor(() => expect(heard.at(-1)?.jobId).toBe(second.jobId), PATIENCE)
    stop()
    await stage.scheduler.enqueue(quick, null)
    await stage.runUntilIdle()
    // On PostgreSQL what was committed just before may still be told, because the newest events are held back for a moment.
    const told = storeKind === 'sqlite' ? heard : heard.filter(({ jobId }) => jobId !== first.jobId)
    expect(told.map(({ jobId }) => jobId)).toEqual([second.jobId])
  })

  test('go on to the other listeners when one throws', async () => {
    const logger = listeningLogger()
    const quick = defineJob({ type: 'quick', run: () => null })
    await using stage = await openTestScheduler({ jobs: [quick], logger })
    const heard: Transition[] = []
    stage.scheduler.on('job.finished', () => {
      throw new Error('a listener with a bug')
    })
    stage.scheduler.on('job.finished', (event) => heard.push(event))
    const handle = await stage.scheduler.enqueue(quick, null)
    expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED' })
    await stage.runUntilIdle()
    await whenHeard(heard, 1)
    expect(heard).toHaveLength(1)
    expect(logger.told).toMatchObject([{ level: 'error', message: 'An event listener threw' }])
  })

  test('of one scheduler are heard by another on the same file, all of them, in one order', async () => {
    const store = newSharedStore()
    const quick = defineJob({ type: 'quick', run: () => null })
    await using worker = await openScheduler({ store, jobs: [quick], concurrency: 3 })
    await using watcher = await openScheduler({ store })
    const there = listen(watcher)
    const here = listen(worker)
    await worker.start()
    const handles = [
      ...(await worker.enqueueMany(Array.from({ length: 200 }, () => ({ type: quick, params: null })))),
      await watcher.enqueue('quick', null),
    ]
    for (const handle of handles) await handle.settled()

    await vi.waitFor(() => expect(there).toHaveLength(603), PATIENCE)
    await vi.waitFor(() => expect(here).toHaveLength(603), PATIENCE)
    expect(there).toEqual(here)
  })

  test('that are read later still tell of the Job they were about, also after it was pruned', async () => {
    const source = newStore()
    const store = await source.open()
    const quick = defineJob({ type: 'quick', run: () => null })
    await using stage = await openTestScheduler({
      store: { ...source, open: async () => store },
      jobs: [quick],
    })
    const first = await stage.scheduler.enqueue(quick, null)
    await stage.runUntilIdle()
    await stage.advance('1m')
    await stage.scheduler.prune({ olderThanMs: 0 })
    const second = await stage.scheduler.enqueue(quick, null, { delayMs: 1000 })

    const told = await vi.waitFor(async () => {
      const all = (await store.readEvents(0, 100)).flatMap(({ transitions }) => transitions)
      expect(all.at(-1)?.jobId).toBe(second.jobId)
      return all
    }, PATIENCE)

    const ofFirst = told.filter(({ at }) => at < stage.clock.now())
    expect(ofFirst.filter(({ jobId }) => jobId !== first.jobId)).toEqual([])
    expect(told.filter(({ jobId }) => jobId === second.jobId).map(({ kind }) => kind)).toEqual(['job.queued'])
  })
})
