import { expect, onTestFailed, test } from 'vitest'
import { Stage } from './stage.ts'

// A node is killed while a body of it loops for ever in a child process. Two of them must never work at once.

test('the child is dead before the retry starts', async () => {
  const stage = new Stage()
  const victim = await stage.startNode('victim', ['child'])
  await stage.enqueue('child', stage.folder, { name: 'loop' })
  await stage.childBeats()
  await stage.kill('victim', victim)
  await stage.startNode('next', ['child'])
  await isTakenOver(stage)
})

test('a node that was there already does the same', async () => {
  const stage = new Stage()
  const victim = await stage.startNode('victim', ['child'])
  await stage.enqueue('child', stage.folder, { name: 'loop' })
  await stage.childBeats()
  await stage.startNode('other', ['child'])
  await stage.kill('victim', victim)
  await isTakenOver(stage)
})

test('a child that cannot notice the death of its node, because it is stopped, is killed by recovery', async () => {
  const stage = new Stage()
  const victim = await stage.startNode('victim', ['child'])
  await stage.enqueue('child', stage.folder, { name: 'loop' })
  const pid = await stage.childBeats()
  onTestFailed(() => killIfThere(pid))
  process.kill(pid, 'SIGSTOP')
  await stage.kill('victim', victim)
  await stage.startNode('next', ['child'])
  await isTakenOver(stage)
})

async function isTakenOver(stage: Stage): Promise<void> {
  await stage.drains()
  expect(await stage.jobs()).toEqual(['loop 1 FINISHED, run FAILED crash', 'loop 2 FINISHED, run COMPLETED'])
  const { beganAt, isFirstAlive } = await stage.resultOf(2)
  expect(isFirstAlive).toBe(false)
  expect(stage.lastBeat()).toBeLessThan(beganAt)
  await stage.isSound()
}

/** A stopped child that nobody killed would stay for ever. */
function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It is gone, as it should be.
  }
}
