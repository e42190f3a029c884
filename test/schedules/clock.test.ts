// The clock of a computer can be set. Backward never repeats a slot; forward makes the slots in between missed.
import { expect, test } from 'vitest'
import { HOUR, MINUTE, type OpenStage, openStage, report, START, skipsOf, slotsOf } from './stage.ts'

const minutely = { name: 'minutely', type: report, cron: '* * * * *' } as const

/**
 * Sets the clock without anything happening on the way, as a person does, and lets the scheduler look. A real clock looks
 * every five seconds of real time; a virtual one that goes back has none, so it is woken by something else.
 */
async function setClock(stage: OpenStage, at: number): Promise<void> {
  stage.clock.set(START + at)
  const { scheduleId } = await stage.schedules.create({ name: 'waker', type: report, cron: '@yearly' })
  await stage.schedules.remove(scheduleId)
  await stage.runUntilIdle()
}

test('set back by an hour, and the hour passes again: no slot fires twice', async () => {
  await using stage = await openStage()
  const schedule = await stage.schedules.create(minutely)
  await stage.advance(90 * MINUTE)
  const fired = await slotsOf(stage.scheduler, schedule)
  expect(fired).toHaveLength(90)
  await setClock(stage, 30.5 * MINUTE)
  expect(await skipsOf(stage.scheduler, schedule)).toEqual(['clock-set-back 1830–5400 ×null'])
  expect(await stage.schedules.get(schedule.scheduleId)).toMatchObject({
    lastSlotAt: START + 30.5 * MINUTE,
    nextSlotAt: START + 31 * MINUTE,
  })
  await stage.advance(59.5 * MINUTE)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual(fired)
  await stage.advance(2 * MINUTE)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([...fired, 91 * MINUTE, 92 * MINUTE])
})

test('a clock that was a year ahead for a moment stops no schedule', async () => {
  await using stage = await openStage()
  const cron = await stage.schedules.create({ ...minutely, missed: 'none' })
  const interval = await stage.schedules.create({ name: 'x', type: report, everyMs: 5 * MINUTE, missed: 'none' })
  await stage.advance(10.5 * MINUTE)
  await stage.scheduler.stop()
  const year = 365 * 24 * HOUR
  stage.clock.set(START + year + 10.5 * MINUTE)
  await stage.scheduler.start()
  await stage.runUntilIdle()
  await setClock(stage, 11.5 * MINUTE)
  await stage.advance(5 * MINUTE)
  const firstTen = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  expect(await slotsOf(stage.scheduler, cron)).toEqual([
    ...firstTen.map((minute) => minute * MINUTE),
    year + 10 * MINUTE,
    ...[12, 13, 14, 15, 16].map((minute) => minute * MINUTE),
  ])
  expect(await slotsOf(stage.scheduler, interval)).toEqual([5 * MINUTE, 10 * MINUTE, year + 10 * MINUTE, 15 * MINUTE])
})

test('an interval that was made while the clock was ahead counts from where the clock is set back to', async () => {
  await using stage = await openStage()
  await stage.advance(365 * 24 * HOUR)
  const interval = await stage.schedules.create({ name: 'x', type: report, everyMs: 10 * MINUTE })
  const cron = await stage.schedules.create({ name: 'y', type: report, cron: '0 * * * *' })
  await setClock(stage, 5 * MINUTE)
  expect(await stage.schedules.get(interval.scheduleId)).toMatchObject({ nextSlotAt: START + 15 * MINUTE })
  await stage.advance(HOUR)
  expect(await slotsOf(stage.scheduler, interval)).toEqual([15, 25, 35, 45, 55, 65].map((minute) => minute * MINUTE))
  expect(await slotsOf(stage.scheduler, cron)).toEqual([HOUR])
})

test('a disabled schedule is left alone, and starts from now when it is enabled', async () => {
  await using stage = await openStage()
  await stage.advance(HOUR)
  const { scheduleId } = await stage.schedules.create({ ...minutely, enabled: false })
  const before = await stage.schedules.get(scheduleId)
  await setClock(stage, 10.5 * MINUTE)
  expect(await stage.schedules.get(scheduleId)).toEqual(before)
  expect((await stage.schedules.enable(scheduleId)).nextSlotAt).toBe(START + 11 * MINUTE)
})

test('a clock that is set back while nothing runs is noticed by the next start', async () => {
  await using stage = await openStage()
  const schedule = await stage.schedules.create(minutely)
  await stage.advance(HOUR)
  await stage.scheduler.stop()
  stage.clock.set(START + 30.5 * MINUTE)
  await stage.scheduler.start()
  await stage.runUntilIdle()
  expect(await stage.schedules.get(schedule.scheduleId)).toMatchObject({ nextSlotAt: START + 31 * MINUTE })
  await stage.advance(31 * MINUTE)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual(
    Array.from({ length: 61 }, (_, index) => (index + 1) * MINUTE),
  )
})

test('a step of less than a second is no step', async () => {
  await using stage = await openStage()
  const schedule = await stage.schedules.create(minutely)
  await stage.advance(MINUTE)
  const before = await stage.schedules.get(schedule.scheduleId)
  await setClock(stage, MINUTE - 900)
  expect(await stage.schedules.get(schedule.scheduleId)).toEqual(before)
  await stage.advance(MINUTE)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([MINUTE])
})

test.for([
  { missed: 'none', fired: [60], skipped: ['missed 60–3540 ×59'] },
  { missed: 'one', fired: [59, 60], skipped: ['missed 60–3480 ×58'] },
  { missed: 'all', fired: Array.from({ length: 60 }, (_, index) => index + 1), skipped: [] },
] as const)('set forward by an hour, the slots in between are missed: $missed', async ({ missed, fired, skipped }) => {
  await using stage = await openStage({ concurrency: 10 })
  const schedule = await stage.schedules.create({ ...minutely, missed })
  await stage.scheduler.stop()
  stage.clock.set(START + 60.5 * MINUTE)
  await stage.scheduler.start()
  await stage.runUntilIdle()
  expect(await slotsOf(stage.scheduler, schedule)).toEqual(fired.map((minute) => minute * MINUTE))
  expect(await skipsOf(stage.scheduler, schedule)).toEqual(skipped)
})
