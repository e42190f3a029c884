// A schedule that cannot go on is disabled with its reason. The others go on.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { PARAMS_BYTES_MAX } from '../../src/domain/json.ts'
import { defineJob } from '../../src/library/define-job.ts'
import {
  jobsOf,
  MINUTE,
  newSharedStore,
  type OpenStage,
  openStage,
  plainSql,
  refusalOf,
  report,
  slotsOf,
} from './stage.ts'

const minutely = { name: 'minutely', cron: '* * * * *' } as const

/** What a person with SQL, another time zone database or another release could leave behind. */
const BROKEN: readonly { name: string; breakIt: (stage: OpenStage, scheduleId: string) => unknown; reason: RegExp }[] =
  [
    {
      name: 'its zone is not known any more',
      breakIt: ({ store }, scheduleId) => edit(store, "timezone = 'Mars/Olympus'", scheduleId),
      reason: /timezone.*IANA.*Mars\/Olympus/,
    },
    {
      name: 'its expression cannot be read any more',
      breakIt: ({ store }, scheduleId) => edit(store, "cron = '61 * * * *'", scheduleId),
      reason: /cron.*61/,
    },
    {
      name: 'its type is not known',
      breakIt: ({ store }, scheduleId) => edit(store, "type = 'gone', template_id = null", scheduleId),
      reason: /Unknown job type `gone`/,
    },
    {
      name: 'its template is archived',
      breakIt: async ({ templates, schedules }, scheduleId) => {
        const { target } = await schedules.get(scheduleId)
        expect.assert(target.kind === 'template')
        await templates.archive(target.templateId)
      },
      reason: /Template `broken soon` \(.*\) is archived/,
    },
    {
      name: 'its template is gone',
      breakIt: ({ store }, scheduleId) => edit(store, "template_id = 'nowhere'", scheduleId),
      reason: /no template nowhere/,
    },
    {
      name: 'its params are too large',
      breakIt: ({ store }, scheduleId) =>
        edit(store, `params = '{"text":"${'x'.repeat(PARAMS_BYTES_MAX)}"}'`, scheduleId),
      reason: /params of at most 262144 bytes/,
    },
  ]

function edit(store: object, change: string, scheduleId: string): Promise<unknown> {
  return plainSql(store, `update pawl_schedules set ${change} where schedule_id = '${scheduleId}'`)
}

const strict = defineJob({
  type: 'strict',
  params: z.looseObject({ pages: z.number().optional() }),
  run: () => 'done',
})

test.for(BROKEN)('$name: it is disabled, and the others go on', async ({ breakIt, reason }) => {
  await using stage = await openStage({ jobs: [report, strict] })
  const { templateId } = await stage.templates.create({ name: 'broken soon', type: strict })
  const before = await stage.schedules.create({ ...minutely, type: report })
  const broken = await stage.schedules.create({ ...minutely, templateId })
  const after = await stage.schedules.create({ ...minutely, type: report })
  await stage.advance(MINUTE)
  await breakIt(stage, broken.scheduleId)
  await stage.advance(2 * MINUTE)

  expect(await slotsOf(stage.scheduler, broken)).toEqual([MINUTE])
  for (const whole of [before, after]) {
    expect(await slotsOf(stage.scheduler, whole)).toEqual([1, 2, 3].map((minute) => minute * MINUTE))
  }
  const schedule = await stage.schedules.get(broken.scheduleId)
  expect(schedule).toMatchObject({ enabled: false, nextSlotAt: null })
  expect(schedule.disabledReason).toMatch(reason)
  expect(stage.logger.told).toMatchObject([
    { level: 'warn', message: 'A schedule cannot go on and was disabled', fields: { schedule: broken.scheduleId } },
  ])
})

test('what it was disabled for must be mended before it can be enabled', async () => {
  await using stage = await openStage()
  const { templateId } = await stage.templates.create({ name: 'old', type: report })
  const { scheduleId } = await stage.schedules.create({ ...minutely, templateId })
  await stage.templates.archive(templateId)
  await stage.advance(MINUTE)
  expect((await refusalOf(stage.schedules.enable(scheduleId))).code).toBe('template_archived')
  const renamed = await stage.schedules.change(scheduleId, { name: 'still disabled' })
  expect(renamed).toMatchObject({ enabled: false, disabledReason: expect.stringContaining('archived') })
  const mended = await stage.schedules.change(scheduleId, { type: report, enabled: true })
  expect(mended).toMatchObject({ enabled: true, disabledReason: null })
  await stage.advance(MINUTE)
  expect(await slotsOf(stage.scheduler, { scheduleId })).toEqual([2 * MINUTE])
})

test('a process without the handler makes the Jobs all the same: only the one that has it can ask the schema', async () => {
  const store = newSharedStore()
  await using stage = await openStage({ store, jobs: [strict] })
  const schedule = await stage.schedules.create({ ...minutely, type: strict, paramOverrides: { pages: 3 } })
  await stage.scheduler.stop()
  await using other = await openStage({ store, jobs: [], clock: stage.clock })
  await other.advance(MINUTE)
  expect(await jobsOf(other.scheduler, schedule)).toMatchObject([
    { type: 'strict', params: { pages: 3 }, status: 'QUEUED' },
  ])
})

test('hundreds of broken schedules hold nobody up', async () => {
  await using stage = await openStage()
  const { templateId } = await stage.templates.create({ name: 'old', type: report })
  for (let count = 0; count < 250; count++) await stage.schedules.create({ ...minutely, templateId })
  const whole = await stage.schedules.create({ ...minutely, type: report })
  await stage.templates.archive(templateId)
  await stage.advance(MINUTE)
  expect(await slotsOf(stage.scheduler, whole)).toEqual([MINUTE])
  expect((await stage.schedules.list({ enabled: true })).items).toMatchObject([{ scheduleId: whole.scheduleId }])
})
