// Ids are UUIDv7, and they only grow within a process: order by id is order of creation.
import { SettableClock } from 'pawl/testing'
import { UUID } from 'uuidv7'
import { expect, test } from 'vitest'
import { createIdSource } from '../../src/platform/ids.ts'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('ids are UUIDv7 as text, with the instant of the clock', () => {
  const clock = new SettableClock()
  const id = createIdSource(clock)()
  expect(id).toMatch(UUID_V7)
  expect(UUID.parse(id).toString()).toBe(id)
  expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(clock.now())
})

test('ids of one instant differ and grow', () => {
  const newId = createIdSource(new SettableClock())
  const ids = Array.from({ length: 10_000 }, () => newId())
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.toSorted()).toEqual(ids)
})

test('ids grow also when the clock is set back by an hour', () => {
  let now = 1_800_000_000_000
  const newId = createIdSource({ now: () => now, after: () => ({ cancel: () => {} }) })
  const before = newId()
  now -= 3_600_000
  const after = newId()
  expect(after > before).toBe(true)
})
