import { expect, test } from 'vitest'
import { KILLS_MIN, NOTHING_RECOVERED, nextWrite, Scene } from './scene.ts'

// Real processes, killed by SIGKILL while they enqueue three Jobs together: all of them are there afterwards, or none.

const enqueuer = { enqueue: ['a', 'b', 'c'], arm: 'enqueue' } as const

const ALL = ['a 1 QUEUED, no run', 'b 1 QUEUED, no run', 'c 1 QUEUED, no run']

test('killed before any write of the enqueue: none of the Jobs exists', { timeout: 120_000 }, async () => {
  let kills = 0
  for (let write = 1; ; write = nextWrite(write)) {
    const scene = new Scene()
    await scene.crash({ ...enqueuer, at: 'store:statement', nth: write })
    const jobs = await scene.database.jobs()
    if (jobs.length > 0) {
      expect(jobs).toEqual(ALL)
      break
    }
    kills++
  }
  expect(kills).toBeGreaterThanOrEqual(KILLS_MIN)
})

test('killed right before its commit: none', async () => {
  const scene = new Scene()
  expect(await scene.crash({ ...enqueuer, at: 'store:before-commit' })).toBe('killed')
  expect(await scene.database.jobs()).toEqual([])
})

test('killed right after its commit: all, and each runs once', async () => {
  const scene = new Scene()
  expect(await scene.crash({ ...enqueuer, at: 'store:after-commit' })).toBe('killed')
  expect(await scene.database.jobs()).toEqual(ALL)
  expect(await scene.recoverTwice()).toEqual(NOTHING_RECOVERED)
  await scene.executeDue()
  expect(scene.executed).toEqual(['a 1', 'b 1', 'c 1'])
})
