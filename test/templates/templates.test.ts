// A template keeps a type with default params and policy, and makes Jobs of them.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { PawlError } from '../../src/domain/errors.ts'
import { defineJob } from '../../src/library/define-job.ts'
import { openStage, refusalOf, report, START } from '../schedules/stage.ts'
import { storeKind } from '../stores/each-store.ts'

const strict = defineJob({ type: 'strict', params: z.object({ pages: z.number() }), run: () => null })

const endless: { self?: unknown } = {}
endless.self = endless

test('a template is kept as it was made, with defaults for what is left out', async () => {
  await using stage = await openStage()
  const plain = await stage.templates.create({ name: 'plain', type: report })
  expect(plain).toEqual({
    templateId: expect.any(String),
    name: 'plain',
    type: 'report',
    defaultParams: {},
    retry: null,
    timeoutMs: undefined,
    description: null,
    revision: 1,
    createdAt: START,
    updatedAt: START,
    archivedAt: null,
  })
  expect(await stage.templates.get(plain.templateId)).toEqual(plain)
})

test('a Job has the default params, and overrides over them key by key', async () => {
  await using stage = await openStage()
  const defaultParams = { of: 'sales', range: { days: 7, zone: 'UTC' } }
  const { templateId } = await stage.templates.create({ name: 't', type: report, defaultParams })
  const enqueue = async (...overrides: unknown[]) => {
    const handle = await stage.scheduler.enqueueTemplate(templateId, ...overrides)
    return handle.get()
  }
  expect(await enqueue()).toMatchObject({ type: 'report', templateId, scheduleId: null, params: defaultParams })
  expect((await enqueue({ of: 'stock' })).params).toEqual({ ...defaultParams, of: 'stock' })
  expect((await enqueue({ range: { days: 1 } })).params).toEqual({ of: 'sales', range: { days: 1 } })
  expect((await enqueue(null)).params).toEqual(defaultParams)
  expect((await enqueue([1])).params).toEqual([1])
})

test('overrides are what JSON makes of them, and what has no JSON form is refused', async () => {
  await using stage = await openStage()
  const { templateId } = await stage.templates.create({
    name: 't',
    type: report,
    defaultParams: { of: 'sales', days: 7 },
  })
  const paramsOf = async (overrides: unknown) =>
    (await (await stage.scheduler.enqueueTemplate(templateId, overrides)).get()).params
  expect(await paramsOf(new Date(START))).toBe('2026-01-01T00:00:00.000Z')
  expect(await paramsOf({ of: undefined, days: new Date(START) })).toEqual({
    of: 'sales',
    days: '2026-01-01T00:00:00.000Z',
  })
  expect(await paramsOf({ toJSON: () => ({ days: 1 }) })).toEqual({ of: 'sales', days: 1 })
  for (const overrides of [() => 1, Symbol('s'), 1n, endless]) {
    const refusal = await refusalOf(stage.scheduler.enqueueTemplate(templateId, overrides))
    expect(refusal).toMatchObject({ code: 'unserialisable_params', path: 'overrides' })
  }
})

test('null overrides nothing, in a request as in a schedule', async () => {
  await using stage = await openStage()
  const { templateId } = await stage.templates.create({ name: 't', type: report, defaultParams: { of: 'sales' } })
  const job = await stage.scheduler.enqueueTemplate(templateId, null)
  await stage.schedules.create({ name: 's', templateId, everyMs: 60_000, paramOverrides: null })
  await stage.advance(60_000)
  const { items } = await stage.scheduler.listJobs({ templateId })
  expect(items.map(({ params }) => params)).toEqual([{ of: 'sales' }, { of: 'sales' }])
  expect(items[1]?.jobId).toBe(job.jobId)
})

