import { describe, expect, test } from 'vitest'
import { openApi, refusalOf } from './api-stage.ts'

describe('/api/schedules', () => {
  test('makes, reads, changes and removes a schedule', async () => {
    const { admin, viewer } = await openApi()
    const made = await admin.answer('POST /api/schedules', {
      body: {
        name: 'mornings',
        type: 'story',
        cron_expression: '0 8 * * 1-5',
        timezone: 'Europe/Vienna',
        param_overrides: { genre: 'noir' },
        missed: 'none',
        overlap: 'skip',
        priority: 3,
        tags: ['daily'],
        business_key: 'b',
      },
    })
    expect(made).toMatchObject({
      status: 201,
      body: {
        name: 'mornings',
        type: 'story',
        template_id: null,
        cron: '0 8 * * 1-5',
        every_ms: null,
        timezone: 'Europe/Vienna',
        enabled: true,
        disabled_reason: null,
        param_overrides: { genre: 'noir' },
        missed: 'none',
        overlap: 'skip',
        priority: 3,
        tags: ['daily'],
        business_key: 'b',
        revision: 1,
        last_triggered_at: null,
      },
    })
    const { schedule_id } = made.body
    expect(made.body.next_trigger_at).toMatch(/T0[67]:00:00\.000Z$/)
    expect(await viewer.schedules.get(schedule_id)).toEqual(made.body)
    const changed = await admin.schedules.change(schedule_id, { every_ms: 60_000, business_key: null })
    expect(changed).toMatchObject({ cron: null, every_ms: 60_000, business_key: null, timezone: 'Europe/Vienna' })
    expect((await viewer.schedules.list({ enabled: true })).items).toEqual([changed])
    expect((await viewer.schedules.list({ enabled: false })).items).toEqual([])
    const removed = await admin.answer('DELETE /api/schedules/{schedule_id}', { params: { schedule_id } })
    expect(removed).toMatchObject({ status: 204, body: null })
    expect(await refusalOf(viewer.schedules.get(schedule_id))).toEqual({ status: 404, code: 'schedule_not_found' })
  })

  test('lets an operator switch and trigger it, but change nothing else', async () => {
    const { admin, operator } = await openApi()
    const { schedule_id } = await admin.schedules.create({ name: 's', type: 'story', every_ms: 3_600_000 })
    expect(await operator.schedules.disable(schedule_id)).toMatchObject({ enabled: false, next_trigger_at: null })
    const { revision } = await operator.schedules.disable(schedule_id)
    expect((await operator.schedules.disable(schedule_id)).revision).toBe(revision)
    const triggered = await operator.answer('POST /api/schedules/{schedule_id}/trigger', {
      params: { schedule_id },
      body: {},
    })
    expect(triggered).toMatchObject({
      status: 201,
      body: { schedule_id, slot_at: null, created_by: 'key:the operator' },
    })
    expect(await operator.schedules.enable(schedule_id)).toMatchObject({ enabled: true })
    for (const body of [{ name: 'x' }, { enabled: false, cron: '* * * * *' }]) {
      expect(await refusalOf(operator.schedules.change(schedule_id, body))).toEqual({ status: 403, code: 'forbidden' })
    }
    expect(await admin.schedules.get(schedule_id)).toMatchObject({ name: 's', enabled: true })
  })

  test('changes only the version that `If-Match` names, also the switch', async () => {
    const { admin } = await openApi()
    const { schedule_id, revision } = await admin.schedules.create({ name: 's', type: 'story', every_ms: 3_600_000 })
    await admin.schedules.change(schedule_id, { name: 't' }, { ifMatch: revision })
    for (const body of [{ name: 'u' }, { enabled: false }]) {
      const stale = await refusalOf(admin.schedules.change(schedule_id, body, { ifMatch: revision }))
      expect(stale).toEqual({ status: 412, code: 'precondition_failed' })
    }
    expect(await admin.schedules.get(schedule_id)).toMatchObject({ name: 't', enabled: true })
  })

  test('refuses to trigger while another chain holds its business key', async () => {
    const { admin } = await openApi()
    const { schedule_id } = await admin.schedules.create({
      name: 's',
      type: 'story',
      every_ms: 3_600_000,
      business_key: 'b',
    })
    await admin.schedules.trigger(schedule_id)
    const second = await refusalOf(admin.schedules.trigger(schedule_id))
    expect(second).toEqual({ status: 409, code: 'business_key_taken' })
  })

  test('of a template that is archived can neither be made nor triggered', async () => {
    const { admin } = await openApi()
    const { template_id } = await admin.templates.create({ name: 't', job_type: 'story' })
    const { schedule_id } = await admin.schedules.create({ name: 's', template_id, every_ms: 3_600_000 })
    await admin.templates.archive(template_id)
    expect(await refusalOf(admin.schedules.trigger(schedule_id))).toMatchObject({
      status: 409,
      code: 'template_archived',
    })
    const another = admin.schedules.create({ name: 's', template_id, every_ms: 3_600_000 })
    expect(await refusalOf(another)).toMatchObject({ status: 409, code: 'template_archived' })
  })

  test.each([
    ['no timing', { name: 's', type: 'story' }, 'invalid_option', 'cron'],
    ['two timings', { name: 's', type: 'story', cron: '* * * * *', every_ms: 1_000 }, 'invalid_option', 'cron'],
    [
      'both names of cron',
      { name: 's', type: 'story', cron: '@daily', cron_expression: '@daily' },
      'invalid_option',
      'cron',
    ],
    ['a wrong expression', { name: 's', type: 'story', cron: '61 * * * *' }, 'invalid_option', 'cron'],
    ['an expression without a slot', { name: 's', type: 'story', cron: '0 0 30 2 *' }, 'invalid_option', 'cron'],
    ['an unknown zone', { name: 's', type: 'story', cron: '@daily', timezone: 'Mars' }, 'invalid_option', 'timezone'],
    ['too short an interval', { name: 's', type: 'story', every_ms: 999 }, 'invalid_option', 'every_ms'],
    ['no target', { name: 's', cron: '@daily' }, 'invalid_option', 'type'],
    ['two targets', { name: 's', cron: '@daily', type: 'story', template_id: 'x' }, 'invalid_option', 'type'],
    ['an unknown type', { name: 's', cron: '@daily', type: 'nobody' }, 'unknown_type', 'type'],
    ['an unknown template', { name: 's', cron: '@daily', template_id: 'x' }, 'template_not_found', 'template_id'],
    [
      'wrong params',
      { name: 's', cron: '@daily', type: 'story', param_overrides: { genre: 1 } },
      'invalid_params',
      'param_overrides.genre',
    ],
    ['an unknown policy', { name: 's', cron: '@daily', type: 'story', missed: 'some' }, 'invalid_option', 'missed'],
  ])('refuses %s', async (_, body, code, path) => {
    const { admin } = await openApi()
    expect(await refusalOf(admin.schedules.create(body as never))).toEqual({ status: 422, code, path })
  })

  test('tells how the latest jobs of each have gone, newest first, when it is asked to', async () => {
    const { admin, viewer } = await openApi()
    const ids: string[] = []
    for (const name of ['one', 'two'])
      ids.push((await admin.schedules.create({ name, type: 'story', cron: '0 8 * * *' })).schedule_id)
    const [first = '', second = ''] = ids
    for (let count = 0; count < 3; count++) await admin.schedules.trigger(first)
    const made = (await viewer.jobs.list({ schedule_id: first })).items.map(({ job_id }) => job_id)
    const { items } = await viewer.schedules.list({ latest_jobs: 2 })
    expect(items.map(({ schedule_id }) => schedule_id)).toEqual([second, first])
    expect(items[0]?.latest_jobs).toEqual([])
    expect(items[1]?.latest_jobs?.map(({ job_id }) => job_id)).toEqual(made.slice(0, 2))
    expect(Object.keys(items[1]?.latest_jobs?.[0] ?? {})).not.toContain('params')
    expect((await viewer.schedules.list({})).items[0]).not.toHaveProperty('latest_jobs')
    expect(await refusalOf(viewer.schedules.list({ latest_jobs: 51 }))).toMatchObject({ path: 'latest_jobs' })
  })
})

