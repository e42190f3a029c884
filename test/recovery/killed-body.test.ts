import { expect, test } from 'vitest'
import { NOTHING_RECOVERED, Scene } from './scene.ts'

// Real processes, killed by SIGKILL while bodies execute.

test('killed while a body executes: the Run fails, and the retry runs once', async () => {
  const scene = new Scene()
  expect(await scene.crash({ enqueue: ['a'], bodies: 1, body: 'die' })).toBe('killed')
  expect(await scene.database.jobs()).toEqual(['a 1 RUNNING, run open, occupied'])
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 1, retriesCreated: 1 })
  await scene.executeDue()
  expect([...scene.begun, ...scene.executed]).toEqual(['a 1', 'a 2'])
  expect(await scene.database.jobs()).toEqual(['a 1 FINISHED, run FAILED crash', 'a 2 FINISHED, run COMPLETED'])
})

test('killed when the body has ended, before its outcome is written: it cannot be known, so it counts as a crash', async () => {
  const scene = new Scene()
  expect(await scene.crash({ enqueue: ['a'], bodies: 1, arm: 'claim', at: 'executor:body-ended' })).toBe('killed')
  expect(await scene.database.jobs()).toEqual(['a 1 RUNNING, run open, occupied'])
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 1, retriesCreated: 1 })
  await scene.executeDue()
  expect([...scene.begun, ...scene.executed]).toEqual(['a 1', 'a 2'])
})

test('killed with several bodies: all are recovered, and their retries run before the Jobs that waited', async () => {
  const scene = new Scene()
  const plan = { enqueue: ['a', 'b', 'c', 'd', 'e'], bodies: 2, body: 'die', concurrency: 2 } as const
  expect(await scene.crash(plan)).toBe('killed')
  expect(await scene.database.jobs()).toEqual([
    'a 1 RUNNING, run open, occupied',
    'b 1 RUNNING, run open, occupied',
    'c 1 QUEUED, no run',
    'd 1 QUEUED, no run',
    'e 1 QUEUED, no run',
  ])
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 2, retriesCreated: 2 })
  await scene.executeDue()
  expect(scene.begun).toEqual(['a 1', 'b 1'])
  expect(scene.executed).toEqual(['a 2', 'b 2', 'c 1', 'd 1', 'e 1'])
})

test('killed again and again: three retries, and then no more', async () => {
  const scene = new Scene()
  expect(await scene.crash({ enqueue: ['a'], bodies: 1, body: 'die' })).toBe('killed')
  // The process that recovers executes the retry and is killed as well. The second retry would come 10 s later.
  expect(await scene.crash({ bodies: 1, body: 'die' })).toBe('killed')
  expect(scene.begun).toEqual(['a 1', 'a 2'])
  for (const attempt of [3, 4]) {
    await scene.recoverTwice()
    const waiting = (await scene.read()).jobs.at(-1)
    expect(waiting).toMatchObject({ attempt, hold: 'delayed' })
    scene.clock.set(waiting?.runAt ?? 0)
    await scene.crashAfterClaiming(1)
  }
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 1 })
  expect(await scene.database.jobs()).toEqual([1, 2, 3, 4].map((attempt) => `a ${attempt} FINISHED, run FAILED crash`))
})

test('killed with a Job that must not be retried: its Run fails, and nothing follows', async () => {
  const scene = new Scene()
  expect(await scene.crash({ enqueue: ['a'], retry: { maxRetries: 0 }, bodies: 1, body: 'die' })).toBe('killed')
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 1 })
  await scene.executeDue()
  expect([...scene.begun, ...scene.executed]).toEqual(['a 1'])
})
