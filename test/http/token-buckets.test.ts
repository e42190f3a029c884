import { expect, test } from 'vitest'
import { TokenBuckets } from '../../src/http/server/token-buckets.ts'
import { SettableClock } from '../../src/testing/settable-clock.ts'

test('who has used up what it may is told when it may again', () => {
  const clock = new SettableClock()
  const buckets = new TokenBuckets(clock, 4)
  expect([1, 2, 3, 4].map(() => buckets.take('a'))).toEqual([0, 0, 0, 0])
  expect(buckets.take('a')).toBe(250)
  clock.set(clock.now() + 249)
  expect(buckets.take('a')).toBeGreaterThan(0)
  clock.set(clock.now() + 1)
  expect(buckets.take('a')).toBe(0)
  expect(buckets.take('b')).toBe(0)
})

test('ten thousand are remembered; one more, and the oldest is forgotten, so that it may everything again', () => {
  const clock = new SettableClock()
  const buckets = new TokenBuckets(clock, 1)
  for (let n = 0; n < 10_000; n++) buckets.take(`caller ${n}`)
  expect(buckets.take('caller 0')).toBeGreaterThan(0)
  buckets.take('one more')
  expect(buckets.take('caller 0')).toBe(0)
  expect(buckets.take('caller 9999')).toBeGreaterThan(0)
})

test('whoever may everything again is forgotten before those that may not', () => {
  const clock = new SettableClock()
  const buckets = new TokenBuckets(clock, 1)
  buckets.take('busy')
  for (let n = 0; n < 9_999; n++) buckets.take(`caller ${n}`)
  clock.set(clock.now() + 1_000)
  buckets.take('busy')
  buckets.take('one more')
  expect(buckets.take('busy')).toBeGreaterThan(0)
})
