// The kit for tests of your own handlers: a scheduler on a clock that only the test moves.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { defineJob, openScheduler, PawlError } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { type Duration, openTestScheduler, SettableClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'

const failing = defineJob({ type: 'failing', run: () => Promise.reject(new Error('no')) })
const quick = defineJob({ type: 'quick', run: () => 'done' })

describe('runUntilIdle', () => {
  test('executes everything that is due, also what that leads to, and leaves the clock alone', async () => {
    const chain = defineJob({
      type: 'chain',
      run: async ({ enqueue, params }) => {
        if ((params as number) > 0) await enqueue('chain', (params as number) - 1)
      },
    })
    await using stage = await openTestScheduler({ jobs: [chain] })
    const now = stage.clock.now()
    await stage.scheduler.enqueue(chain, 20)
    await stage.runUntilIdle()
    const { items } = await stage.scheduler.listJobs()
    expect(items).toHaveLength(21)
    expect(new Set(items.map(({ outcome }) => outcome))).toEqual(new Set(['COMPLETED']))
    expect(stage.clock.now()).toBe(now)
  })

  test('returns at once when nothing is due', async () => {
    await using stage = await openTestScheduler({ jobs: [quick] })
    await stage.runUntilIdle()
    await stage.scheduler.enqueue(quick, null, { delayMs: 1 })
    await stage.runUntilIdle()
    expect(await stage.scheduler.listQueue()).toHaveLength(1)
  })

  test('waits for real I/O of a handler that is quicker than its patience', async () => {
    const slow = defineJob({
      type: 'slow',
      run: async () => (await promisify(execFile)(process.execPath, ['-p', '6 * 7'])).stdout.trim(),
    })
    await using stage = await openTestScheduler({ jobs: [slow], patienceMs: 5000 })
    const handle = await stage.scheduler.enqueue(slow, null)
    await stage.runUntilIdle()
    expect(await stage.scheduler.findRunOfJob(handle.jobId)).toMatchObject({ status: 'COMPLETED', result: '42' })
  })

  test('does not wait for a body that waits for the clock', async () => {
    const clock = new SettableClock()
    const sleepy = defineJob({
      type: 'sleepy',
      run: () => new Promise<string>((resolve) => clock.after(60_000, () => resolve('awake'))),
    })
    await using stage = await openTestScheduler({ jobs: [sleepy], clock })
    const handle = await stage.scheduler.enqueue(sleepy, null)
    await stage.runUntilIdle()
    expect((await handle.get()).status).toBe('RUNNING')
    await stage.advance('1m')
    expect(await handle.settled()).toMatchObject({ result: 'awake' })
  })
})

test.each([0.7, '0.7ms', '0.0003s', '1.5ms'])(
  'parts of a millisecond, %j, leave everything in whole ones',
  async (duration) => {
    await using stage = await openTestScheduler({ jobs: [quick], clock: new SettableClock(1_000.5) })
    await stage.advance(duration)
    const job = await stage.scheduler.enqueue(quick, null, { delayMs: 1 })
    await stage.advance('2.5ms')
    expect((await job.settled()).outcome).toBe('COMPLETED')
    expect(Number.isInteger(stage.clock.now())).toBe(true)
  },
)

test('a clock of the caller that tells parts of milliseconds is read in whole ones', async () => {
  const clock = {
    now: () => Date.UTC(2026, 0, 1) + 0.7,
    after: (_: number, wake: () => void) => {
      const timer = setTimeout(wake, 1)
      return { cancel: () => clearTimeout(timer) }
    },
  }
  const scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [quick], clock })
  const job = await scheduler.enqueue(quick, null)
  await scheduler.start()
  expect((await job.settled()).outcome).toBe('COMPLETED')
  expect((await job.get()).createdAt).toBe(Date.UTC(2026, 0, 1))
  await scheduler.close()
})

