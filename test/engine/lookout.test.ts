import { expect, test, vi } from 'vitest'
import { Lookout } from '../../src/engine/lookout.ts'
import { SettableClock } from '../../src/testing/settable-clock.ts'

/** A lookout whose looks end when the test says so, on a clock that the test moves. */
function stand() {
  const clock = new SettableClock()
  const told: string[] = []
  const logger = { info: () => {}, warn: () => {}, error: (_: object, message: string) => void told.push(message) }
  const looks: { resolve(nextLookAt: number | null): void; reject(error: Error): void }[] = []
  const look = () => new Promise<number | null>((resolve, reject) => void looks.push({ resolve, reject }))
  const lookout = new Lookout({ clock, logger, look, failure: 'It cannot be looked; trying again' })
  /** Ends the look that is under way, and waits until nothing more follows from it. */
  async function end(outcome: number | null | Error): Promise<void> {
    const last = looks.at(-1)
    if (outcome instanceof Error) last?.reject(outcome)
    else last?.resolve(outcome)
    await vi.waitFor(() => expect(lookout.isQuiet || looks.at(-1) !== last).toBe(true))
  }
  const later = (ms: number) => clock.set(clock.now() + ms)
  return { lookout, clock, told, looks, end, later }
}

test('it looks when it is started, and then at least every five seconds', async () => {
  const { lookout, looks, end, later } = stand()
  lookout.wake()
  expect(looks).toHaveLength(0)
  lookout.start()
  expect(looks).toHaveLength(1)
  await end(null)
  later(4_999)
  expect(looks).toHaveLength(1)
  later(1)
  expect(looks).toHaveLength(2)
})

test('it looks at the instant that the last look named', async () => {
  const { lookout, clock, looks, end, later } = stand()
  lookout.start()
  await end(clock.now() + 3_000)
  later(2_999)
  expect(looks).toHaveLength(1)
  later(1)
  expect(looks).toHaveLength(2)
})

test('an instant that came during the look is not waited for', async () => {
  const { lookout, clock, looks, end } = stand()
  lookout.start()
  await end(clock.now())
  expect(looks).toHaveLength(2)
  expect(lookout.isQuiet).toBe(false)
})

test('looks never overlap: however often it is woken meanwhile, one look follows', async () => {
  const { lookout, looks, end } = stand()
  lookout.start()
  for (let count = 0; count < 3; count++) lookout.wake()
  expect(looks).toHaveLength(1)
  await end(null)
  expect(looks).toHaveLength(2)
  await end(null)
  expect(looks).toHaveLength(2)
  expect(lookout.isQuiet).toBe(true)
})

test('changes elsewhere, as many as come, make it look once in a quarter of a second', async () => {
  const { lookout, looks, end, later } = stand()
  lookout.start()
  await end(null)
  for (let count = 0; count < 5; count++) {
    lookout.wakeSoon()
    later(50)
  }
  expect(looks).toHaveLength(2)
})

test('a look that fails is tried again after half a second, and told once until one succeeds', async () => {
  const { lookout, told, looks, end, later } = stand()
  lookout.start()
  for (let failures = 1; failures <= 3; failures++) {
    await end(new Error('no database'))
    later(499)
    expect(looks).toHaveLength(failures)
    later(1)
    expect(looks).toHaveLength(failures + 1)
  }
  expect(told).toEqual(['It cannot be looked; trying again'])
  await end(null)
  lookout.wake()
  await end(new Error('no database'))
  expect(told).toHaveLength(2)
})

test('stopping waits for the look that is under way, and nothing follows it', async () => {
  const { lookout, clock, looks, end, later } = stand()
  lookout.start()
  lookout.wake()
  const stopped = vi.fn()
  const stopping = lookout.stop().then(stopped)
  await Promise.resolve()
  expect(stopped).not.toHaveBeenCalled()
  await end(clock.now())
  await stopping
  lookout.wake()
  lookout.wakeSoon()
  later(60_000)
  expect(looks).toHaveLength(1)
  lookout.start()
  expect(looks).toHaveLength(2)
})
