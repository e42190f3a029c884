// The numbers that people look at: what was executed, what ended lately, what waits.
import { expect, test } from 'vitest'
import { defineJob } from '../../src/index.ts'
import { readRecentStatistics } from '../../src/operations/recent-statistics.ts'
import { readStatistics } from '../../src/operations/statistics.ts'
import { openTestScheduler, SettableClock } from '../../src/testing/index.ts'
import { newStore } from '../stores/source-stores.ts'

const HOUR_MS = 3_600_000
const BEGIN = Date.UTC(2026, 0, 1, 9, 30)
const NONE = { executed: 0, completed: 0, failed: 0, skipped: 0, cancelled: 0 }

const quick = defineJob({ type: 'quick', run: () => null })
const failing = defineJob({ type: 'failing', retry: { maxRetries: 0 }, run: () => Promise.reject(new Error('no')) })
const slow = defineJob({
  type: 'slow',
  run: ({ signal }) => new Promise<void>((end) => signal.addEventListener('abort', () => end())),
})

async function openStage() {
  const source = newStore()
  const store = await source.open()
  const clock = new SettableClock(BEGIN)
  const jobs = [quick, failing, slow]
  const stage = await openTestScheduler({
    store: { ...source, open: async () => store },
    clock,
    jobs,
    concurrency: 2,
  })
  return { stage, scheduler: stage.scheduler, context: { store, clock } }
}

test('of a new store: nothing, for each of the last 24 hours', async () => {
  const { stage, context } = await openStage()
  const { totals, hours, queue } = await readStatistics(context)
  expect(totals).toEqual(NONE)
  expect(hours.map(({ hourAt }) => hourAt)).toEqual(
    Array.from({ length: 24 }, (_, index) => Date.UTC(2026, 0, 1, 9) - (23 - index) * HOUR_MS),
  )
  expect(hours.every(({ executed, cancelled, runMs, waitMs }) => executed + cancelled + runMs + waitMs === 0)).toBe(
    true,
  )
  expect(queue).toEqual({
    queued: 0,
    ready: 0,
    running: 0,
    oldestReadyAt: null,
    waitingTickets: 0,
    runningDirects: 0,
  })
  await stage.close()
})

test('totals reach back for ever, hours for a day, and what waits is told as it is now', async () => {
  const { stage, scheduler, context } = await openStage()
  await scheduler.enqueueMany([
    { type: quick, params: null },
    { type: failing, params: null },
  ])
  await stage.runUntilIdle()
  await stage.advance('2h')
  await scheduler.enqueueMany([
    { type: quick, params: null },
    { type: quick, params: null },
  ])
  await (await scheduler.enqueue(quick, null, { delayMs: HOUR_MS })).cancel()
  await scheduler.runDirect(quick, null)
  const aborted = await scheduler.enqueue(slow, null)
  await stage.runUntilIdle()
  await stage.advance('10s')
  await aborted.cancel({ mode: 'abort' })
  await stage.advance('1s')
  const waiting = await scheduler.enqueueMany(Array.from({ length: 3 }, () => ({ type: slow, params: null })))
  await scheduler.enqueue(quick, null, { delayMs: 2 * HOUR_MS })
  await stage.runUntilIdle()

  const { totals, hours, queue } = await readStatistics(context)
  expect(totals).toEqual({ executed: 5, completed: 3, failed: 2, skipped: 0, cancelled: 2 })
  expect(hours.filter(({ executed, cancelled }) => executed + cancelled > 0)).toEqual([
    { ...NONE, hourAt: Date.UTC(2026, 0, 1, 9), executed: 2, completed: 1, failed: 1, runMs: 0, waitMs: 0 },
    {
      ...NONE,
      hourAt: Date.UTC(2026, 0, 1, 11),
      executed: 3,
      completed: 2,
      failed: 1,
      cancelled: 2,
      runMs: 10_000,
      waitMs: 0,
    },
  ])
  expect(queue).toMatchObject({ queued: 2, ready: 1, running: 2, oldestReadyAt: context.clock.now() })
  // The one that waits comes first: the end of one that runs would let it start.
  for (const { jobId } of waiting.toReversed()) await scheduler.cancel(jobId, { mode: 'abort' })
  await stage.advance('1m')

  await stage.advance('30h')
  const later = await readStatistics(context)
  expect(later.totals).toMatchObject({ executed: 8, cancelled: 5 })
  expect(later.hours.reduce((sum, { executed }) => sum + executed, 0)).toBe(0)
  await stage.close()
})

