// Statistics stay small, however long a store lives and however many nodes there were.

import { defineJob } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler, SettableClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { newDatabasePath } from '../lifecycle/stage.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const BEGIN = Date.UTC(2026, 0, 1)

const quick = defineJob({ type: 'quick', run: () => null })

/** A node that lives for a moment, executes one Job and leaves. */
async function liveBriefly(path: string, at: number): Promise<void> {
  await using stage = await openTestScheduler({ store: sqlite(path), clock: new SettableClock(at), jobs: [quick] })
  await stage.scheduler.enqueue(quick, null)
  await stage.runUntilIdle()
}

async function hoursOf(path: string): Promise<(readonly [hoursAgo: number | 'old', executed: number])[]> {
  const store = await sqlite(path).open()
  const hours = await store.listHours(0, 1_000)
  expect((await store.readTotals()).executed).toBe(hours.reduce((sum, { executed }) => sum + executed, 0))
  await store.close()
  return hours.map(({ hourAt, executed }) => [hourAt === 0 ? 'old' : (hourAt - BEGIN) / HOUR_MS, executed])
}

test('a start adds up the nodes of hours before the last 48, and hours before the last 90 days', async () => {
  const path = newDatabasePath()
  for (const hour of [0, 0, 1, 1, 40]) await liveBriefly(path, BEGIN + hour * HOUR_MS)
  expect(await hoursOf(path)).toEqual([
    [0, 1],
    [0, 1],
    [1, 1],
    [1, 1],
    [40, 1],
  ])

  await liveBriefly(path, BEGIN + 50 * HOUR_MS)
  expect(await hoursOf(path)).toEqual([
    [0, 2],
    [1, 2],
    [40, 1],
    [50, 1],
  ])

  await liveBriefly(path, BEGIN + 90 * DAY_MS + 3 * HOUR_MS)
  expect(await hoursOf(path)).toEqual([
    ['old', 4],
    [40, 1],
    [50, 1],
    [90 * 24 + 3, 1],
  ])
})

test('a node that lives long does so every hour', async () => {
  const path = newDatabasePath()
  await liveBriefly(path, BEGIN)
  await liveBriefly(path, BEGIN)
  const clock = new SettableClock(BEGIN + 47 * HOUR_MS)
  await using stage = await openTestScheduler({ store: sqlite(path), clock, jobs: [quick] })
  expect(await hoursOf(path)).toHaveLength(2)
  await stage.advance('3h')
  expect(await hoursOf(path)).toEqual([[0, 2]])
})

/** Minutes from the beginning, and what ended in each. */
async function minutesOf(path: string): Promise<(readonly [minute: number, executed: number])[]> {
  const store = await sqlite(path).open()
  const minutes = await store.listMinutes(0, BEGIN + DAY_MS)
  await store.close()
  return minutes.map(({ minuteAt, executed }) => [(minuteAt - BEGIN) / 60_000, executed])
}

test('the minutes of the last 70 minutes are kept, and of their hours; those before are added up', async () => {
  const path = newDatabasePath()
  for (const minute of [5, 6, 59, 60, 61]) await liveBriefly(path, BEGIN + minute * 60_000)
  const each = [5, 6, 59, 60, 61].map((minute) => [minute, 1])
  expect(await minutesOf(path)).toEqual(each)
  await liveBriefly(path, BEGIN + 129 * 60_000)
  expect(await minutesOf(path)).toEqual([...each, [129, 1]])
  await liveBriefly(path, BEGIN + 130 * 60_000)
  expect(await minutesOf(path)).toEqual([
    [0, 3],
    [60, 1],
    [61, 1],
    [129, 1],
    [130, 1],
  ])
})
