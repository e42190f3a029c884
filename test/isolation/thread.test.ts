import { expect, test } from 'vitest'
import { threadIsolation } from '../../dist/engine/isolation/thread.js'
import { HANDLER, stage } from './stage.ts'

test('a thread that goes over its memory limit dies alone', async () => {
  const isolation = threadIsolation({ module: HANDLER, resourceLimits: { maxOldGenerationSizeMb: 16 } })
  const { ended } = stage(isolation, { act: 'allocate' })
  expect(await ended).toMatchObject({ kind: 'died', message: expect.stringContaining('memory') })
})

test('a thread is no child process, so none is recorded', async () => {
  const recordChild = () => expect.fail('recorded')
  const { ended } = stage(threadIsolation({ module: HANDLER }), { act: 'nothing' }, { recordChild })
  expect(await ended).toMatchObject({ kind: 'returned' })
})

test('each body has a thread of its own, and they execute at the same time', async () => {
  const isolation = threadIsolation({ module: HANDLER })
  const looping = stage(isolation, { act: 'loop' }, { killGraceMs: 0 })
  await looping.hears('looping')
  expect(await stage(isolation, { act: 'nothing' }).ended).toMatchObject({ kind: 'returned' })
  looping.body.interrupt('shutdown')
  expect(await looping.ended).toMatchObject({ kind: 'died' })
})