test('retries and timeout are those of the template, unless the request says otherwise', async () => {
  await using stage = await openStage()
  const typed = (await (await stage.scheduler.enqueue(report, {})).get()).policy
  const policyOf = async (template: object, options?: object) => {
    const { templateId } = await stage.templates.create({ name: 't', type: report, ...template })
    return (await (await stage.scheduler.enqueueTemplate(templateId, {}, options)).get()).policy
  }
  expect(await policyOf({})).toEqual(typed)
  const retry = { maxRetries: 1, backoff: { kind: 'none' } }
  const own = { retry: { ...retry, maxCrashRetries: 3 }, timeoutMs: 5_000, resources: [] }
  expect(await policyOf({ retry, timeoutMs: 5_000 })).toEqual(own)
  expect(await policyOf({ retry, timeoutMs: null })).toEqual({ ...own, timeoutMs: null })
  expect(await policyOf({ retry, timeoutMs: 5_000 }, { timeoutMs: 9 })).toEqual({ ...own, timeoutMs: 9 })
  expect(await policyOf({ retry, timeoutMs: 5_000 }, { retry: { maxRetries: 2 } })).toMatchObject({
    retry: { maxRetries: 2, backoff: { kind: 'none' } },
    timeoutMs: 5_000,
  })
})

test('what neither the request nor the template says of retries is as the type says', async () => {
  const backoff = { kind: 'fixed', delayMs: 9 } as const
  const patient = defineJob({ type: 'patient', retry: { maxRetries: 7, maxCrashRetries: 5, backoff }, run: () => null })
  await using stage = await openStage({ jobs: [patient] })
  const retry = { maxCrashRetries: 1 }
  const { templateId } = await stage.templates.create({ name: 't', type: patient, retry })
  expect((await stage.templates.get(templateId)).retry).toEqual(retry)
  const policyOf = async (options?: object) =>
    (await (await stage.scheduler.enqueueTemplate(templateId, {}, options)).get()).policy.retry
  expect(await policyOf()).toEqual({ maxRetries: 7, maxCrashRetries: 1, backoff })
  expect(await policyOf({ retry: { maxRetries: 2 } })).toEqual({ maxRetries: 2, maxCrashRetries: 1, backoff })
  expect(await policyOf({ retry: { maxRetries: 0 } })).toEqual({ maxRetries: 0, maxCrashRetries: 0, backoff })
  const direct = await stage.scheduler.enqueue(patient, null, { retry: { maxRetries: 1 } })
  expect((await direct.get()).policy.retry).toEqual({ maxRetries: 1, maxCrashRetries: 5, backoff })
})

test('all other options of a request hold for a Job of a template too', async () => {
  await using stage = await openStage()
  const { templateId } = await stage.templates.create({ name: 't', type: report })
  const options = {
    priority: 4,
    name: 'mine',
    tags: ['red'],
    idempotencyKey: 'once',
    businessKey: 'b',
    delayMs: 60_000,
  }
  const handle = await stage.scheduler.enqueueTemplate(templateId, { a: 1 }, options)
  expect(await handle.get()).toMatchObject({
    priority: 4,
    name: 'mine',
    tags: ['red'],
    idempotencyKey: 'once',
    businessKey: 'b',
    hold: 'delayed',
  })
  const again = await stage.scheduler.enqueueTemplate(templateId, { a: 1 }, { idempotencyKey: 'once' })
  expect(again).toMatchObject({ jobId: handle.jobId, existed: true })
  const other = await refusalOf(stage.scheduler.enqueueTemplate(templateId, { a: 2 }, { idempotencyKey: 'once' }))
  expect(other.code).toBe('idempotency_key_reused')
  const wrong = await refusalOf(stage.scheduler.enqueueTemplate(templateId, {}, { prioritee: 1 } as never))
  expect(wrong).toMatchObject({ code: 'invalid_option', path: 'prioritee' })
})

test('the params of a Job are checked when it is made, not those of the template', async () => {
  await using stage = await openStage({ jobs: [strict] })
  const { templateId } = await stage.templates.create({ name: 't', type: strict })
  const refusal = await refusalOf(stage.scheduler.enqueueTemplate(templateId))
  expect(refusal).toMatchObject({ code: 'invalid_params', path: 'params.pages' })
  expect((await (await stage.scheduler.enqueueTemplate(templateId, { pages: 3 })).get()).params).toEqual({ pages: 3 })
})

