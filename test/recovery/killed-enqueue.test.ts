import { expect, test } from 'vitest'
import { readJobs } from './database.ts'
import { NOTHING_RECOVERED, Scene } from './scene.ts'

// Real processes, killed by SIGKILL while they enqueue three Jobs together: all of them are there afterwards, or none.

const enqueuer = { enqueue: ['a', 'b', 'c'], arm: 'enqueue' } as const

const ALL = ['a 1 QUEUED, no run', 'b 1 QUEUED, no run', 'c 1 QUEUED, no run']

test('killed before any write of the enqueue: none of the Jobs exists', async () => {
  let writes = 0
  for (;;) {
    const scene = new Scene()
    await scene.crash({ ...enqueuer, at: 'store:statement', nth: writes + 1 })
    const jobs = readJobs(scene.file)
    if (jobs.length > 0) {
      expect(jobs).toEqual(ALL)
      break
    }
    writes++
  }
  expect(writes).toBeGreaterThanOrEqual(3)
})

test('killed right before its commit: none', async () => {
  const scene = new Scene()
  expect(await scene.crash({ ...enqueuer, at: 'store:before-commit' })).toBe('killed')
  expect(readJobs(scene.file)).toEqual([])
})

test('killed right after its commit: all, and each runs once', async () => {
  const scene = new Scene()
  expect(await scene.crash({ ...enqueuer, at: 'store:after-commit' })).toBe('killed')
  expect(readJobs(scene.file)).toEqual(ALL)
  expect(await scene.recoverTwice()).toEqual(NOTHING_RECOVERED)
  await scene.executeDue()
  expect(scene.executed).toEqual(['a 1', 'b 1', 'c 1'])
})
