// A store that cannot be written for a while costs time, never a slot.
import { afterEach, expect, test } from 'vitest'
import { onFaultPoint } from '../../src/store/fault-points.ts'
import { MINUTE, openStage, report, SECOND, skipsOf, slotsOf } from './stage.ts'

afterEach(() => onFaultPoint(null))

test('slots that cannot be written are tried again, and an operator is told once', async () => {
  await using stage = await openStage()
  const schedule = await stage.schedules.create({ name: 'x', type: report, everyMs: 10 * SECOND })
  // As SQLite and as PostgreSQL say that the disk is full.
  const full = Object.assign(new Error('no room'), { errcode: 13, code: '53100' })
  onFaultPoint((point) => {
    if (point === 'store:before-commit') throw full
  })
  await stage.advance(35 * SECOND)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([])
  onFaultPoint(null)
  await stage.advance(SECOND)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([10, 20, 30].map((at) => at * SECOND))
  expect(await skipsOf(stage.scheduler, schedule)).toEqual([])
  const told = stage.logger.told.filter(({ message }) => message === 'Schedules cannot be fired; trying again')
  expect(told).toHaveLength(1)
  await stage.advance(MINUTE)
  expect((await slotsOf(stage.scheduler, schedule)).length).toBe(9)
})

test('stopping waits for the slots under way, and what comes after that waits for the next start', async () => {
  await using stage = await openStage()
  const schedules = await Promise.all(
    Array.from({ length: 150 }, () => stage.schedules.create({ name: 'x', type: report, everyMs: 10 * SECOND })),
  )
  await stage.runUntilIdle()
  stage.clock.set(stage.clock.now() + 10 * SECOND)
  await stage.scheduler.stop()
  const made = async () =>
    (await Promise.all(schedules.map((one) => stage.schedules.get(one.scheduleId)))).filter(
      ({ lastTriggeredAt }) => lastTriggeredAt !== null,
    ).length
  const atStop = await made()
  await stage.advance(SECOND)
  expect(await made()).toBe(atStop)
  await stage.scheduler.start()
  await stage.runUntilIdle()
  expect(await made()).toBe(150)
})
