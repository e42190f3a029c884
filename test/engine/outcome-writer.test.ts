import { expect, test, vi } from 'vitest'
import { PawlError } from '../../src/domain/errors.ts'
import { OutcomeWriter } from '../../src/engine/outcome-writer.ts'
import { SettableClock } from '../../src/testing/index.ts'
import { listeningLogger } from '../lifecycle/stage.ts'

test('an outcome that waits for a row which somebody holds does not hold up those that ended with it', async () => {
  const clock = new SettableClock()
  let isHeld = true
  const written: string[] = []
  const writer = new OutcomeWriter<string, string>({
    clock,
    logger: listeningLogger(),
    write: async (ends) => {
      if (isHeld && ends.includes('held')) throw new PawlError('store_busy', 'Somebody holds a row.')
      written.push(...ends)
      return ends
    },
    instead: (end) => end,
    idOf: (end) => end,
  })
  const answers = Promise.all(['first', 'held', 'last'].map((end) => writer.write(end)))
  await vi.waitFor(() => expect(written).toEqual(['first', 'last']))
  expect(['first', 'held', 'last'].map((end) => writer.isWriting(end))).toEqual([true, true, true])
  isHeld = false
  clock.set(clock.now() + 250)
  expect(await answers).toEqual(['first', 'held', 'last'])
  expect(written).toEqual(['first', 'last', 'held'])
})
