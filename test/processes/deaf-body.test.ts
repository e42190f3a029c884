import { expect, test } from 'vitest'
import { isSound } from '../recovery/database.ts'
import { Stage } from './stage.ts'

test('close() with a body that ignores its abort: the node lives until the body has ended, and only then the retry starts', async () => {
  const stage = new Stage()
  const leaving = await stage.startNode('leaving', ['deaf'], { shutdownTimeoutMs: 100 })
  await stage.enqueue('deaf', 'a')
  await stage.begins('a')
  const other = await stage.startNode('other', ['deaf', 'quick'])
  leaving.child.stdin?.write('close\n')
  await leaving.tells('closed')
  const waiting = ['a 1 FINISHED, run FAILED shutdown, occupied', 'a 2 QUEUED, no run']
  expect(stage.jobs()).toEqual(waiting)
  // When this Job has run, the other node has looked for dead ones three times.
  await stage.enqueue('quick', 'later', { delayMs: 3_000 })
  await stage.becomes([...waiting, 'later 1 FINISHED, run COMPLETED'])
  expect(other.told).toHaveLength(1)
  expect(leaving.child.exitCode).toBeNull()

  stage.letGo('a')
  expect(await leaving.exited).toBe(0)
  expect(await leaving.tells('late')).toBe(
    stage.select('select job_id from pawl_jobs where attempt = 1')[0]?.['job_id'],
  )
  await stage.drains()
  expect(stage.begun()).toEqual(['leaving a 1', 'other later 1', 'other a 2'])
  expect(other.told).toHaveLength(1)
  expect(stage.select('select name from pawl_nodes where ended_at is null')).toEqual([{ name: 'other' }])
  isSound(stage.file)
})