test('a change holds for Jobs that are made from then on, and for no other', async () => {
  await using stage = await openStage({ jobs: [report, strict] })
  const { templateId } = await stage.templates.create({ name: 't', type: report, defaultParams: { of: 'old' } })
  const early = await stage.scheduler.enqueueTemplate(templateId)
  await stage.advance(5_000)
  const changed = await stage.templates.change(templateId, {
    name: 'new',
    type: strict,
    defaultParams: { pages: 2 },
    retry: { maxRetries: 0 },
    timeoutMs: 1_000,
    description: 'about',
  })
  expect(changed).toMatchObject({
    name: 'new',
    type: 'strict',
    revision: 2,
    updatedAt: START + 5_000,
    timeoutMs: 1_000,
  })
  expect(await stage.templates.get(templateId)).toEqual(changed)
  const late = await stage.scheduler.enqueueTemplate(templateId)
  expect(await early.get()).toMatchObject({ type: 'report', params: { of: 'old' } })
  expect(await late.get()).toMatchObject({ type: 'strict', params: { pages: 2 }, policy: { timeoutMs: 1_000 } })
  const undone = await stage.templates.change(templateId, { retry: null, description: null })
  expect(undone).toMatchObject({ retry: null, description: null, name: 'new' })
})

test("retries and timeout can be given back to the type with 'inherit'", async () => {
  await using stage = await openStage({ jobs: [defineJob({ type: 'report', timeoutMs: 3_000, run: () => null })] })
  const own = { retry: { maxRetries: 1 }, timeoutMs: 1_000 }
  const { templateId } = await stage.templates.create({ name: 't', type: 'report', ...own })
  const changed = await stage.templates.change(templateId, { timeoutMs: 'inherit' })
  expect(changed).toMatchObject({ timeoutMs: undefined, retry: { maxRetries: 1 } })
  expect(await stage.templates.get(templateId)).toEqual(changed)
  const { policy } = await (await stage.scheduler.enqueueTemplate(templateId)).get()
  expect(policy).toMatchObject({ timeoutMs: 3_000, retry: { maxRetries: 1 } })
  expect((await stage.templates.change(templateId, { retry: 'inherit' })).retry).toBeNull()
  const inherits = { retry: 'inherit', timeoutMs: 'inherit' } as const
  const inheriting = await stage.templates.create({ name: 'i', type: 'report', ...inherits })
  expect(inheriting).toMatchObject({ retry: null, timeoutMs: undefined })
  const typo = await refusalOf(stage.templates.change(templateId, { timeoutMs: 'inherited' as never }))
  expect(typo).toMatchObject({ code: 'invalid_option', path: 'timeoutMs' })
})

test('an archived template makes no Jobs and is changed no more, but its history stays', async () => {
  await using stage = await openStage()
  const { templateId } = await stage.templates.create({ name: 't', type: report })
  const early = await stage.scheduler.enqueueTemplate(templateId)
  const archived = await stage.templates.archive(templateId)
  expect(archived.archivedAt).toBe(START)
  await stage.advance(5_000)
  expect(await stage.templates.archive(templateId)).toEqual(archived)
  for (const call of [
    () => stage.scheduler.enqueueTemplate(templateId),
    () => stage.templates.change(templateId, { name: 'x' }),
    () => stage.schedules.create({ name: 'x', templateId, cron: '@daily' }),
  ]) {
    expect((await refusalOf(call)).code).toBe('template_archived')
  }
  expect(await early.get()).toMatchObject({ templateId, status: 'FINISHED' })
  expect((await stage.templates.list()).items).toEqual([])
  expect((await stage.templates.list({ state: 'archived' })).items).toEqual([archived])
})

test('a template that is archived while a request is under way refuses it, unless the request was first', async () => {
  await using stage = await openStage()
  const { templateId } = await stage.templates.create({ name: 't', type: report })
  const [archived, answer] = await Promise.all([
    stage.templates.archive(templateId),
    stage.scheduler.enqueueTemplate(templateId).catch((error: PawlError) => error),
  ])
  expect(archived.archivedAt).not.toBeNull()
  // On SQLite one connection writes, in the order of the calls. Two connections to PostgreSQL may be served in either order.
  const refused = storeKind === 'sqlite' || answer instanceof PawlError
  if (refused) expect(answer).toMatchObject({ code: 'template_archived' })
  expect((await stage.scheduler.listJobs()).items).toHaveLength(refused ? 0 : 1)
})

