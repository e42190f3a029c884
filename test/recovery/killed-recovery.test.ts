import { expect, test } from 'vitest'
import { storeKind } from '../stores/package-stores.ts'
import { KILLS_MIN, killedAfterCommit, NOTHING_RECOVERED, nextWrite, Scene } from './scene.ts'

// Real processes, killed by SIGKILL while they recover what an earlier one left: crash, restart, crash.

const rescuer = { bodies: 2, arm: 'recovery:node-found' } as const

const LOST = ['a 1 RUNNING, run open, occupied', 'b 1 RUNNING, run open, occupied', 'c 1 QUEUED, no run'] as const
const RECOVERED = [
  'a 1 FINISHED, run FAILED crash',
  'b 1 FINISHED, run FAILED crash',
  'c 1 QUEUED, no run',
  'a 2 QUEUED, no run',
  'b 2 QUEUED, no run',
]

test('killed before any write of the recovery: the next process recovers, and each Job is retried once', {
  timeout: 120_000,
}, async () => {
  let kills = 0
  for (let write = 1; ; write = nextWrite(write)) {
    const scene = await lost()
    await scene.crash({ ...rescuer, at: 'store:statement', nth: write })
    if ((await scene.database.jobs()).toString() === RECOVERED.toString()) break
    expect(await scene.database.jobs()).toEqual(LOST)
    await isRecoveredByNext(scene, { ...NOTHING_RECOVERED, runningJobsRecovered: 2, retriesCreated: 2 })
    kills++
  }
  expect(kills).toBeGreaterThanOrEqual(KILLS_MIN)
})

test.for(['recovery:node-found', 'store:before-commit'] as const)('killed at %s: the same', async (at) => {
  const scene = await lost()
  expect(await scene.crash({ ...rescuer, at })).toBe('killed')
  expect(await scene.database.jobs()).toEqual(LOST)
  await isRecoveredByNext(scene, { ...NOTHING_RECOVERED, runningJobsRecovered: 2, retriesCreated: 2 })
})

test.for(['store:after-commit', 'recovery:runs-ended'] as const)(
  'killed at %s, when the Runs are ended: the next process has nothing to add',
  async (at) => {
    const scene = await killedAfterCommit({ ...rescuer, at }, LOST[0], lost)
    expect(await scene.database.jobs()).toEqual(RECOVERED)
    await isRecoveredByNext(scene, NOTHING_RECOVERED)
  },
)

test('five restarts that all die while they recover do no more harm than one', async () => {
  const scene = await lost()
  for (let restart = 0; restart < 5; restart++) {
    expect(await scene.crash({ ...rescuer, at: 'recovery:node-found' })).toBe('killed')
  }
  expect(await scene.database.jobs()).toEqual(LOST)
  await isRecoveredByNext(scene, { ...NOTHING_RECOVERED, runningJobsRecovered: 2, retriesCreated: 2 })
})

/** A process was killed with two bodies. On a server, where that takes longer, a node that only says it is another one. */
async function lost(): Promise<Scene> {
  const scene = new Scene()
  if (storeKind === 'sqlite') {
    await scene.crash({ enqueue: ['a', 'b', 'c'], bodies: 2, body: 'die', concurrency: 2 })
  } else {
    await scene.enqueue(['a', 'b', 'c'])
    await scene.crashAfterClaiming(2)
  }
  expect(await scene.database.jobs()).toEqual(LOST)
  return scene
}

async function isRecoveredByNext(scene: Scene, stats: typeof NOTHING_RECOVERED): Promise<void> {
  expect(await scene.recoverTwice()).toEqual(stats)
  expect(await scene.database.jobs()).toEqual(RECOVERED)
  await scene.executeDue()
  expect(scene.executed).toEqual(['a 2', 'b 2', 'c 1'])
}
