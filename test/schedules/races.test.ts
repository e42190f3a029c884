// Several schedulers on one store look at the same instant. None leads, and each slot makes one Job.
import { expect, test } from 'vitest'
import type { Store, StoreSource } from '../../src/store/store.ts'
import { SettableClock } from '../../src/testing/index.ts'
import { jobsOf, MINUTE, newSharedStore, openStage, report, SECOND, START, skipsOf, slotsOf } from './stage.ts'

/** The store itself, where every firing that it answers is noted. */
function noting(source: StoreSource, answers: string[]): StoreSource {
  return {
    ...source,
    open: async () => {
      const store = await source.open()
      const fireSlots: Store['fireSlots'] = async (...request) => {
        const results = await store.fireSlots(...request)
        answers.push(...results.map(({ kind }) => kind))
        return results
      }
      return Object.assign(Object.create(store) as Store, bound(store), { fireSlots })
    },
  }
}

/** The methods of a store keep what they need in private fields, so they must be called on the store itself. */
function bound(store: Store): Partial<Store> {
  const methods: Record<string, unknown> = {}
  for (let level: object = store; level !== Object.prototype; level = Object.getPrototypeOf(level) as object) {
    for (const name of Object.getOwnPropertyNames(level)) {
      const value = (store as unknown as Record<string, unknown>)[name]
      if (typeof value === 'function' && name !== 'constructor') methods[name] ??= value.bind(store)
    }
  }
  return methods as Partial<Store>
}

test('four schedulers that see a slot at the same instant make one Job of it', async () => {
  const store = newSharedStore()
  const clock = new SettableClock(START)
  const answers: string[] = []
  const stages = await Promise.all(
    Array.from({ length: 4 }, () => openStage({ clock, store: noting(store, answers), jobs: [report] })),
  )
  const [first] = stages
  expect.assert(first !== undefined)
  const schedules = await Promise.all(
    ['a', 'b', 'c'].map((name) => first.schedules.create({ name, type: report, everyMs: MINUTE })),
  )
  const becomeStill = async () => {
    for (const stage of stages) await stage.runUntilIdle()
  }
  await first.scheduler.stop()
  await first.scheduler.start()
  for (const stage of stages) {
    // Each knows of the schedules: it has looked since they were made.
    await stage.scheduler.stop()
    await stage.scheduler.start()
  }
  for (let minute = 1; minute <= 5; minute++) {
    clock.set(START + minute * MINUTE)
    await becomeStill()
  }
  for (const schedule of schedules) {
    expect(await slotsOf(first.scheduler, schedule)).toEqual([1, 2, 3, 4, 5].map((minute) => minute * MINUTE))
    for (const job of await jobsOf(first.scheduler, schedule)) expect(job.attempt).toBe(1)
  }
  // They did race: of all firings, each slot's first won and the others found it gone.
  expect(answers.filter((kind) => kind === 'fired')).toHaveLength(15)
  expect(answers.filter((kind) => kind === 'stale').length).toBeGreaterThan(0)
  for (const stage of stages) await stage.close()
})

test('a change races with the slot that it is about: the slot makes its Job as it was, or as it is', async () => {
  const store = newSharedStore()
  const clock = new SettableClock(START)
  await using one = await openStage({ store, clock })
  await using two = await openStage({ store, clock })
  const schedule = await one.schedules.create({ name: 'old', type: report, everyMs: 10 * SECOND })
  await two.scheduler.stop()
  await two.scheduler.start()
  for (let count = 1; count <= 10; count++) {
    clock.set(START + count * 10 * SECOND)
    await two.schedules.change(schedule.scheduleId, { name: `name ${count}`, priority: count })
    await one.runUntilIdle()
    await two.runUntilIdle()
  }
  expect(await slotsOf(one.scheduler, schedule)).toEqual(
    Array.from({ length: 10 }, (_, index) => (index + 1) * 10 * SECOND),
  )
  const jobs = await jobsOf(one.scheduler, schedule)
  for (const [index, job] of jobs.entries()) {
    const before = index === 0 ? 'old' : `name ${index}`
    expect([before, `name ${index + 1}`]).toContain(job.name)
  }
})

test('one whose look takes so long that others make slots meanwhile does not take the clock for set back', async () => {
  const store = newSharedStore()
  const clock = new SettableClock(START)
  await using quick = await openStage({ clock, store })
  const schedule = await quick.schedules.create({ name: 'x', type: report, everyMs: SECOND })
  let meanwhile = async () => {}
  await using slow = await openStage({ clock, store: slowToSay(store, () => meanwhile()) })
  await slow.scheduler.stop()
  const looked = new Promise<void>((resolve) => {
    meanwhile = async () => {
      meanwhile = async () => {}
      clock.set(clock.now() + 3 * SECOND)
      await quick.runUntilIdle()
      resolve()
    }
  })
  await slow.scheduler.start()
  await looked
  await slow.runUntilIdle()
  expect(await slotsOf(quick.scheduler, schedule)).toEqual([1, 2, 3].map((second) => second * SECOND))
  expect(await skipsOf(quick.scheduler, schedule)).toEqual([])
})

/** The store itself, where something happens before it says what was planned. */
function slowToSay(source: StoreSource, happens: () => Promise<void>): StoreSource {
  return {
    ...source,
    open: async () => {
      const store = await source.open()
      const findSchedulesPlannedAfter: Store['findSchedulesPlannedAfter'] = async (...request) => {
        await happens()
        return store.findSchedulesPlannedAfter(...request)
      }
      return Object.assign(Object.create(store) as Store, bound(store), { findSchedulesPlannedAfter })
    },
  }
}
