import { expect, test } from 'vitest'
import { readJobs } from './database.ts'
import { NOTHING_RECOVERED, Scene } from './scene.ts'

// Real processes, killed by SIGKILL while they write an outcome. Neither "RUNNING with an ended Run" nor "FAILED without
// its retry" can come about: outcome, Job, occupancy, retry and follow-ups are one transaction.

const NOTHING_WRITTEN = ['a 1 RUNNING, run open, occupied']

const outcomes = [
  { body: 'return', whole: ['a 1 FINISHED, run COMPLETED'] },
  { body: 'throw', whole: ['a 1 FINISHED, run FAILED error', 'a 2 QUEUED, no run'] },
  { body: 'enqueue', whole: ['a 1 FINISHED, run COMPLETED', 'follow-up 1 QUEUED, no run'] },
] as const

test.for(outcomes)(
  'bodies that $body: killed before any write of the outcome, nothing of it is there',
  async ({ body, whole }) => {
    let writes = 0
    for (;;) {
      const scene = new Scene()
      const plan = { enqueue: ['a'], bodies: 1, body, arm: 'body', at: 'store:statement', nth: writes + 1 } as const
      const how = await scene.crash(plan)
      if (how === 'exited' || readJobs(scene.file)[0] !== NOTHING_WRITTEN[0]) {
        expect(readJobs(scene.file)).toEqual(whole)
        break
      }
      await isRecovered(scene)
      writes++
    }
    expect(writes).toBeGreaterThanOrEqual(3)
  },
)

test.for(outcomes)('bodies that $body: killed right before the commit of the outcome, the same', async ({ body }) => {
  const scene = new Scene()
  expect(await scene.crash({ enqueue: ['a'], bodies: 1, body, arm: 'body', at: 'store:before-commit' })).toBe('killed')
  await isRecovered(scene)
})

async function isRecovered(scene: Scene): Promise<void> {
  expect(readJobs(scene.file)).toEqual(NOTHING_WRITTEN)
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 1, retriesCreated: 1 })
  expect(readJobs(scene.file)).toEqual(['a 1 FINISHED, run FAILED crash', 'a 2 QUEUED, no run'])
}

test.for(outcomes)(
  'bodies that $body: killed right after the commit of the outcome, all of it is there',
  async ({ body, whole }) => {
    const scene = new Scene()
    expect(await scene.crash({ enqueue: ['a'], bodies: 1, body, arm: 'body', at: 'store:after-commit' })).toBe('killed')
    expect(readJobs(scene.file)).toEqual(whole)
    expect(await scene.recoverTwice()).toEqual(NOTHING_RECOVERED)
    expect(readJobs(scene.file)).toEqual(whole)
    expect(scene.begun).toEqual(['a 1'])
  },
)