test('a retry keeps the template of its chain', async () => {
  const failing = defineJob({
    type: 'failing',
    run: ({ attempt }) => {
      if (attempt === 1) throw new Error('no')
    },
  })
  await using stage = await openStage({ jobs: [failing] })
  const retry = { maxRetries: 1, backoff: { kind: 'none' } } as const
  const { templateId } = await stage.templates.create({ name: 't', type: failing, retry })
  const { jobId } = await stage.scheduler.enqueueTemplate(templateId)
  await stage.advance(1_000)
  const { items } = await stage.scheduler.getChain(jobId)
  expect(items.map((job) => [job.attempt, job.templateId, job.outcome])).toEqual([
    [1, templateId, 'FAILED'],
    [2, templateId, 'COMPLETED'],
  ])
})

test('many changes at once are all made; who names a revision gets a conflict when it is no longer that', async () => {
  await using stage = await openStage()
  const { templateId, revision } = await stage.templates.create({ name: 't', type: report })
  await Promise.all([
    stage.templates.change(templateId, { name: 'new' }),
    stage.templates.change(templateId, { description: 'about' }),
    stage.templates.change(templateId, { timeoutMs: 7 }),
  ])
  const present = await stage.templates.get(templateId)
  expect(present).toMatchObject({ name: 'new', description: 'about', timeoutMs: 7, revision: 4 })
  const refusal = await refusalOf(stage.templates.change(templateId, { name: 'late', revision }))
  expect(refusal).toMatchObject({ code: 'conflict', path: 'revision', details: { revision: 4, expected: revision } })
})

test.for<{ options: object | null; code: string; path?: string }>([
  { options: null, code: 'invalid_option', path: 'options' },
  { options: { type: 'report' }, code: 'invalid_option', path: 'name' },
  { options: { name: 't' }, code: 'invalid_option', path: 'type' },
  { options: { name: 't', type: 'nobody' }, code: 'unknown_type', path: 'type' },
  { options: { name: 't', type: 'report', params: {} }, code: 'invalid_option', path: 'params' },
  { options: { name: 'a\u0000', type: 'report' }, code: 'invalid_option', path: 'name' },
  { options: { name: 't', type: 'report', description: '' }, code: 'invalid_option', path: 'description' },
  { options: { name: 't', type: 'report', timeoutMs: 0 }, code: 'invalid_option', path: 'timeoutMs' },
  {
    options: { name: 't', type: 'report', retry: { maxRetries: -1 } },
    code: 'invalid_option',
    path: 'retry.maxRetries',
  },
  {
    options: { name: 't', type: 'report', defaultParams: endless },
    code: 'unserialisable_params',
    path: 'defaultParams',
  },
  {
    options: { name: 't', type: 'report', defaultParams: 'x'.repeat(300_000) },
    code: 'params_too_large',
    path: 'defaultParams',
  },
])('a template is refused: $code at $path', async ({ options, code, path }) => {
  await using stage = await openStage()
  const refusal = await refusalOf(stage.templates.create(options as never))
  expect({ code: refusal.code, path: refusal.path }).toEqual({ code, path })
  expect((await stage.templates.list()).items).toEqual([])
})

test('a change that names nothing, or something wrong, is refused', async () => {
  await using stage = await openStage()
  const template = await stage.templates.create({ name: 't', type: report })
  for (const change of [{}, { revision: 1 }, { nmae: 'x' }, { name: '' }, { timeoutMs: -1 }]) {
    expect((await refusalOf(stage.templates.change(template.templateId, change))).code).toBe('invalid_option')
  }
  expect((await refusalOf(stage.templates.change(template.templateId, { type: 'nobody' }))).code).toBe('unknown_type')
  expect(await stage.templates.get(template.templateId)).toEqual(template)
})

test('what is not there is not found', async () => {
  await using stage = await openStage()
  for (const call of [
    () => stage.templates.get('nowhere'),
    () => stage.templates.change('nowhere', { name: 'x' }),
    () => stage.templates.archive('nowhere'),
    () => stage.scheduler.enqueueTemplate('nowhere'),
  ]) {
    expect((await refusalOf(call)).code).toBe('template_not_found')
  }
})
