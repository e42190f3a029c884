import { expect, test } from 'vitest'
import { NOTHING_RECOVERED, Scene, SECOND } from './scene.ts'

// Crashes have a budget of their own: three retries, after 0, 10 and 60 s.

test('a Job whose process crashes each time is retried at once, after 10 s and after 60 s, and then no more', async () => {
  const scene = new Scene()
  await scene.enqueue(['a'])
  const delays: number[] = []
  for (let crash = 1; crash <= 4; crash++) {
    expect(await scene.crashAfterClaiming(1)).toHaveLength(1)
    const { retriesCreated } = await scene.recoverTwice()
    if (retriesCreated === 0) break
    const waiting = (await scene.read()).jobs.at(-1)
    expect(waiting?.counts).toEqual({ errorRetries: 0, crashRetries: crash, shutdownRetries: 0 })
    delays.push((waiting?.runAt ?? 0) - scene.clock.now())
    scene.clock.set(waiting?.runAt ?? 0)
  }
  expect(delays).toEqual([0, 10 * SECOND, 60 * SECOND])
  expect(await scene.database.jobs()).toEqual([1, 2, 3, 4].map((attempt) => `a ${attempt} FINISHED, run FAILED crash`))
})

test('a retry after a crash does not start before its time', async () => {
  const scene = new Scene()
  await scene.enqueue(['a'])
  await scene.crashAfterClaiming(1)
  await scene.recover()
  await scene.crashAfterClaiming(1)
  await scene.recover()
  scene.clock.set(scene.clock.now() + 10 * SECOND - 1)
  await scene.executeDue()
  expect(scene.executed).toEqual([])
  scene.clock.set(scene.clock.now() + 1)
  await scene.executeDue()
  expect(scene.executed).toEqual(['a 3'])
})

test('failures before the crash are not charged to the crashes, nor the crash to the failures', async () => {
  const scene = new Scene()
  await scene.enqueue(['a'], { retry: { maxRetries: 2, maxCrashRetries: 1, backoff: { kind: 'none' } } })
  await scene.failAfterClaiming()
  await scene.crashAfterClaiming(1)
  await scene.recoverTwice()
  await scene.failAfterClaiming()
  const counts = (await scene.read()).jobs.map((job) => [job.counts.errorRetries, job.counts.crashRetries])
  expect(counts).toEqual([
    [0, 0],
    [1, 0],
    [1, 1],
    [2, 1],
  ])
  await scene.crashAfterClaiming(1)
  expect(await scene.recoverTwice()).toMatchObject({ runningJobsRecovered: 1, retriesCreated: 0 })
})

test.for([
  { retry: { maxRetries: 0 }, words: 'maxRetries is 0' },
  { retry: { maxRetries: 5, maxCrashRetries: 0 }, words: 'maxCrashRetries is 0' },
])('recovery retries nothing when $words', async ({ retry }) => {
  const scene = new Scene()
  await scene.enqueue(['a'], { retry, businessKey: 'the-a' })
  await scene.crashAfterClaiming(1)
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 1 })
  expect(await scene.database.jobs()).toEqual(['a 1 FINISHED, run FAILED crash'])
  await scene.executeDue()
  expect(scene.executed).toEqual([])
})

test('who forbids retries but allows them after crashes gets those', async () => {
  const scene = new Scene()
  await scene.enqueue(['a'], { retry: { maxRetries: 0, maxCrashRetries: 1 } })
  await scene.crashAfterClaiming(1)
  expect(await scene.recoverTwice()).toMatchObject({ runningJobsRecovered: 1, retriesCreated: 1 })
})

test('a Job that someone wished to cancel is not retried by recovery', async () => {
  const scene = new Scene()
  await scene.enqueue(['a'])
  await scene.crashAfterClaiming(1, (store, [job]) =>
    store.cancelJob({ jobId: job?.claim.jobId ?? '', mode: 'graceful', reason: null, now: scene.clock.now() }),
  )
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 1 })
  expect(await scene.database.jobs()).toEqual(['a 1 FINISHED, run FAILED crash'])
})
