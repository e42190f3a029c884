import { expect, test } from 'vitest'
import { storeKind } from '../stores/package-stores.ts'
import { KILLS_MIN, killedAfterCommit, NOTHING_RECOVERED, nextWrite, Scene } from './scene.ts'

// Real processes, killed by SIGKILL while they claim. The row "RUNNING, no Run" of the decision matrix cannot come about:
// the Job's new status, its Run and its occupancy are one transaction.

const claimer = { enqueue: ['a'], bodies: 1, arm: 'claim' } as const

test('killed before any write of the claim: the Job is QUEUED, and runs once', { timeout: 120_000 }, async () => {
  let kills = 0
  for (let write = 1; ; write = nextWrite(write)) {
    const scene = new Scene()
    expect(await scene.crash({ ...claimer, at: 'store:statement', nth: write })).toBe('killed')
    // Once the Job has begun, the writes of the claim are through, and the one that was hit is the first of the finish.
    if (scene.begun.length > 0) break
    // On a server others of its statements are on their way at the same time: one may come between the claim and the body.
    if (storeKind === 'postgres' && (await scene.database.jobs())[0] !== 'a 1 QUEUED, no run') {
      await isClaimedInVain(scene)
      break
    }
    await isUntouched(scene)
    kills++
  }
  expect(kills).toBeGreaterThanOrEqual(KILLS_MIN)
})

test('killed right before the commit of the claim: the same', async () => {
  const scene = new Scene()
  expect(await scene.crash({ ...claimer, at: 'store:before-commit' })).toBe('killed')
  await isUntouched(scene)
})

async function isUntouched(scene: Scene): Promise<void> {
  expect(await scene.database.jobs()).toEqual(['a 1 QUEUED, no run'])
  expect(await scene.recoverTwice()).toEqual(NOTHING_RECOVERED)
  await scene.executeDue()
  expect([...scene.begun, ...scene.executed]).toEqual(['a 1'])
}

test.for(['store:after-commit', 'dispatcher:claimed'] as const)(
  'killed at %s of the claim, before the body begins: the Run fails, and the retry runs',
  async (at) => {
    await isClaimedInVain(await killedAfterCommit({ ...claimer, at }, 'a 1 QUEUED, no run'))
  },
)

async function isClaimedInVain(scene: Scene): Promise<void> {
  expect(await scene.database.jobs()).toEqual(['a 1 RUNNING, run open, occupied'])
  expect(await scene.recoverTwice()).toEqual({ ...NOTHING_RECOVERED, runningJobsRecovered: 1, retriesCreated: 1 })
  await scene.executeDue()
  expect([...scene.begun, ...scene.executed]).toEqual(['a 2'])
  expect(await scene.database.jobs()).toEqual(['a 1 FINISHED, run FAILED crash', 'a 2 FINISHED, run COMPLETED'])
}
