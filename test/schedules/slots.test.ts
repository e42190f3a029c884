// A schedule makes a Job at each of its slots, and the Job says where it comes from.
import { expect, test, vi } from 'vitest'
import { HOUR, jobsOf, MINUTE, openStage, refusalOf, report, SECOND, START, slotsOf } from './stage.ts'

test('an interval makes a Job each time it has passed, counted from creation', async () => {
  await using stage = await openStage()
  await stage.advance(7 * SECOND)
  const schedule = await stage.schedules.create({ name: 'often', type: report, everyMs: 10 * SECOND })
  await stage.advance(9 * SECOND)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([])
  await stage.advance(SECOND)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([17 * SECOND])
  await stage.advance(25 * SECOND)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([17, 27, 37].map((at) => at * SECOND))
})

test.for([
  { cron: '*/20 * * * *', every: 20 * MINUTE },
  { cron: '*/20 * * * * *', every: 20 * SECOND },
  { cron: '@hourly', every: HOUR },
])('$cron makes its Jobs at the instants it names', async ({ cron, every }) => {
  await using stage = await openStage()
  const schedule = await stage.schedules.create({ name: 'on time', type: report, cron })
  await stage.advance(3 * every)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([every, 2 * every, 3 * every])
  for (const job of await jobsOf(stage.scheduler, schedule)) {
    expect(job).toMatchObject({ createdAt: job.slotAt, runAt: job.slotAt, status: 'FINISHED', outcome: 'COMPLETED' })
  }
})

test('a time of day is that of the zone, also across a change of its clocks', async () => {
  await using stage = await openStage()
  await stage.advance(Date.UTC(2026, 2, 27, 12) - START)
  const schedule = await stage.schedules.create({
    name: 'morning',
    type: report,
    cron: '30 8 * * *',
    timezone: 'Europe/Berlin',
  })
  await stage.advance(3 * 24 * HOUR)
  // On 29 March 2026 the clocks of Berlin leap from two to three o'clock.
  expect(await slotsOf(stage.scheduler, schedule)).toEqual(
    ['2026-03-28T07:30Z', '2026-03-29T06:30Z', '2026-03-30T06:30Z'].map((at) => Date.parse(at) - START),
  )
})

test('its Jobs carry what the schedule says of them', async () => {
  await using stage = await openStage()
  const { scheduleId } = await stage.schedules.create({
    name: 'nightly report',
    type: 'report',
    cron: '@daily',
    paramOverrides: { of: 'sales' },
    priority: 7,
    tags: ['night', 'sales'],
    businessKey: 'the report',
  })
  await stage.advance(24 * HOUR)
  const [job] = await jobsOf(stage.scheduler, { scheduleId })
  expect(job).toMatchObject({
    type: 'report',
    name: 'nightly report',
    params: { of: 'sales' },
    priority: 7,
    tags: ['night', 'sales'],
    businessKey: 'the report',
    createdBy: 'schedule',
    scheduleId,
    slotAt: START + 24 * HOUR,
    templateId: null,
    attempt: 1,
  })
})

test('a schedule tells when it last made a Job and when its next slot comes', async () => {
  await using stage = await openStage()
  const made = await stage.schedules.create({ name: 'hourly', type: report, cron: '@hourly' })
  expect(made).toMatchObject({ enabled: true, lastTriggeredAt: null, nextSlotAt: START + HOUR, revision: 1 })
  expect(await stage.schedules.get(made.scheduleId)).toEqual(made)
  await stage.advance(90 * MINUTE)
  expect(await stage.schedules.get(made.scheduleId)).toMatchObject({
    lastTriggeredAt: START + HOUR,
    lastSlotAt: START + HOUR,
    nextSlotAt: START + 2 * HOUR,
  })
})

test('each Job of a schedule is told as an event, after it was queued', async () => {
  await using stage = await openStage()
  const told: string[] = []
  stage.scheduler.on('job.queued', ({ jobId }) => told.push(`queued ${jobId}`))
  stage.scheduler.on('schedule.triggered', ({ jobId, type }) => told.push(`triggered ${jobId} ${type}`))
  const schedule = await stage.schedules.create({ name: 'hourly', type: report, cron: '@hourly' })
  await stage.advance(HOUR)
  const [job] = await jobsOf(stage.scheduler, schedule)
  await vi.waitFor(() => expect(told).toEqual([`queued ${job?.jobId}`, `triggered ${job?.jobId} report`]))
})

