// Jobs that belong together, through the public API, with real handlers on a virtual clock.
import { defineJob, NonRetryableError, openScheduler } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { aborted, newGate } from '../lifecycle/stage.ts'
import { newSharedStore, newStore, openTestScheduler } from '../stores/package-stores.ts'
import { isSoundlyComposedStore } from './soundness.ts'

/** Notes that it ran; fails when its params say so. */
function newStep() {
  const ran: string[] = []
  const step = defineJob({
    type: 'step',
    params: z.string(),
    run: ({ params, skip }) => {
      ran.push(params)
      if (params.startsWith('bad')) throw new NonRetryableError('bad')
      return params.startsWith('skip') ? skip('nothing to do') : params
    },
  })
  return { ran, step }
}

const named = (step: ReturnType<typeof newStep>['step'], names: readonly string[]) =>
  names.map((params) => ({ type: step, params }))

describe('a group', () => {
  test('has a status, counts and times, and can be waited for', async () => {
    const { step } = newStep()
    await using stage = await openTestScheduler({ jobs: [step] })
    const { scheduler, clock } = stage
    await scheduler.stop()
    const group = await scheduler.groups.create({
      name: 'three',
      createdBy: 'mary',
      jobs: named(step, ['a', 'b', 'c']),
    })
    const createdAt = clock.now()
    expect(await group.get()).toEqual({
      groupId: group.groupId,
      name: 'three',
      mode: 'parallel',
      onFailure: 'stop',
      status: 'QUEUED',
      counts: { total: 3, queued: 3, running: 0, completed: 0, failed: 0, skipped: 0, cancelled: 0 },
      createdBy: 'mary',
      createdAt,
      startedAt: null,
      finishedAt: null,
      cancelRequestedAt: null,
      cancelReason: null,
    })
    clock.set(createdAt + 5_000)
    await scheduler.start()
    const settled = await group.settled()
    expect(settled).toMatchObject({ status: 'COMPLETED', startedAt: createdAt + 5_000, finishedAt: clock.now() })
    expect(await Promise.all(group.jobs.map(async (job) => (await job.settled()).result))).toEqual(['a', 'b', 'c'])
    expect((await scheduler.groups.list()).items).toEqual([settled])
    const { items } = await scheduler.listJobs({ groupId: group.groupId })
    expect(items.map(({ jobId }) => jobId)).toEqual(group.jobs.map(({ jobId }) => jobId).toReversed())
  })

  test('that is sequential runs one member after the other, whatever places are free', async () => {
    let executing = 0
    const order: string[] = []
    const slow = defineJob({
      type: 'slow',
      params: z.string(),
      retry: { maxRetries: 1, backoff: { kind: 'fixed', delayMs: 1_000 } },
      run: async ({ params, attempt, parents }) => {
        expect(++executing).toBe(1)
        await new Promise((resolve) => setImmediate(resolve))
        executing--
        order.push(`${params}${attempt}`)
        if (params === 'b' && attempt === 1) throw new Error('once more')
        return [...(Object.values(parents) as string[][]).flat(), params]
      },
    })
    await using stage = await openTestScheduler({ jobs: [slow], concurrency: 5 })
    const jobs = ['a', 'b', 'c'].map((params) => ({ type: slow, params }))
    const group = await stage.scheduler.groups.create({ mode: 'sequential', jobs })
    await stage.advance('1s')
    expect(order).toEqual(['a1', 'b1', 'b2', 'c1'])
    expect(await group.settled()).toMatchObject({ status: 'COMPLETED' })
    expect(await group.jobs[2]?.settled()).toMatchObject({ result: ['a', 'b', 'c'] })
  })

  test.for([
    { mode: 'parallel', onFailure: 'stop', ran: ['a', 'bad'], counts: { completed: 1, failed: 1, cancelled: 2 } },
    { mode: 'parallel', onFailure: 'continue', ran: ['a', 'bad', 'c', 'd'], counts: { completed: 3, failed: 1 } },
    { mode: 'parallel', onFailure: 'skip', ran: ['a', 'bad'], counts: { completed: 1, failed: 1, skipped: 2 } },
    { mode: 'sequential', onFailure: 'stop', ran: ['a', 'bad'], counts: { completed: 1, failed: 1, cancelled: 2 } },
    { mode: 'sequential', onFailure: 'continue', ran: ['a', 'bad', 'c', 'd'], counts: { completed: 3, failed: 1 } },
    { mode: 'sequential', onFailure: 'skip', ran: ['a', 'bad'], counts: { completed: 1, failed: 1, skipped: 2 } },
  ] as const)('$mode with `$onFailure` runs $ran', async ({ mode, onFailure, ran: expected, counts }) => {
    const { step, ran } = newStep()
    await using stage = await openTestScheduler({ jobs: [step] })
    const jobs = named(step, ['a', 'bad', 'c', 'd'])
    const group = await stage.scheduler.groups.create({ mode, onFailure, jobs })
    await stage.runUntilIdle()
    expect(ran).toEqual(expected)
    expect(await group.settled()).toMatchObject({ status: 'PARTIAL', counts: { total: 4, ...counts } })
    const last = await group.jobs[3]?.settled()
    const outcomes = { stop: 'CANCELLED', continue: 'COMPLETED', skip: 'SKIPPED' }
    expect(last?.outcome).toBe(outcomes[onFailure])
  })

  test('whose handlers skip is COMPLETED', async () => {
    const { step } = newStep()
    await using stage = await openTestScheduler({ jobs: [step] })
    const group = await stage.scheduler.groups.create({ jobs: named(step, ['a', 'skip']) })
    expect(await group.settled()).toMatchObject({ status: 'COMPLETED', counts: { completed: 1, skipped: 1 } })
  })

  test('that is cancelled lets running members come to their end, or interrupts them', async () => {
    for (const mode of ['graceful', 'abort'] as const) {
      const gate = newGate()
      const work = defineJob({
        type: 'work',
        run: ({ signal }) => Promise.race([gate.passed, aborted(signal)]),
      })
      await using stage = await openTestScheduler({ jobs: [work] })
      const jobs = [1, 2, 3].map(() => ({ type: work, params: null }))
      const group = await stage.scheduler.groups.create({ jobs })
      await stage.runUntilIdle()
      const asked = await group.cancel({ mode, reason: 'enough' })
      expect(asked).toMatchObject({ status: 'RUNNING', counts: { running: 1, cancelled: 2 }, cancelReason: 'enough' })
      if (mode === 'graceful') gate.open()
      await stage.advance('1s')
      const counts = mode === 'graceful' ? { completed: 1, cancelled: 2 } : { completed: 0, cancelled: 3 }
      expect(await group.settled()).toMatchObject({ status: 'CANCELLED', counts })
    }
  })

  test('that has ended cannot be cancelled; one that is cancelled already answers as it is', async () => {
    const { step } = newStep()
    await using stage = await openTestScheduler({ jobs: [step] })
    const { groups } = stage.scheduler
    const ended = await groups.create({ jobs: named(step, ['a']) })
    await ended.settled()
    await expect(ended.cancel()).rejects.toMatchObject({ code: 'group_ended', details: { status: 'COMPLETED' } })
    const later = await groups.create({ jobs: [{ type: step, params: 'a', delayMs: 1_000 }] })
    const cancelled = await later.cancel()
    expect(cancelled.status).toBe('CANCELLED')
    expect(await later.cancel()).toEqual(cancelled)
  })

  test('stays as it ended when a member is retried by hand afterwards', async () => {
    const { step, ran } = newStep()
    await using stage = await openTestScheduler({ jobs: [step] })
    const group = await stage.scheduler.groups.create({ mode: 'sequential', jobs: named(step, ['bad', 'b']) })
    const ended = await group.settled()
    await stage.scheduler.retry(group.jobs[1]?.jobId as string)
    await stage.runUntilIdle()
    expect(ran).toEqual(['bad', 'b'])
    expect(await group.get()).toEqual(ended)
  })

  test('can be waited for in another process than that of its members', async () => {
    const { step } = newStep()
    const store = newSharedStore()
    await using here = await openScheduler({ store, jobs: [step] })
    await using there = await openScheduler({ store, jobs: [step] })
    const group = await here.groups.create({ jobs: named(step, ['a', 'b']) })
    const waiting = here.groups.settled(group.groupId)
    await there.start()
    expect(await waiting).toMatchObject({ status: 'COMPLETED' })
  })

  test('of which somebody waits rejects when the scheduler closes', async () => {
    const { step } = newStep()
    const scheduler = await openScheduler({ store: newStore(), jobs: [step] })
    const group = await scheduler.groups.create({ jobs: named(step, ['a']) })
    const waiting = group.settled()
    const refused = expect(waiting).rejects.toMatchObject({ code: 'closed' })
    await scheduler.close()
    await refused
  })

  test('of 5,000 members is stopped page by page', async () => {
    const { step, ran } = newStep()
    const store = newSharedStore()
    await using stage = await openTestScheduler({ store, jobs: [step] })
    const names = Array.from({ length: 5_000 }, (_, index) => (index === 0 ? 'bad' : `step ${index}`))
    const group = await stage.scheduler.groups.create({ mode: 'sequential', jobs: named(step, names) })
    await stage.runUntilIdle()
    expect(ran).toEqual(['bad'])
    expect(await group.settled()).toMatchObject({ status: 'PARTIAL', counts: { failed: 1, cancelled: 4_999 } })
    await isSoundlyComposedStore(store)
  }, 60_000)
})