describe('advance', () => {
  test('executes what becomes due on the way, at its instant', async () => {
    await using stage = await openTestScheduler({ jobs: [failing] })
    const begin = stage.clock.now()
    const { jobId } = await stage.scheduler.enqueue(failing, null)
    await stage.advance('1d')
    const { items } = await stage.scheduler.getChain(jobId)
    expect(items.map(({ startedAt }) => (startedAt ?? 0) - begin)).toEqual([0, 10_000, 30_000, 70_000])
    expect(stage.clock.now()).toBe(begin + 86_400_000)
  })

  test('stops exactly where it is told', async () => {
    await using stage = await openTestScheduler({ jobs: [quick] })
    const handle = await stage.scheduler.enqueue(quick, null, { delayMs: 1000 })
    await stage.advance('999ms')
    expect((await handle.get()).status).toBe('QUEUED')
    await stage.advance(1)
    expect((await handle.get()).outcome).toBe('COMPLETED')
  })

  test.each<[Duration, number]>([
    [250, 250],
    [0, 0],
    ['250ms', 250],
    ['10s', 10_000],
    ['1.5s', 1500],
    ['5m', 300_000],
    ['1h 30m', 5_400_000],
    ['2d', 172_800_000],
  ])('takes the duration %j as %d ms', async (duration, ms) => {
    await using stage = await openTestScheduler()
    const begin = stage.clock.now()
    await stage.advance(duration)
    expect(stage.clock.now() - begin).toBe(ms)
  })

  test.each<[unknown]>([
    ['soon'],
    ['10'],
    ['10 parsecs'],
    ['10s later'],
    [''],
    [-1],
    [Number.NaN],
    [undefined],
    [null],
  ])('refuses %j as a duration', async (duration) => {
    await using stage = await openTestScheduler()
    const begin = stage.clock.now()
    const advance = async () => stage.advance(duration as Duration)
    await expect(advance()).rejects.toBeInstanceOf(PawlError)
    expect(stage.clock.now()).toBe(begin)
  })
})

describe('a test of your own', () => {
  /** How much faster than its story a test is. Generous, because machines are noisy. */
  async function timed(story: () => Promise<void>): Promise<number> {
    const begin = performance.now()
    await story()
    return performance.now() - begin
  }

  test('of retries that take a minute takes milliseconds', async () => {
    const tookMs = await timed(async () => {
      await using stage = await openTestScheduler({ jobs: [failing] })
      const handle = await stage.scheduler.enqueue(failing, null)
      await stage.advance('70s')
      expect(await handle.settled()).toMatchObject({ outcome: 'FAILED', attempts: 4 })
    })
    expect(tookMs).toBeLessThan(2000)
  })

  test('of a timeout after an hour takes milliseconds', async () => {
    const patient = defineJob({
      type: 'patient',
      timeoutMs: 3_600_000,
      retry: { maxRetries: 0 },
      run: ({ signal }) => new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve())),
    })
    const tookMs = await timed(async () => {
      await using stage = await openTestScheduler({ jobs: [patient] })
      const handle = await stage.scheduler.enqueue(patient, null)
      await stage.advance('1h')
      expect(await handle.settled()).toMatchObject({ outcome: 'FAILED', reason: 'timeout' })
    })
    expect(tookMs).toBeLessThan(2000)
  })

  test('of a Job in a year takes milliseconds', async () => {
    const tookMs = await timed(async () => {
      await using stage = await openTestScheduler({ jobs: [quick] })
      const handle = await stage.scheduler.enqueue(quick, null, { delayMs: 365 * 86_400_000 })
      await stage.advance('365d')
      expect((await handle.get()).outcome).toBe('COMPLETED')
    })
    expect(tookMs).toBeLessThan(2000)
  })

  test('may use a file and a clock of its own, and go on later where it stopped', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-kit-'))
    try {
      const store = sqlite(join(folder, 'pawl.db'))
      const clock = new SettableClock(Date.UTC(2030, 5, 1))
      {
        await using stage = await openTestScheduler({ jobs: [quick], store, clock })
        await stage.scheduler.enqueue(quick, null, { delayMs: 60_000 })
      }
      clock.set(clock.now() + 60_000)
      await using stage = await openTestScheduler({ jobs: [quick], store, clock })
      await stage.runUntilIdle()
      expect((await stage.scheduler.listJobs()).items).toMatchObject([
        { outcome: 'COMPLETED', startedAt: Date.UTC(2030, 5, 1, 0, 1) },
      ])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('is independent of every other: each has a database of its own in memory', async () => {
    await using one = await openTestScheduler({ jobs: [quick] })
    await using two = await openTestScheduler({ jobs: [quick] })
    await one.scheduler.enqueue(quick, null)
    await two.runUntilIdle()
    expect((await two.scheduler.listJobs()).items).toEqual([])
  })
})

describe('close', () => {
  test('ends at once, also with a body that would never end', async () => {
    const endless = defineJob({ type: 'endless', run: () => new Promise<void>(() => {}) })
    const stage = await openTestScheduler({
      jobs: [endless],
      logger: { info: () => {}, warn: () => {}, error: () => {} },
    })
    await stage.scheduler.enqueue(endless, null)
    await stage.runUntilIdle()
    await stage.close()
    await stage.close()
    await expect(stage.scheduler.enqueue(endless, null)).rejects.toMatchObject({ code: 'closed' })
  })
})

test('a scheduler that is not a test’s own may be given the same clock', async () => {
  const clock = new SettableClock()
  await using scheduler = await openScheduler({ store: sqlite(':memory:'), jobs: [quick], clock })
  const { jobId } = await scheduler.enqueue(quick, null)
  expect((await scheduler.getJob(jobId)).createdAt).toBe(clock.now())
})