test('DELETE removes only the version that `If-Match` names', async () => {
  const { admin } = await openApi()
  const { schedule_id, revision } = await admin.schedules.create({ name: 's', type: 'story', cron: '@yearly' })
  const stale = await refusalOf(admin.schedules.remove(schedule_id, { ifMatch: revision + 1 }))
  expect(stale).toEqual({ status: 412, code: 'precondition_failed' })
  await admin.schedules.remove(schedule_id, { ifMatch: revision })
  expect(await refusalOf(admin.schedules.get(schedule_id))).toMatchObject({ status: 404 })
})

describe('previews', () => {
  test('show the slots of a stored schedule', async () => {
    const { admin, viewer } = await openApi()
    const { schedule_id } = await admin.schedules.create({ name: 's', type: 'story', cron: '0 12 * * *' })
    const { items } = await viewer.schedules.preview(schedule_id, { count: 2, from: '2026-05-01T00:00:00Z' })
    expect(items).toEqual([
      { at: '2026-05-01T12:00:00.000Z', local: '2026-05-01T12:00:00+00:00', note: null },
      { at: '2026-05-02T12:00:00.000Z', local: '2026-05-02T12:00:00+00:00', note: null },
    ])
  })

  test('show what a timing would do, with notes where clocks change', async () => {
    const { viewer } = await openApi()
    const { items } = await viewer.schedules.previewTiming({
      cron: '30 2 * * *',
      timezone: 'Europe/Vienna',
      count: 2,
      from: '2026-03-28T12:00:00Z',
    })
    expect(items.map(({ local, note }) => [local, note])).toEqual([
      ['2026-03-29T03:00:00+02:00', 'dst-gap'],
      ['2026-03-30T02:30:00+02:00', null],
    ])
  })

  test.each([
    [{ cron: '@daily', count: 101 }, 'count'],
    [{ cron: '@daily', count: 0 }, 'count'],
    [{ cron: '@daily', from: 'today' }, 'from'],
    [{ cron: 'x' }, 'cron'],
    [{ cron: '0 0 30 2 *' }, 'cron'],
    [{}, 'cron'],
  ])('refuse %j', async (body, path) => {
    const { viewer } = await openApi()
    expect(await refusalOf(viewer.schedules.previewTiming(body))).toEqual({ status: 422, code: 'invalid_option', path })
  })
})

test('GET /api/schedules/{id}/skipped tells which slots made no Job', async () => {
  const { admin, viewer, scheduler } = await openApi()
  const { schedule_id } = await admin.schedules.create({ name: 's', type: 'slow', every_ms: 1_000, overlap: 'skip' })
  await scheduler.start()
  await admin.schedules.trigger(schedule_id)
  await expect
    .poll(async () => (await viewer.schedules.skipped(schedule_id)).items, { timeout: 20_000 })
    .toMatchObject([{ reason: 'overlap' }])
})
