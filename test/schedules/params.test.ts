// What a params schema says, or fails to say, when a slot comes ends no schedule.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/library/define-job.ts'
import {
  jobsOf,
  MINUTE,
  type OpenStage,
  openStage,
  plainSql,
  refusalOf,
  report,
  SECOND,
  START,
  slotsOf,
} from './stage.ts'

const minutely = { name: 'minutely', cron: '* * * * *' } as const

/** As another release with another schema would have left it. */
async function setParams({ store }: OpenStage, scheduleId: string, params: unknown): Promise<void> {
  const text = JSON.stringify(params)
  await plainSql(store, `update pawl_schedules set params = '${text}' where schedule_id = '${scheduleId}'`)
}

test('params that the schema refuses at a slot make a Job that fails visibly, and the schedule goes on', async () => {
  const strict = defineJob({ type: 'strict', params: z.object({ pages: z.number() }), run: () => 'done' })
  await using stage = await openStage({ jobs: [strict] })
  const schedule = await stage.schedules.create({ ...minutely, type: strict, paramOverrides: { pages: 1 } })
  await setParams(stage, schedule.scheduleId, { pages: 'many' })
  await stage.advance(MINUTE)
  const [job] = await jobsOf(stage.scheduler, schedule)
  expect(job).toMatchObject({ params: { pages: 'many' }, outcome: 'FAILED', slotAt: START + MINUTE })
  expect(await stage.scheduler.findRunOfJob(job?.jobId ?? '')).toMatchObject({ reason: 'invalid-params' })

  await setParams(stage, schedule.scheduleId, { pages: 2 })
  await stage.advance(MINUTE)
  expect((await jobsOf(stage.scheduler, schedule))[1]).toMatchObject({ params: { pages: 2 }, outcome: 'COMPLETED' })
  expect(await stage.schedules.get(schedule.scheduleId)).toMatchObject({ enabled: true, disabledReason: null })
  expect(stage.logger.told).toEqual([])
})

test('the caller who creates, changes or triggers it is still told what the schema refuses', async () => {
  const strict = defineJob({ type: 'strict', params: z.object({ pages: z.number() }), run: () => 'done' })
  await using stage = await openStage({ jobs: [strict] })
  const wrong = { paramOverrides: { pages: 'many' } }
  const { scheduleId } = await stage.schedules.create({ ...minutely, type: strict, paramOverrides: { pages: 1 } })
  expect(await refusalOf(stage.schedules.create({ ...minutely, type: strict, ...wrong }))).toMatchObject({
    code: 'invalid_params',
    path: 'params.pages',
  })
  expect((await refusalOf(stage.schedules.change(scheduleId, wrong))).code).toBe('invalid_params')
  await setParams(stage, scheduleId, { pages: 'many' })
  expect((await refusalOf(stage.schedules.trigger(scheduleId))).code).toBe('invalid_params')
})

test('what the schema makes of the params cannot be stored: the Job is made with the params as they are', async () => {
  let isNew = false
  const params = z
    .looseObject({ pages: z.number() })
    .transform((value) => (isNew ? { pages: BigInt(value.pages) } : value))
  const growing = defineJob({ type: 'growing', params, run: ({ params: { pages } }) => typeof pages })
  await using stage = await openStage({ jobs: [growing] })
  const schedule = await stage.schedules.create({ ...minutely, type: growing, paramOverrides: { pages: 1 } })
  isNew = true
  await stage.advance(MINUTE)
  const [job] = await jobsOf(stage.scheduler, schedule)
  expect(job).toMatchObject({ params: { pages: 1 }, outcome: 'COMPLETED' })
  expect(await stage.scheduler.findRunOfJob(job?.jobId ?? '')).toMatchObject({ result: 'bigint' })
})

/** A type whose schema asks a service that can be down. What is thrown then is `fault`. */
function checkedElsewhere() {
  const service = { fault: null as { readonly thrown: unknown } | null, calls: 0 }
  const validate = async (value: unknown) => {
    service.calls++
    const isAbout = (value as { readonly service?: unknown }).service
    if (service.fault !== null && isAbout !== 'none') throw service.fault.thrown
    return { value: value as { readonly service?: string } }
  }
  const params = { '~standard': { version: 1, vendor: 'test', validate } } as const
  return { service, checked: defineJob({ type: 'checked', params, run: () => 'done' }) }
}

const NO_NETWORK = { thrown: new Error('no network') }
const TRYING = 'The params of a schedule could not be checked; trying again'

