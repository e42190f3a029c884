// A store whose calls take their time and overtake each other, as those of a server do.
import { expect, test, vi } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { openTestScheduler } from '../../src/testing/index.ts'
import { listeningLogger, newDatabasePath, newGate } from '../lifecycle/stage.ts'
import { FarSource } from './far-store.ts'

function newFarSource(): FarSource {
  return new FarSource(sqlite(newDatabasePath()))
}

/** As long as it takes for what does not wait for the held call to be done. */
async function otherwiseStill(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
}

test('a claim that overtakes the finish whose permit it needs is made again when that finish is committed', async () => {
  const store = newFarSource()
  const started: unknown[] = []
  const work = defineJob({ type: 'work', resources: ['gpu'], run: ({ params }) => void started.push(params) })
  await using stage = await openTestScheduler({ store, jobs: [work], resources: { gpu: 1 } })
  await stage.runUntilIdle()
  const finishes = store.holdCalls('finishRuns')
  const inVain = store.counts.get('nextDueAt') ?? 0
  await stage.scheduler.enqueueMany([1, 2].map((params) => ({ type: work, params })))
  await vi.waitFor(() => expect(started).toEqual([1]))
  // The place is free, and a claim found nothing for it.
  await vi.waitFor(() => expect(store.counts.get('nextDueAt')).toBeGreaterThan(inVain))
  finishes.letGo()
  // The clock stands still: nothing but the commit can have woken it.
  await stage.runUntilIdle()
  expect(started).toEqual([1, 2])
})

test('a body whose claim is committed, but not answered yet, is no stray', async () => {
  const store = newFarSource()
  const attempts: number[] = []
  const work = defineJob({ type: 'work', run: ({ attempt }) => void attempts.push(attempt) })
  await using stage = await openTestScheduler({ store, jobs: [work], logger: listeningLogger() })
  await stage.runUntilIdle()
  const answers = store.holdAnswers('claimJobs')
  const handle = await stage.scheduler.enqueue(work, null)
  await vi.waitFor(async () => expect((await handle.get()).status).toBe('RUNNING'))
  stage.clock.set(stage.clock.now() + 5_000)
  await vi.waitFor(() => expect(store.counts.get('listDirectOccupancies')).toBeGreaterThan(0))
  await otherwiseStill()
  answers.letGo()
  await stage.runUntilIdle()
  expect(attempts).toEqual([1])
  expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
})

test('a stray is ended also while other claims are under way', async () => {
  const store = newFarSource()
  const attempts: number[] = []
  const work = defineJob({ type: 'work', run: ({ attempt }) => void attempts.push(attempt) })
  await using stage = await openTestScheduler({ store, jobs: [work], logger: listeningLogger() })
  await stage.runUntilIdle()
  store.loseNextAnswer('claimJobs')
  const handle = await stage.scheduler.enqueue(work, null)
  await stage.runUntilIdle()
  expect((await handle.get()).status).toBe('RUNNING')
  // This one is under way when the strays are looked for, and is answered soon after.
  const claims = store.holdCalls('claimJobs')
  const next = await stage.scheduler.enqueue(work, null)
  stage.clock.set(stage.clock.now() + 5_000)
  await vi.waitFor(() => expect(store.counts.get('listOccupancies')).toBeGreaterThan(0))
  claims.letGo()
  await stage.runUntilIdle()
  expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 2 })
  expect(await next.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
  expect(new Set(attempts)).toEqual(new Set([1, 2]))
})

test('what a body reported before its end is kept, also when it is still on its way then', async () => {
  const store = newFarSource()
  const gate = newGate()
  const work = defineJob({
    type: 'work',
    run: async ({ log }) => {
      log.info('first')
      await gate.passed
      log.info('second')
    },
  })
  await using stage = await openTestScheduler({ store, jobs: [work] })
  const handle = await stage.scheduler.enqueue(work, null)
  await stage.runUntilIdle()
  const reports = store.holdCalls('recordReports')
  stage.clock.set(stage.clock.now() + 1_000)
  gate.open()
  await vi.waitFor(() => expect(store.counts.get('recordReports')).toBe(1))
  await otherwiseStill()
  expect(store.counts.get('finishRuns') ?? 0).toBe(0)
  reports.letGo()
  await stage.runUntilIdle()

  const run = await stage.scheduler.findRunOfJob(handle.jobId)
  expect(run).toMatchObject({ status: 'COMPLETED' })
  const lines = await stage.scheduler.readLogs(run?.runId ?? '')
  expect(lines.map(({ text }) => text)).toEqual(['first', 'second'])
})

test('who listens hears of what is committed here from then on, however long it takes to find out where to begin', async () => {
  const store = newFarSource()
  const work = defineJob({ type: 'work', run: () => null })
  await using stage = await openTestScheduler({ store, jobs: [work] })
  await stage.scheduler.enqueue(work, 'before')
  await stage.runUntilIdle()
  const heard: string[] = []
  const numbers = store.holdCalls('lastEventSeq')
  stage.scheduler.on('job.queued', ({ jobId }) => heard.push(jobId))
  const { jobId } = await stage.scheduler.enqueue(work, 'after')
  numbers.letGo()
  await stage.runUntilIdle()
  expect(heard).toEqual([jobId])
})
