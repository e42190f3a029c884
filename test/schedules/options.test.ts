// Everything a person gives is checked at the door: nothing is stored, and the error says which option and why.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob } from '../../src/library/define-job.ts'
import { previewSchedule } from '../../src/library/schedules.ts'
import { openStage, refusalOf, report, START } from './stage.ts'

const strict = defineJob({ type: 'strict', params: z.object({ pages: z.number() }), run: () => null })

const daily = { name: 'x', type: 'report', cron: '@daily' }
const endless: { self?: unknown } = {}
endless.self = endless

test.for<{ options: object | null; code: string; path?: string }>([
  { options: null, code: 'invalid_option', path: 'options' },
  { options: { ...daily, nmae: 'x' }, code: 'invalid_option', path: 'nmae' },
  { options: { ...daily, name: undefined }, code: 'invalid_option', path: 'name' },
  { options: { ...daily, name: '' }, code: 'invalid_option', path: 'name' },
  { options: { ...daily, name: 'a\u0000b' }, code: 'invalid_option', path: 'name' },
  { options: { ...daily, name: 'x'.repeat(513) }, code: 'invalid_option', path: 'name' },
  { options: { ...daily, type: undefined }, code: 'invalid_option' },
  { options: { ...daily, type: 7 }, code: 'invalid_option', path: 'type' },
  { options: { ...daily, type: 'nobody' }, code: 'unknown_type', path: 'type' },
  { options: { ...daily, templateId: 'x' }, code: 'invalid_option', path: 'type' },
  { options: { ...daily, type: undefined, templateId: 'x' }, code: 'template_not_found', path: 'templateId' },
  { options: { ...daily, cron: undefined }, code: 'invalid_option', path: 'cron' },
  { options: { ...daily, everyMs: 5_000 }, code: 'invalid_option', path: 'cron' },
  { options: { ...daily, cron: undefined, everyMs: 999 }, code: 'invalid_option', path: 'everyMs' },
  { options: { ...daily, cron: 'often' }, code: 'invalid_option', path: 'cron' },
  { options: { ...daily, cron: '*/0 * * * *' }, code: 'invalid_option', path: 'cron' },
  { options: { ...daily, cron: '0 0 30 2 *' }, code: 'invalid_option', path: 'cron' },
  { options: { ...daily, timezone: 'Mars/Olympus' }, code: 'invalid_option', path: 'timezone' },
  { options: { ...daily, enabled: 'yes' }, code: 'invalid_option', path: 'enabled' },
  { options: { ...daily, missed: 'some' }, code: 'invalid_option', path: 'missed' },
  { options: { ...daily, overlap: 'maybe' }, code: 'invalid_option', path: 'overlap' },
  { options: { ...daily, priority: 1.5 }, code: 'invalid_option', path: 'priority' },
  { options: { ...daily, tags: ['ok', ''] }, code: 'invalid_option', path: 'tags.1' },
  { options: { ...daily, businessKey: '' }, code: 'invalid_option', path: 'businessKey' },
  { options: { ...daily, paramOverrides: endless }, code: 'unserialisable_params', path: 'paramOverrides' },
  { options: { ...daily, paramOverrides: 'x'.repeat(300_000) }, code: 'params_too_large', path: 'paramOverrides' },
  { options: { ...daily, type: 'strict' }, code: 'invalid_params', path: 'params.pages' },
])('a schedule is refused: $code at $path', async ({ options, code, path }) => {
  await using stage = await openStage({ jobs: [report, strict] })
  const refusal = await refusalOf(stage.schedules.create(options as never))
  expect({ code: refusal.code, path: refusal.path }).toEqual({ code, path })
  expect((await stage.schedules.list()).items).toEqual([])
})