test('a schema that throws: an operator is told once, the others go on, and the slot makes its Job when it passes', async () => {
  const { service, checked } = checkedElsewhere()
  await using stage = await openStage({ jobs: [checked, report] })
  const before = await stage.schedules.create({ ...minutely, type: report })
  const schedule = await stage.schedules.create({ ...minutely, type: checked })
  const after = await stage.schedules.create({ ...minutely, type: report })
  const often = await stage.schedules.create({ name: 'often', type: report, everyMs: SECOND })
  service.fault = NO_NETWORK
  await stage.advance(MINUTE + 30 * SECOND)

  expect(await slotsOf(stage.scheduler, schedule)).toEqual([])
  for (const whole of [before, after]) expect(await slotsOf(stage.scheduler, whole)).toEqual([MINUTE])
  const made = (await jobsOf(stage.scheduler, often)).filter(({ attempt }) => attempt === 1)
  expect(made.map(({ createdAt }) => createdAt - START)).toEqual(Array.from({ length: 90 }, (_, s) => (s + 1) * SECOND))
  expect(stage.logger.told).toMatchObject([
    {
      level: 'warn',
      message: TRYING,
      fields: { schedule: schedule.scheduleId, reason: expect.stringMatching(/checked.*threw.*no network/) },
    },
  ])

  service.fault = null
  await stage.advance(5 * SECOND)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([MINUTE])
  await stage.advance(30 * SECOND)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([MINUTE, 2 * MINUTE])
  expect(await stage.schedules.get(schedule.scheduleId)).toMatchObject({ enabled: true, disabledReason: null })
  expect(stage.logger.told).toHaveLength(1)
})

test('a schema that throws is asked again now and then, however often others are due', async () => {
  const { service, checked } = checkedElsewhere()
  await using stage = await openStage({ jobs: [checked, report] })
  await stage.schedules.create({ ...minutely, type: checked })
  await stage.schedules.create({ name: 'often', type: report, everyMs: SECOND })
  service.fault = NO_NETWORK
  service.calls = 0
  await stage.advance(MINUTE + 30 * SECOND)
  expect(service.calls).toBe(7)
})

test('another fault of the same schema is told too, also one that cannot be described', async () => {
  const { service, checked } = checkedElsewhere()
  await using stage = await openStage({ jobs: [checked, report] })
  const schedule = await stage.schedules.create({ ...minutely, type: checked })
  for (const thrown of [new Error('no network'), Object.create(null), undefined]) {
    service.fault = { thrown }
    await stage.advance(MINUTE)
  }
  const reasons = stage.logger.told.map(({ fields }) => String(fields['reason']).replace(/.* threw: /, ''))
  expect(reasons).toEqual(['Error: no network', 'something that cannot be described', 'undefined'])
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([])
})

test('hundreds of schedules whose schema throws hold nobody up', async () => {
  const { service, checked } = checkedElsewhere()
  await using stage = await openStage({ jobs: [checked, report] })
  for (let count = 0; count < 450; count++) await stage.schedules.create({ ...minutely, type: checked })
  const whole = await stage.schedules.create({ ...minutely, type: report })
  service.fault = NO_NETWORK
  await stage.advance(2 * MINUTE)
  expect(await slotsOf(stage.scheduler, whole)).toEqual([MINUTE, 2 * MINUTE])
  service.fault = null
  await stage.advance(5 * SECOND)
  const left = 'select count(*) as n from pawl_schedules where last_triggered_at is null'
  expect(await plainSql(stage.store, left)).toEqual([{ n: 0 }])
  expect((await stage.schedules.list({ enabled: false })).items).toEqual([])
})

test('a change mends it at once; what was due makes its Job as it was, for whoever runs it to check', async () => {
  const { service, checked } = checkedElsewhere()
  await using stage = await openStage({ jobs: [checked] })
  const schedule = await stage.schedules.create({ ...minutely, type: checked })
  service.fault = NO_NETWORK
  await stage.advance(MINUTE + SECOND)
  await stage.schedules.change(schedule.scheduleId, { paramOverrides: { service: 'none' } })
  // Its first attempt may have failed by now.
  const made = (await jobsOf(stage.scheduler, schedule)).filter(({ attempt }) => attempt === 1)
  expect(made).toMatchObject([{ slotAt: START + MINUTE, params: {} }])
  await stage.advance(MINUTE)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([MINUTE, 2 * MINUTE])
})

test('a schedule whose schema throws can be disabled and enabled', async () => {
  const { service, checked } = checkedElsewhere()
  await using stage = await openStage({ jobs: [checked] })
  const { scheduleId } = await stage.schedules.create({ ...minutely, type: checked })
  service.fault = NO_NETWORK
  await stage.advance(MINUTE)
  expect(await stage.schedules.disable(scheduleId)).toMatchObject({ enabled: false, nextSlotAt: null })
  service.fault = null
  expect(await stage.schedules.enable(scheduleId)).toMatchObject({ enabled: true, nextSlotAt: START + 2 * MINUTE })
})

test('a schedule that was planned by a clock far ahead is planned anew, also while the schema throws', async () => {
  const { service, checked } = checkedElsewhere()
  await using stage = await openStage({ jobs: [checked] })
  const schedule = await stage.schedules.create({ ...minutely, type: checked })
  service.fault = NO_NETWORK
  await stage.advance(MINUTE)
  await plainSql(stage.store, 'update pawl_schedules set planned_at = planned_at + 3600000')
  await stage.advance(5 * SECOND)
  expect(await slotsOf(stage.scheduler, schedule)).toEqual([MINUTE])
})