test('nothing is made while no scheduler is started, and a disabled schedule makes nothing', async () => {
  await using stage = await openStage()
  const minutely = { type: report, cron: '* * * * *', missed: 'none' } as const
  const on = await stage.schedules.create({ name: 'on', ...minutely })
  const off = await stage.schedules.create({ name: 'off', ...minutely, enabled: false })
  expect(off.nextSlotAt).toBeNull()
  await stage.scheduler.stop()
  await stage.advance(10.5 * MINUTE)
  expect(await slotsOf(stage.scheduler, on)).toEqual([])
  await stage.scheduler.start()
  await stage.advance(MINUTE)
  expect(await slotsOf(stage.scheduler, on)).toEqual([10 * MINUTE, 11 * MINUTE])
  expect(await slotsOf(stage.scheduler, off)).toEqual([])
})

test('triggering makes one Job now and moves no slot', async () => {
  await using stage = await openStage()
  const { scheduleId } = await stage.schedules.create({ name: 'hourly', type: report, cron: '@hourly' })
  await stage.advance(10 * MINUTE)
  const before = await stage.schedules.get(scheduleId)
  const { jobId } = await stage.schedules.trigger(scheduleId, { createdBy: 'Ada' })
  expect(await stage.scheduler.getJob(jobId)).toMatchObject({
    scheduleId,
    slotAt: null,
    createdBy: 'Ada',
    name: 'hourly',
  })
  expect(await stage.schedules.get(scheduleId)).toMatchObject({
    lastTriggeredAt: START + 10 * MINUTE,
    lastSlotAt: before.lastSlotAt,
    nextSlotAt: before.nextSlotAt,
  })
  await stage.advance(HOUR)
  expect(await slotsOf(stage.scheduler, { scheduleId })).toEqual([null, HOUR])
})

test('a disabled schedule can be triggered; one whose business key is taken cannot', async () => {
  await using stage = await openStage()
  const options = { name: 'yearly', type: report, cron: '@yearly', enabled: false, businessKey: 'one' }
  const { scheduleId } = await stage.schedules.create(options)
  await stage.schedules.trigger(scheduleId)
  await stage.runUntilIdle()
  const holder = await stage.scheduler.enqueue(report, {}, { businessKey: 'one', delayMs: HOUR })
  const refusal = await refusalOf(stage.schedules.trigger(scheduleId))
  expect(refusal).toMatchObject({ code: 'business_key_taken', details: { scheduleId, jobId: holder.jobId } })
  expect(await slotsOf(stage.scheduler, { scheduleId })).toEqual([null])
})

test('a removed schedule makes nothing more, and its Jobs stay', async () => {
  await using stage = await openStage()
  const schedule = await stage.schedules.create({ name: 'hourly', type: report, cron: '@hourly' })
  await stage.advance(HOUR)
  await stage.schedules.remove(schedule.scheduleId)
  await stage.advance(5 * HOUR)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([HOUR])
  for (const call of [
    () => stage.schedules.get(schedule.scheduleId),
    () => stage.schedules.remove(schedule.scheduleId),
    () => stage.schedules.trigger(schedule.scheduleId),
    () => stage.schedules.preview(schedule.scheduleId),
    () => stage.schedules.listSkipped(schedule.scheduleId),
    () => stage.schedules.enable(schedule.scheduleId),
    () => stage.schedules.change(schedule.scheduleId, { name: 'other' }),
  ]) {
    expect((await refusalOf(call)).code).toBe('schedule_not_found')
  }
})

test('lists are newest first, page by page, of all, the enabled or the disabled', async () => {
  await using stage = await openStage()
  const names = ['a', 'b', 'c', 'd', 'e']
  for (const [index, name] of names.entries()) {
    await stage.schedules.create({ name, type: report, cron: '@daily', enabled: index % 2 === 0 })
  }
  const first = await stage.schedules.list({ limit: 2 })
  const rest = await stage.schedules.list({ cursor: first.nextCursor })
  expect([...first.items, ...rest.items].map(({ name }) => name)).toEqual(names.toReversed())
  expect((await stage.schedules.list({ enabled: false })).items.map(({ name }) => name)).toEqual(['d', 'b'])
})

test('a scheduler that is closed refuses', async () => {
  const stage = await openStage()
  await stage.close()
  expect((await refusalOf(stage.schedules.list())).code).toBe('closed')
  expect((await refusalOf(stage.templates.list())).code).toBe('closed')
})
