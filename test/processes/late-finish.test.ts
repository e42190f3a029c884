import { existsSync, rmSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { isSound, readTables } from '../recovery/database.ts'
import { PATIENCE, type Script, Stage } from './stage.ts'

// A node is taken for dead although it lives: somebody deleted the file by which it shows that it does.

test('a finish that comes after recovery changes nothing, and is told as late', async () => {
  const stage = new Stage()
  const zombie = await takenForDead(stage)
  stage.letGo('a')
  await stage.becomes(['a 1 FINISHED, run FAILED crash', 'a 2 FINISHED, run COMPLETED'])
  const tables = readTables(stage.file)
  zombie.kill('SIGCONT')
  const { job_id } = stage.select('select job_id from pawl_jobs where attempt = 1')[0] ?? {}
  expect(await zombie.tells('late')).toBe(job_id)
  for (const name of ['pawl_jobs', 'pawl_runs', 'pawl_events', 'pawl_occupancies'] as const) {
    expect(readTables(stage.file)[name]).toEqual(tables[name])
  }
  expect(stage.begun()).toEqual(['zombie a 1', 'other a 2'])
  isSound(stage.file)
})

test('it registers anew and claims again, and what it claims is recovered when it really dies', async () => {
  const stage = new Stage()
  const zombie = await takenForDead(stage)
  await stage.begins('a', 2)
  stage.letGo('a')
  zombie.kill('SIGCONT')
  await zombie.tells('late')
  await stage.becomes(['a 1 FINISHED, run FAILED crash', 'a 2 FINISHED, run COMPLETED'])
  await stage.enqueue('polite', 'b')
  await stage.begins('b')
  zombie.kill('SIGKILL')
  await stage.becomes(
    [
      'a 1 FINISHED, run FAILED crash',
      'a 2 FINISHED, run COMPLETED',
      'b 1 FINISHED, run FAILED crash',
      'b 2 QUEUED, no run',
    ],
    { timeout: 5_000, interval: 10 },
  )
  isSound(stage.file)
})

test('it registers anew also when it comes back in the middle of its own recovery', async () => {
  const stage = new Stage()
  const zombie = await stage.startNode('zombie', ['deaf', 'polite'])
  await stage.enqueue('deaf', 'a')
  await stage.begins('a')
  const other = await stage.startNode('other', ['deaf'], { stopAt: 'recovery:runs-ended' })
  await stopAndForget(stage, zombie)
  await other.tells('stoppedAt')
  zombie.kill('SIGCONT')
  const proof = await proofOfLife(stage, zombie)
  await vi.waitFor(() => expect(existsSync(proof)).toBe(true), PATIENCE)
  other.kill('SIGCONT')
  await other.tells('recovered')
  stage.letGo('a')
  await zombie.tells('late')
  await stage.enqueue('polite', 'b')
  await stage.begins('b')
  isSound(stage.file)
})

async function takenForDead(stage: Stage): Promise<Script> {
  const zombie = await stage.startNode('zombie', ['deaf', 'polite'])
  await stage.enqueue('deaf', 'a')
  await stage.begins('a')
  await stage.startNode('other', ['deaf'])
  await stopAndForget(stage, zombie)
  await stage.begins('a', 2)
  return zombie
}

async function stopAndForget(stage: Stage, node: Script): Promise<void> {
  node.kill('SIGSTOP')
  rmSync(await proofOfLife(stage, node))
}

async function proofOfLife(stage: Stage, node: Script): Promise<string> {
  return `${stage.file}-node-${await node.tells<string>('nodeId')}`
}