test('what a clock that was ahead has counted is not told before its hour has come', async () => {
  const { stage, scheduler, context } = await openStage()
  await scheduler.enqueue(quick, null)
  await stage.runUntilIdle()
  const { store, clock } = context
  const executedAt = async (now: number) => {
    const { hours } = await readStatistics({ store, clock: new SettableClock(now) })
    return hours.map(({ executed }) => executed).filter((executed) => executed > 0)
  }
  expect(await executedAt(clock.now() - 2 * HOUR_MS)).toEqual([])
  expect(await executedAt(clock.now() + HOUR_MS)).toEqual([1])
  await stage.close()
})

test('lists are asked for by tag, and Runs by type; what is no text is refused', async () => {
  const { stage, scheduler } = await openStage()
  const job = await scheduler.enqueue(quick, null, { tags: ['red'] })
  await scheduler.enqueue(failing, null)
  await stage.runUntilIdle()
  expect((await scheduler.listJobs({ tag: 'red' })).items).toMatchObject([{ jobId: job.jobId, tags: ['red'] }])
  expect((await scheduler.listRuns({ type: 'failing' })).items).toMatchObject([{ type: 'failing', status: 'FAILED' }])
  expect((await scheduler.listRuns({ type: 'failing', status: 'COMPLETED' })).items).toEqual([])
  await expect(scheduler.listJobs({ tag: '' })).rejects.toMatchObject({ code: 'invalid_option', path: 'tag' })
  await expect(scheduler.listRuns({ type: 7 as unknown as string })).rejects.toMatchObject({ path: 'type' })
  await expect(scheduler.listJobs({ cursor: '1:2' })).rejects.toMatchObject({ code: 'invalid_option', path: 'cursor' })
  await stage.close()
})

test('the last hour is told by the minute, however much has ended, and by the hour as much', async () => {
  const { stage, scheduler, context } = await openStage()
  const jobs = (count: number) => Array.from({ length: count }, () => ({ type: quick, params: null }))
  await scheduler.enqueueMany(jobs(1_100))
  await scheduler.enqueue(failing, null)
  await stage.runUntilIdle()
  await stage.advance('30m')
  await scheduler.enqueueMany(jobs(2))
  await scheduler.cancel((await scheduler.enqueue(quick, null, { delayMs: HOUR_MS })).jobId)
  await stage.runUntilIdle()
  await stage.advance('5m')

  const { minutes, times } = await readRecentStatistics(context)
  expect(minutes).toHaveLength(60)
  expect([minutes[0]?.minuteAt, minutes[59]?.minuteAt]).toEqual([BEGIN - 24 * 60_000, BEGIN + 35 * 60_000])
  const busy = minutes.filter(({ executed, cancelled }) => executed + cancelled > 0)
  expect(busy).toMatchObject([
    { minuteAt: BEGIN, executed: 1_101, completed: 1_100, failed: 1, cancelled: 0 },
    { minuteAt: BEGIN + 30 * 60_000, executed: 2, completed: 2, failed: 0, cancelled: 1 },
  ])
  expect(times.runs).toBe(1_000)
  const { hours } = await readStatistics(context)
  const sum = (of: readonly { readonly executed: number }[]) => of.reduce((total, { executed }) => total + executed, 0)
  expect(sum(hours)).toBe(sum(minutes))
  expect(hours.slice(-2).map(({ executed }) => executed)).toEqual([1_101, 2])
  await stage.close()
})
