import { expect, test } from 'vitest'
import { KILLS_MIN, killedAfterCommit, NOTHING_RECOVERED, nextWrite, Scene } from './scene.ts'

// Real processes, killed by SIGKILL while they write an outcome. Neither "RUNNING with an ended Run" nor "FAILED without
// its retry" can come about: outcome, Job, occupancy, retry and follow-ups are one transaction.

const NOTHING_WRITTEN = ['a 1 RUNNING, run open, occupied'] as const

const outcomes = [
  { body: 'return', whole: ['a 1 FINISHED, run COMPLETED'] },
  { body: 'throw', whole: ['a 1 FINISHED, run FAILED error', 'a 2 QUEUED, no run'] },
  { body: 'enqueue', whole: ['a 1 FINISHED, run COMPLETED', 'follow-up 1 QUEUED, no run'] },
] as const

test.for(outcomes)(
  'bodies that $body: killed before any write of the outcome, nothing of it is there',
  { timeout: 120_000 },
  async ({ body, whole }) => {
    let kills = 0
    for (let write = 1; ; write = nextWrite(write)) {
      const scene = new Scene()
      const plan = { enqueue: ['a'], bodies: 1, body, arm: 'body', at: 'store:statement', nth: write } as const
      const how = await scene.crash(plan)
      if (how === 'exited' || (await scene.database.jobs())[0] !== NOTHING_WRITTEN[0]) {
        expect(await scene.database.jobs()).toEqual(whole)
        break
      }
      await isRecovered(scene)
      kills++
    }
    expect(kills).toBeGreaterThanOrEqual(KILLS_MIN)
  },
)

test.for(outcomes)('bodies that $body: killed right before the commit of the outcome, the same', async ({ body }) => {
  const scene = new Scene()
  expect(await scene.crash({ enqueue: ['a'], bodies: 1, body, arm: 'body', at: 'store:before-commit' })).toBe('killed')
  await isRecovered(scene)
})

async function isRecovered(scene: Scene): Promise<void> {
  expect(await scene.database.jobs()).toEqual(NOTHING_WRITTEN)
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 1, retriesCreated: 1 })
  expect(await scene.database.jobs()).toEqual(['a 1 FINISHED, run FAILED crash', 'a 2 QUEUED, no run'])
}

test.for(outcomes)(
  'bodies that $body: killed right after the commit of the outcome, all of it is there',
  async ({ body, whole }) => {
    const plan = { enqueue: ['a'], bodies: 1, body, arm: 'body', at: 'store:after-commit' } as const
    const scene = await killedAfterCommit(plan, NOTHING_WRITTEN[0])
    expect(await scene.database.jobs()).toEqual(whole)
    expect(await scene.recoverTwice()).toEqual(NOTHING_RECOVERED)
    expect(await scene.database.jobs()).toEqual(whole)
    expect(scene.begun).toEqual(['a 1'])
  },
)
