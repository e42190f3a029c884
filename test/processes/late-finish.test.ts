import { expect, test, vi } from 'vitest'
import { PATIENCE, type Script, Stage } from './stage.ts'

// A node is taken for dead although it lives: somebody deleted the file, or the row, by which it shows that it does.

test('a finish that comes after recovery changes nothing, and is told as late', async () => {
  const stage = new Stage()
  const zombie = await takenForDead(stage)
  stage.letGo('a')
  await stage.becomes(['a 1 FINISHED, run FAILED crash', 'a 2 FINISHED, run COMPLETED'])
  const tables = await stage.database.tables()
  zombie.kill('SIGCONT')
  const [first] = await stage.select('select job_id from pawl_jobs where attempt = 1')
  expect(await zombie.tells('late')).toBe(first?.['job_id'])
  const after = await stage.database.tables()
  for (const name of ['pawl_jobs', 'pawl_runs', 'pawl_events', 'pawl_occupancies'] as const) {
    expect(tables[name]).toBeDefined()
    expect(after[name]).toEqual(tables[name])
  }
  expect(stage.begun()).toEqual(['zombie a 1', 'other a 2'])
  await stage.isSound()
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
  await stage.kill('zombie', zombie)
  await stage.becomes(
    [
      'a 1 FINISHED, run FAILED crash',
      'a 2 FINISHED, run COMPLETED',
      'b 1 FINISHED, run FAILED crash',
      'b 2 QUEUED, no run',
    ],
    { timeout: 5_000, interval: 10 },
  )
  await stage.isSound()
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
  await vi.waitFor(async () => expect(await stage.proves(zombie)).toBe(true), PATIENCE)
  other.kill('SIGCONT')
  await other.tells('recovered')
  stage.letGo('a')
  await zombie.tells('late')
  await stage.enqueue('polite', 'b')
  await stage.begins('b')
  await stage.isSound()
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
  await stage.forget('zombie', node)
}