test.for<{ change: object; code: string; path?: string }>([
  { change: {}, code: 'invalid_option' },
  { change: { revision: 1 }, code: 'invalid_option' },
  { change: { revision: 0, name: 'y' }, code: 'invalid_option', path: 'revision' },
  { change: { nmae: 'y' }, code: 'invalid_option', path: 'nmae' },
  { change: { cron: 'often' }, code: 'invalid_option', path: 'cron' },
  { change: { cron: '0 0 30 2 *' }, code: 'invalid_option', path: 'cron' },
  { change: { timezone: 'Mars/Olympus' }, code: 'invalid_option', path: 'timezone' },
  { change: { type: 'nobody' }, code: 'unknown_type', path: 'type' },
  { change: { type: 'strict' }, code: 'invalid_params', path: 'params.pages' },
  { change: { templateId: 'x' }, code: 'template_not_found', path: 'templateId' },
])('a change is refused: $change', async ({ change, code, path }) => {
  await using stage = await openStage({ jobs: [report, strict] })
  const schedule = await stage.schedules.create(daily)
  const refusal = await refusalOf(stage.schedules.change(schedule.scheduleId, change))
  expect({ code: refusal.code, path: refusal.path }).toEqual({ code, path })
  expect(await stage.schedules.get(schedule.scheduleId)).toEqual(schedule)
})

test('what is left out has a default', async () => {
  await using stage = await openStage()
  const schedule = await stage.schedules.create(daily)
  expect(schedule).toEqual({
    scheduleId: expect.any(String),
    name: 'x',
    target: { kind: 'type', type: 'report' },
    paramOverrides: {},
    timing: { kind: 'cron', expression: '@daily', timezone: 'UTC' },
    missed: 'one',
    overlap: 'allow',
    priority: 0,
    tags: [],
    businessKey: null,
    enabled: true,
    disabledReason: null,
    revision: 1,
    createdAt: START,
    updatedAt: START,
    lastSlotAt: START,
    nextSlotAt: START + 86_400_000,
    lastTriggeredAt: null,
  })
})

test('a preview shows the next slots, in local time, with what the clocks do', () => {
  const options = { cron: '30 2 * * *', timezone: 'Europe/Berlin', count: 2 }
  expect(previewSchedule({ ...options, from: Date.parse('2026-03-28T12:00Z') })).toEqual({
    items: [
      { at: Date.parse('2026-03-29T01:00Z'), local: '2026-03-29T03:00:00+02:00', note: 'dst-gap' },
      { at: Date.parse('2026-03-30T00:30Z'), local: '2026-03-30T02:30:00+02:00', note: null },
    ],
  })
  expect(previewSchedule({ ...options, from: new Date('2026-10-24T12:00Z') }).items[0]).toMatchObject({
    local: '2026-10-25T02:30:00+02:00',
    note: 'dst-overlap',
  })
})

test('a preview without a beginning begins now, and one that never has a slot is refused, as for a schedule', () => {
  const before = Date.now()
  const { items } = previewSchedule({ everyMs: 60_000 })
  expect(items).toHaveLength(10)
  expect(items[0]?.at).toBeGreaterThanOrEqual(before + 60_000)
  const refused = expect.objectContaining({ code: 'invalid_option', path: 'cron' })
  expect(() => previewSchedule({ cron: '0 0 30 2 *' })).toThrow(refused)
  const late = new Date(8_640_000_000_000_000)
  expect(previewSchedule({ cron: '@daily', from: late })).toEqual({ items: [] })
})

test.for([
  { count: 0 },
  { count: 101 },
  { count: 'ten' },
  { from: new Date(Number.NaN) },
  { from: 'now' },
  { cron: 'often' },
  { everyMs: 60_000 },
  { what: 1 },
])('a preview is refused: %o', async (wrong) => {
  const refusal = await refusalOf(() => previewSchedule({ cron: '@daily', ...wrong } as never))
  expect(refusal.code).toBe('invalid_option')
})

test('a stored schedule is previewed from the present of its scheduler, also when it is disabled', async () => {
  await using stage = await openStage()
  const { scheduleId } = await stage.schedules.create({ name: 'x', type: report, everyMs: 3_600_000, enabled: false })
  await stage.advance('90m')
  const { items } = await stage.schedules.preview(scheduleId, { count: 2 })
  expect(items).toEqual([
    { at: START + 2 * 3_600_000, local: '2026-01-01T02:00:00+00:00', note: null },
    { at: START + 3 * 3_600_000, local: '2026-01-01T03:00:00+00:00', note: null },
  ])
  expect((await refusalOf(stage.schedules.preview(scheduleId, { cron: '@daily' } as never))).code).toBe(
    'invalid_option',
  )
})
