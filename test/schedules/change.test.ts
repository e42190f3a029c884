// A change applies from the next slot on. What was due when it came is fired as the schedule was.
import { describe, expect, test } from 'vitest'
import type { ScheduleChange } from '../../src/operations/schedule-options.ts'
import { HOUR, jobsOf, MINUTE, openStage, refusalOf, report, SECOND, START, skipsOf, slotsOf } from './stage.ts'

describe('a change of the timing starts from now', () => {
  test.for<{ change: ScheduleChange; next: number }>([
    { change: { cron: '15 * * * *' }, next: 75 },
    { change: { timezone: 'Asia/Kolkata' }, next: 90 },
    { change: { everyMs: 7 * MINUTE }, next: 77 },
  ])('$change', async ({ change, next }) => {
    await using stage = await openStage()
    const schedule = await stage.schedules.create({ name: 'hourly', type: report, cron: '@hourly' })
    await stage.advance(70 * MINUTE)
    const changed = await stage.schedules.change(schedule.scheduleId, change)
    expect(changed).toMatchObject({ lastSlotAt: START + 70 * MINUTE, nextSlotAt: START + next * MINUTE })
    expect(changed.revision).toBeGreaterThan(schedule.revision)
    await stage.advance((next - 70) * MINUTE)
    expect(await slotsOf(stage.scheduler, schedule)).toEqual([HOUR, next * MINUTE])
  })

  test('from an interval to an expression and back: a new interval counts from the change', async () => {
    await using stage = await openStage()
    const { scheduleId } = await stage.schedules.create({ name: 'x', type: report, everyMs: 10 * MINUTE })
    await stage.advance(11 * MINUTE)
    const hourly = await stage.schedules.change(scheduleId, { cron: '@hourly' })
    expect(hourly).toMatchObject({ timing: { kind: 'cron' }, nextSlotAt: START + HOUR })
    await stage.advance(MINUTE)
    const often = await stage.schedules.change(scheduleId, { everyMs: 5 * MINUTE })
    expect(often).toMatchObject({ timing: { kind: 'every' }, nextSlotAt: START + 17 * MINUTE })
    const same = await stage.schedules.change(scheduleId, { everyMs: 5 * MINUTE, timezone: 'Asia/Tokyo' })
    expect(same.nextSlotAt).toBe(START + 17 * MINUTE)
  })

  test('enabling, too: what came while it was disabled is neither made nor missed', async () => {
    await using stage = await openStage()
    const schedule = await stage.schedules.create({ name: 'x', type: report, cron: '* * * * *', missed: 'all' })
    await stage.advance(MINUTE)
    expect(await stage.schedules.disable(schedule.scheduleId)).toMatchObject({ enabled: false, nextSlotAt: null })
    await stage.advance(9.5 * MINUTE)
    const enabled = await stage.schedules.enable(schedule.scheduleId)
    expect(enabled).toMatchObject({ enabled: true, disabledReason: null, nextSlotAt: START + 11 * MINUTE })
    await stage.advance(MINUTE)
    expect(await slotsOf(stage.scheduler, schedule)).toEqual([MINUTE, 11 * MINUTE])
    expect(await skipsOf(stage.scheduler, schedule)).toEqual([])
  })
})

test('an interval that is disabled and enabled keeps its beat', async () => {
  await using stage = await openStage()
  const { scheduleId } = await stage.schedules.create({ name: 'x', type: report, everyMs: 10 * MINUTE })
  await stage.schedules.disable(scheduleId)
  await stage.advance(33 * MINUTE)
  expect((await stage.schedules.enable(scheduleId)).nextSlotAt).toBe(START + 40 * MINUTE)
})

test('any other change moves no slot', async () => {
  await using stage = await openStage()
  const template = await stage.templates.create({ name: 't', type: report, defaultParams: { of: 'template' } })
  const { templateId } = template
  const { scheduleId } = await stage.schedules.create({ name: 'x', type: report, cron: '@hourly', tags: ['old'] })
  const changes: ScheduleChange[] = [
    { name: 'new' },
    { templateId },
    { paramOverrides: { more: 1 } },
    { missed: 'all' },
    { overlap: 'queue-one' },
    { priority: 9 },
    { tags: ['red'] },
    { businessKey: 'key' },
    // As it is.
    { cron: '@hourly', timezone: 'UTC', enabled: true },
  ]
  for (const change of changes) {
    await stage.advance(MINUTE)
    const changed = await stage.schedules.change(scheduleId, change)
    expect(changed).toMatchObject({ lastSlotAt: START, nextSlotAt: START + HOUR })
  }
  await stage.advance(HOUR)
  const [job, ...rest] = await jobsOf(stage.scheduler, { scheduleId })
  expect(rest).toEqual([])
  expect(job).toMatchObject({
    name: 'new',
    templateId,
    params: { of: 'template', more: 1 },
    priority: 9,
    tags: ['red'],
    businessKey: 'key',
  })
  expect(await stage.schedules.get(scheduleId)).toMatchObject({ missed: 'all', overlap: 'queue-one' })
  expect(await stage.schedules.change(scheduleId, { businessKey: null })).toMatchObject({ businessKey: null })
})

