import { expect, test } from 'vitest'
import { isSound } from '../recovery/database.ts'
import { Stage } from './stage.ts'

// A process that gives no sign of life for half a minute is still alive. The other node looks for dead ones every second
// all that time. Half a minute has gone by when a Job has run there that was due only then. The tests run together,
// because all they do is wait.

const HALF_A_MINUTE_MS = 30_000
const PATIENCE = { timeout: 45_000, interval: 100 }

test.concurrent('a handler that blocks the event loop for 30 s is not declared dead', { timeout: 60_000 }, async () => {
  const stage = new Stage()
  await stage.startNode('blocked', ['block'])
  const observer = await stage.startNode('observer', ['quick'])
  await stage.enqueue('block', { ms: HALF_A_MINUTE_MS + 2_000 }, { name: 'long' })
  await stage.becomes(['long 1 RUNNING, run open, occupied'])
  await stage.enqueue('quick', 'later', { delayMs: HALF_A_MINUTE_MS })
  const finished = 'later 1 FINISHED, run COMPLETED'
  await stage.becomes(['long 1 RUNNING, run open, occupied', finished], PATIENCE)
  await stage.becomes(['long 1 FINISHED, run COMPLETED', finished])
  expect(observer.told).toHaveLength(1)
  isSound(stage.file)
})

test.concurrent('a process that is stopped by SIGSTOP for 30 s is not declared dead, and goes on', {
  timeout: 60_000,
}, async () => {
  const stage = new Stage()
  const stopped = await stage.startNode('stopped', ['deaf'])
  const observer = await stage.startNode('observer', ['quick'])
  await stage.enqueue('deaf', 'long')
  await stage.begins('long')
  stopped.kill('SIGSTOP')
  await stage.enqueue('quick', 'later', { delayMs: HALF_A_MINUTE_MS })
  stage.letGo('long')
  const finished = 'later 1 FINISHED, run COMPLETED'
  await stage.becomes(['long 1 RUNNING, run open, occupied', finished], PATIENCE)
  stopped.kill('SIGCONT')
  await stage.becomes(['long 1 FINISHED, run COMPLETED', finished])
  expect(observer.told).toHaveLength(1)
  expect(stopped.told).toHaveLength(1)
  isSound(stage.file)
})
