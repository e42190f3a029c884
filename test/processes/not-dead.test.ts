import { expect, test } from 'vitest'
import { storeKind } from '../stores/package-stores.ts'
import { Stage } from './stage.ts'

// A process that lives must not be taken for dead, whatever its event loop does. The other node looks for dead ones every
// second all that time; the time has gone by when a Job has run there that was due only then. The tests run together,
// because all they do is wait.

/** On a server a node that proves nothing for 15 s is dead. On SQLite no length of silence means anything. */
const LONG_MS = storeKind === 'sqlite' ? 30_000 : 20_000
const PATIENCE = { timeout: LONG_MS + 15_000, interval: 100 }
const timeout = 90_000

test.concurrent('a handler that blocks the event loop for long is not declared dead', { timeout }, async () => {
  const stage = new Stage()
  await stage.startNode('blocked', ['block'])
  const observer = await stage.startNode('observer', ['quick'])
  await stage.enqueue('block', { ms: LONG_MS + 2_000 }, { name: 'long' })
  await stage.becomes(['long 1 RUNNING, run open, occupied'])
  await stage.enqueue('quick', 'later', { delayMs: LONG_MS })
  const finished = 'later 1 FINISHED, run COMPLETED'
  await stage.becomes(['long 1 RUNNING, run open, occupied', finished], PATIENCE)
  await stage.becomes(['long 1 FINISHED, run COMPLETED', finished])
  expect(observer.told).toHaveLength(1)
  await stage.isSound()
})

test.concurrent('a process that is stopped by SIGSTOP for long is not declared dead, and goes on', {
  timeout,
}, async (context) => {
  if (storeKind === 'postgres')
    context.skip('only on SQLite: of another machine, silence is all that is seen of its death')
  const stage = new Stage()
  const stopped = await stage.startNode('stopped', ['deaf'])
  const observer = await stage.startNode('observer', ['quick'])
  await stage.enqueue('deaf', 'long')
  await stage.begins('long')
  stopped.kill('SIGSTOP')
  await stage.enqueue('quick', 'later', { delayMs: LONG_MS })
  stage.letGo('long')
  const finished = 'later 1 FINISHED, run COMPLETED'
  await stage.becomes(['long 1 RUNNING, run open, occupied', finished], PATIENCE)
  stopped.kill('SIGCONT')
  await stage.becomes(['long 1 FINISHED, run COMPLETED', finished])
  expect(observer.told).toHaveLength(1)
  expect(stopped.told).toHaveLength(1)
  await stage.isSound()
})

test.concurrent('close() with a body that ignores its abort: the node lives until the body has ended, and only then the retry starts', {
  timeout,
}, async () => {
  const stage = new Stage()
  const leaving = await stage.startNode('leaving', ['deaf'], { shutdownTimeoutMs: 100 })
  await stage.enqueue('deaf', 'a')
  await stage.begins('a')
  const other = await stage.startNode('other', ['deaf', 'quick'])
  leaving.child.stdin?.write('close\n')
  await leaving.tells('closed')
  const waiting = ['a 1 FINISHED, run FAILED shutdown, occupied', 'a 2 QUEUED, no run']
  expect(await stage.jobs()).toEqual(waiting)
  await stage.enqueue('quick', 'later', { delayMs: LONG_MS })
  await stage.becomes([...waiting, 'later 1 FINISHED, run COMPLETED'], PATIENCE)
  expect(other.told).toHaveLength(1)
  expect(leaving.child.exitCode).toBeNull()

  stage.letGo('a')
  expect(await leaving.exited).toBe(0)
  const [first] = await stage.select('select job_id from pawl_jobs where attempt = 1')
  expect(await leaving.tells('late')).toBe(first?.['job_id'])
  await stage.drains()
  expect(stage.begun()).toEqual(['leaving a 1', 'other later 1', 'other a 2'])
  expect(other.told).toHaveLength(1)
  expect(await stage.select('select name from pawl_nodes where ended_at is null')).toEqual([{ name: 'other' }])
  await stage.isSound()
})