test.for<{ change: ScheduleChange; next: number | null }>([
  { change: { cron: '@daily', paramOverrides: { of: 'new' } }, next: 24 * 60 },
  { change: { paramOverrides: { of: 'new' }, name: 'new' }, next: 6 },
  { change: { enabled: false }, next: null },
])('slots that are due when the change comes fire as the schedule was: $change', async ({ change, next }) => {
  await using stage = await openStage()
  const options = {
    name: 'old',
    type: report,
    cron: '* * * * *',
    missed: 'all',
    paramOverrides: { of: 'old' },
  } as const
  const schedule = await stage.schedules.create(options)
  await stage.scheduler.stop()
  await stage.advance(5.5 * MINUTE)
  const changed = await stage.schedules.change(schedule.scheduleId, change)
  expect(changed.nextSlotAt).toBe(next === null ? null : START + next * MINUTE)
  const jobs = await jobsOf(stage.scheduler, schedule)
  expect(jobs.map(({ slotAt }) => slotAt)).toEqual([1, 2, 3, 4, 5].map((minute) => START + minute * MINUTE))
  for (const job of jobs) expect(job).toMatchObject({ name: 'old', params: { of: 'old' } })
  await stage.scheduler.start()
  await stage.runUntilIdle()
  expect(await jobsOf(stage.scheduler, schedule)).toHaveLength(5)
})

test('a schedule whose due slots cannot be made any more can still be changed', async () => {
  await using stage = await openStage()
  const { templateId } = await stage.templates.create({ name: 't', type: report })
  const schedule = await stage.schedules.create({ name: 'x', templateId, cron: '* * * * *' })
  await stage.scheduler.stop()
  await stage.templates.archive(templateId)
  await stage.advance(90 * SECOND)
  const changed = await stage.schedules.change(schedule.scheduleId, { type: 'report', cron: '@hourly' })
  expect(changed).toMatchObject({ enabled: true, target: { kind: 'type', type: 'report' }, nextSlotAt: START + HOUR })
  await stage.scheduler.start()
  await stage.advance(HOUR)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([HOUR])
})

test('switching what is switched already changes nothing', async () => {
  await using stage = await openStage()
  const schedule = await stage.schedules.create({ name: 'x', type: report, cron: '@hourly' })
  expect(await stage.schedules.enable(schedule.scheduleId)).toEqual(schedule)
  const disabled = await stage.schedules.disable(schedule.scheduleId)
  expect(await stage.schedules.disable(schedule.scheduleId)).toEqual(disabled)
})

test('disabling touches no Job that was made', async () => {
  await using stage = await openStage()
  const schedule = await stage.schedules.create({ name: 'x', type: report, cron: '@hourly' })
  await stage.scheduler.stop()
  await stage.schedules.trigger(schedule.scheduleId)
  await stage.schedules.disable(schedule.scheduleId)
  await stage.scheduler.start()
  await stage.runUntilIdle()
  expect(await jobsOf(stage.scheduler, schedule)).toMatchObject([{ status: 'FINISHED', outcome: 'COMPLETED' }])
})

test('many changes at once are all made, one after the other', async () => {
  await using stage = await openStage()
  const { scheduleId } = await stage.schedules.create({ name: 'x', type: report, cron: '@hourly' })
  const changes: ScheduleChange[] = [{ name: 'new' }, { priority: 5 }, { tags: ['red'] }, { missed: 'none' }]
  await Promise.all(changes.map((change) => stage.schedules.change(scheduleId, change)))
  expect(await stage.schedules.get(scheduleId)).toMatchObject({
    name: 'new',
    priority: 5,
    tags: ['red'],
    missed: 'none',
  })
})

test('who names the revision that was decided on gets a conflict when it is no longer that', async () => {
  await using stage = await openStage()
  const { scheduleId, revision } = await stage.schedules.create({ name: 'x', type: report, cron: '@hourly' })
  const changed = await stage.schedules.change(scheduleId, { name: 'mine', revision })
  const refusal = await refusalOf(stage.schedules.change(scheduleId, { name: 'yours', revision }))
  expect(refusal).toMatchObject({ code: 'conflict', path: 'revision', details: { revision: changed.revision } })
  const results = await Promise.allSettled(
    ['a', 'b'].map((name) => stage.schedules.change(scheduleId, { name, revision: changed.revision })),
  )
  expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
})
