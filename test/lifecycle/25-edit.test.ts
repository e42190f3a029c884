// What is QUEUED can still be changed: its priority, its params, the instant before which it must not start.
import { defineJob, jobVersion, openScheduler, type Transition } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { newGate, newSharedStore, newStore, openTestScheduler, refusalOf } from './stage.ts'

const HOUR = 3_600_000

function newStory() {
  const written: string[] = []
  const story = defineJob({
    type: 'story',
    params: z.object({ genre: z.string() }),
    run: ({ params }) => void written.push(params.genre),
  })
  return { story, written }
}

describe('an edit', () => {
  test('gives the body other params, and the Run remembers those', async () => {
    const { story, written } = newStory()
    await using stage = await openTestScheduler({ jobs: [story] })
    const { scheduler } = stage
    const job = await scheduler.enqueue(story, { genre: 'horror' }, { delayMs: HOUR })
    const edited = await scheduler.edit(job.jobId, { params: { genre: 'gothic' } })
    expect(edited).toMatchObject({ status: 'QUEUED', hold: 'delayed', params: { genre: 'gothic' } })
    await stage.advance('1h')
    expect(written).toEqual(['gothic'])
    expect((await scheduler.findRunOfJob(job.jobId))?.paramsSnapshot).toEqual({ genre: 'gothic' })
  })

  test('makes a delayed Job start at once, without waiting for the next look', async () => {
    const { story, written } = newStory()
    await using stage = await openTestScheduler({ jobs: [story] })
    const { jobId } = await stage.scheduler.enqueue(story, { genre: 'horror' }, { delayMs: HOUR })
    await stage.runUntilIdle()
    await stage.scheduler.edit(jobId, { runAt: null })
    await stage.runUntilIdle()
    expect(written).toEqual(['horror'])
  })

  test('to an earlier instant makes it start then, and to a later one not before', async () => {
    const { story, written } = newStory()
    await using stage = await openTestScheduler({ jobs: [story] })
    const { scheduler, clock } = stage
    const sooner = await scheduler.enqueue(story, { genre: 'sooner' }, { delayMs: HOUR })
    const later = await scheduler.enqueue(story, { genre: 'later' }, { delayMs: 1_000 })
    await stage.runUntilIdle()
    const begin = clock.now()
    await scheduler.edit(sooner.jobId, { runAt: new Date(begin + 1_234) })
    await scheduler.edit(later.jobId, { runAt: begin + 2 * HOUR })
    await stage.advance('3h')
    expect(written).toEqual(['sooner', 'later'])
    const startedAt = async (jobId: string) => (await scheduler.getJob(jobId)).startedAt
    expect(await startedAt(sooner.jobId)).toBe(begin + 1_234)
    expect(await startedAt(later.jobId)).toBe(begin + 2 * HOUR)
  })

  test('of a Job that another process executes is heard there, long before it would look by itself', async () => {
    const store = newSharedStore()
    const gate = newGate<number>()
    const work = defineJob({ type: 'work', run: () => gate.open(performance.now()) })
    await using worker = await openScheduler({ store, jobs: [work] })
    await using client = await openScheduler({ store })
    await worker.start()
    const { jobId } = await client.enqueue('work', null, { delayMs: HOUR })
    await client.edit(jobId, { runAt: null })
    const editedAt = performance.now()
    expect((await gate.passed) - editedAt).toBeLessThan(2_000)
  })

  test('of a Job that runs is refused, and leaves it as it is', async () => {
    const gate = newGate()
    const slow = defineJob({ type: 'slow', run: () => gate.passed })
    await using stage = await openTestScheduler({ jobs: [slow] })
    const { jobId } = await stage.scheduler.enqueue(slow, { n: 1 })
    await stage.runUntilIdle()
    const error = await refusalOf(stage.scheduler.edit(jobId, { params: { n: 2 } }))
    expect([error.code, error.details]).toEqual(['job_not_queued', { jobId, status: 'RUNNING' }])
    gate.open()
    await stage.runUntilIdle()
    expect((await stage.scheduler.findRunOfJob(jobId))?.paramsSnapshot).toEqual({ n: 1 })
  })

  test('of a waiting retry gives it params of its own', async () => {
    const seen: unknown[] = []
    const flaky = defineJob({
      type: 'flaky',
      run: ({ params, attempt }) => {
        seen.push([attempt, params])
        if (attempt === 1) throw new Error('bad params')
      },
    })
    await using stage = await openTestScheduler({ jobs: [flaky] })
    const { scheduler } = stage
    const { jobId } = await scheduler.enqueue(flaky, { n: 1 })
    await stage.runUntilIdle()
    const retry = (await scheduler.getChain(jobId)).items[1]
    await scheduler.edit(retry?.jobId ?? '', { params: { n: 2 }, runAt: null })
    await stage.runUntilIdle()
    expect(seen).toEqual([
      [1, { n: 1 }],
      [2, { n: 2 }],
    ])
    expect((await scheduler.findRunOfJob(jobId))?.paramsSnapshot).toEqual({ n: 1 })
  })

  test('that names the version it was decided on loses to a change made meanwhile', async () => {
    const { story } = newStory()
    await using scheduler = await openScheduler({ store: newStore(), jobs: [story] })
    const { jobId } = await scheduler.enqueue(story, { genre: 'horror' })
    const version = jobVersion(await scheduler.getJob(jobId))
    await scheduler.reprioritise(jobId, 3)
    expect((await refusalOf(scheduler.edit(jobId, { params: { genre: 'gothic' }, version }))).code).toBe('conflict')
    expect((await scheduler.getJob(jobId)).params).toEqual({ genre: 'horror' })
  })

  test('is told once: a mere change of place as a move, all else as an edit', async () => {
    const { story } = newStory()
    await using scheduler = await openScheduler({ store: newStore(), jobs: [story] })
    const heard: Transition[] = []
    for (const kind of ['job.moved', 'job.edited'] as const) scheduler.on(kind, (event) => heard.push(event))
    const { jobId } = await scheduler.enqueue(story, { genre: 'horror' })
    await scheduler.edit(jobId, { priority: 1 })
    await scheduler.edit(jobId, { priority: 2, params: { genre: 'gothic' } })
    await scheduler.edit(jobId, { priority: 2 })
    await expect.poll(() => heard.map(({ kind }) => kind)).toEqual(['job.moved', 'job.edited'])
    expect(heard[1]).toMatchObject({ jobId, status: 'QUEUED', runId: null, outcome: null })
  })
})
