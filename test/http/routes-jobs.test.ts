import { describe, expect, test, vi } from 'vitest'
import type { PawlApiError } from '../../src/client/index.ts'
import { position } from '../stores/each-store.ts'
import { type Api, openApi, PATIENCE, refusalOf } from './api-stage.ts'

async function idOf(accepted: Promise<{ job_id: string }>): Promise<string> {
  return (await accepted).job_id
}

async function started(api: Api, jobId: string): Promise<void> {
  await vi.waitFor(async () => expect((await api.viewer.jobs.get(jobId)).status).toBe('RUNNING'), PATIENCE)
}

describe('POST /api/jobs', () => {
  test('answers 201 with the whole Job, made by whoever asked', async () => {
    const { operator } = await openApi()
    const run_at = '2030-01-01T08:00:00.000Z'
    const { status, body } = await operator.answer('POST /api/jobs', {
      body: {
        type: 'story',
        params: { genre: 'horror' },
        name: 'mine',
        priority: 5,
        run_at: '2030-01-01T10:00:00+02:00',
        business_key: 'b',
        idempotency_key: 'i',
        tags: ['x', 'y'],
        timeout_ms: null,
        retry_policy: { max_retries: 2, max_crash_retries: 1, backoff: { kind: 'fixed', delay_ms: 10 } },
      },
    })
    expect(status).toBe(201)
    expect(body).toMatchObject({
      job_type: 'story',
      status: 'QUEUED',
      hold: 'delayed',
      params: { genre: 'horror' },
      name: 'mine',
      priority: 5,
      run_at,
      business_key: 'b',
      idempotency_key: 'i',
      tags: ['x', 'y'],
      timeout_ms: null,
      retry_policy: { max_retries: 2, max_crash_retries: 1, backoff: { kind: 'fixed', delay_ms: 10 } },
      created_by: 'key:the operator',
    })
  })

  test('answers what a look at the Job would, in every field, and with the same `ETag`', async () => {
    const { admin } = await openApi({ webhooks: { allowPrivate: ['127.0.0.1'] } })
    const { job_id: parent } = await admin.jobs.enqueue({ type: 'story' })
    const { template_id } = await admin.templates.create({ name: 'a', job_type: 'story', timeout_ms: 5 })
    const places: number[] = []
    for (const body of [
      { type: 'story' },
      { type: 'review', params: null, priority: -3, tags: ['x'], name: 'n', business_key: 'b', idempotency_key: 'i' },
      { type: 'story', run_at: '2100-01-01T00:00:00Z' },
      { type: 'story', run_at: '2001-01-01T00:00:00Z' },
      { type: 'story', webhook_url: 'http://127.0.0.1:9/hook' },
      { type: 'flaky', retry_policy: { max_retries: 1 }, timeout_ms: null },
      { template_id },
      { type: 'story', depends_on: [parent] },
      { type: 'story', depends_on: [parent], on_parent_failure: 'run' },
    ] as const) {
      const made = await admin.answer('POST /api/jobs', { body: body as never })
      const { job_id } = made.body
      const seen = await admin.answer('GET /api/jobs/{job_id}', { params: { job_id } })
      expect([made.body, made.etag], JSON.stringify(body)).toEqual([seen.body, seen.etag])
      if (seen.body.priority === 0) places.push(seen.body.position as number)
    }
    expect(places).toEqual([200, 300, 400, 500, 600, 700, 800, 900].map(position))
    expect(places).toEqual([...places].sort((a, b) => a - b))
  })

  test('lays a retry policy over that of the type, field by field', async () => {
    const { operator } = await openApi()
    const of = async (retry_policy: object) => operator.jobs.enqueue({ type: 'flaky', retry_policy })
    const backoff = { kind: 'fixed', delay_ms: 3_600_000 }
    expect(await of({ max_retries: 1 })).toMatchObject({
      retry_policy: { max_retries: 1, max_crash_retries: 3, backoff },
    })
    expect(await of({ max_retries: 0 })).toMatchObject({
      retry_policy: { max_retries: 0, max_crash_retries: 0, backoff },
    })
    expect(await of({ backoff: { kind: 'none' } })).toMatchObject({
      retry_policy: { max_retries: 3, backoff: { kind: 'none' } },
    })
  })

  test('keeps null as params; only absent ones are an empty object', async () => {
    const { operator } = await openApi()
    expect(await operator.jobs.enqueue({ type: 'review', params: null })).toMatchObject({ params: null })
    expect(await operator.jobs.enqueue({ type: 'review' })).toMatchObject({ params: {} })
    const { items } = await operator.jobs.bulk([{ type: 'review', params: null }, { type: 'review' }])
    expect(items).toMatchObject([{ params: null }, { params: {} }])
    const group = await operator.groups.create({ jobs: [{ type: 'review', params: null }] })
    expect(await operator.jobs.get(group.job_ids[0] ?? '')).toMatchObject({ params: null })
  })

  test('takes `max_attempts` for `max_retries`, but not both', async () => {
    const { operator } = await openApi()
    const job = await operator.jobs.enqueue({ type: 'story', retry_policy: { max_attempts: 7 } })
    expect(job).toMatchObject({ retry_policy: { max_retries: 7 } })
    const both = { type: 'story', retry_policy: { max_retries: 1, max_attempts: 1 } }
    const path = 'retry_policy.max_attempts'
    expect(await refusalOf(operator.jobs.enqueue(both))).toEqual({ status: 422, code: 'invalid_option', path })
  })

  test('answers a repeated idempotency key with the first Job, by field or by header', async () => {
    const { operator } = await openApi()
    const body = { type: 'story', params: { genre: 'a' } }
    const first = await operator.answer('POST /api/jobs', { body, idempotencyKey: 'k' })
    const byHeader = await operator.answer('POST /api/jobs', { body, idempotencyKey: 'k' })
    const byField = await operator.answer('POST /api/jobs', { body: { ...body, idempotency_key: 'k' } })
    expect([first.status, byHeader.status, byField.status]).toEqual([201, 200, 200])
    expect(new Set([first, byHeader, byField].map((answer) => answer.body.job_id)).size).toBe(1)
    const other = operator.jobs.enqueue({ type: 'story', params: { genre: 'b' } }, { idempotencyKey: 'k' })
    expect(await refusalOf(other)).toMatchObject({ status: 422, code: 'idempotency_key_reused' })
    const twoKeys = operator.jobs.enqueue({ ...body, idempotency_key: 'k' }, { idempotencyKey: 'l' })
    expect(await refusalOf(twoKeys)).toMatchObject({ status: 422, path: 'idempotency_key' })
  })

  test('remembers an idempotency key after the Job was pruned', async () => {
    const { admin, scheduler } = await openApi()
    await scheduler.start()
    const job_id = await idOf(admin.jobs.enqueue({ type: 'story', idempotency_key: 'k' }))
    await scheduler.settled(job_id)
    await vi.waitFor(async () => expect((await admin.prune({ older_than_ms: 0 })).jobs_removed).toBe(1), PATIENCE)
    const again = await admin.answer('POST /api/jobs', { body: { type: 'story', idempotency_key: 'k' } })
    expect(again).toMatchObject({ status: 200, body: { job_id, pruned: true } })
  })

  test('answers 409 while another chain holds the business key', async () => {
    const { operator } = await openApi()
    await operator.jobs.enqueue({ type: 'story', business_key: 'b' })
    const second = operator.jobs.enqueue({ type: 'story', business_key: 'b' })
    expect(await refusalOf(second)).toEqual({ status: 409, code: 'business_key_taken', path: 'business_key' })
  })

  test('makes a Job of a template, with what is given over its default params', async () => {
    const { admin } = await openApi()
    const { template_id } = await admin.templates.create({
      name: 't',
      job_type: 'story',
      default_params: { genre: 'gothic', length: 7 },
      timeout_ms: 5_000,
    })
    const job = await admin.jobs.enqueue({ template_id, params: { length: 8 } })
    expect(job).toMatchObject({ template_id, params: { genre: 'gothic', length: 8 }, timeout_ms: 5_000 })
    const wrong = admin.jobs.enqueue({ template_id, params: { length: 'long' } })
    expect(await refusalOf(wrong)).toEqual({ status: 422, code: 'invalid_params', path: 'params.length' })
  })

  test.each([
    ['an unknown type', { type: 'nobody' }, 'unknown_type', 'type'],
    ['an unknown template', { template_id: 'nope' }, 'template_not_found', 'template_id'],
    ['neither type nor template', {}, 'invalid_option', 'type'],
    ['both type and template', { type: 'story', template_id: 'x' }, 'invalid_option', 'type'],
    ['a type that can be none', { type: 'No Such' }, 'invalid_option', 'type'],
    ['params that the schema refuses', { type: 'story', params: { genre: 1 } }, 'invalid_params', 'params.genre'],
    ['params that are too large', { type: 'review', params: 'x'.repeat(300_000) }, 'params_too_large', 'params'],
    ['an unknown parent', { type: 'story', depends_on: ['nope'] }, 'parent_not_found', 'depends_on'],
    ['a local name outside a list', { type: 'story', depends_on: ['#a'] }, 'parent_not_found', 'depends_on'],
    ['a priority with a fraction', { type: 'story', priority: 0.5 }, 'invalid_option', 'priority'],
    ['a priority of 33 bits', { type: 'story', priority: 2 ** 31 }, 'invalid_option', 'priority'],
    ['an instant without offset', { type: 'story', run_at: '2030-01-01T00:00:00' }, 'invalid_option', 'run_at'],
    ['an instant before 1970', { type: 'story', run_at: '1969-12-31T23:59:59Z' }, 'invalid_option', 'run_at'],
    ['a day that never was', { type: 'story', run_at: '2030-02-30T00:00:00Z' }, 'invalid_option', 'run_at'],
    ['an empty name', { type: 'story', name: '' }, 'invalid_option', 'name'],
    ['U+0000 in a name', { type: 'story', name: 'a\u0000' }, 'invalid_option', 'name'],
    ['too many tags', { type: 'story', tags: Array(33).fill('x') }, 'invalid_option', 'tags'],
    ['a tag that is a number', { type: 'story', tags: ['a', 1] }, 'invalid_option', 'tags.1'],
    ['a timeout of nothing', { type: 'story', timeout_ms: 0 }, 'invalid_option', 'timeout_ms'],
    ['too long a timeout', { type: 'story', timeout_ms: 2_592_000_001 }, 'invalid_option', 'timeout_ms'],
    [
      'too many retries',
      { type: 'story', retry_policy: { max_retries: 1_001 } },
      'invalid_option',
      'retry_policy.max_retries',
    ],
    [
      'an unknown backoff',
      { type: 'story', retry_policy: { backoff: { kind: 'x' } } },
      'invalid_option',
      'retry_policy.backoff.kind',
    ],
    ['an unknown word', { type: 'story', on_parent_failure: 'x' }, 'invalid_option', 'on_parent_failure'],
    ['a private webhook', { type: 'story', webhook_url: 'http://127.0.0.1/' }, 'webhook_url_refused', 'webhook_url'],
    ['no URL at all', { type: 'story', webhook_url: 'x' }, 'webhook_url_refused', 'webhook_url'],
  ])('refuses %s with 422 and its path', async (_, body, code, path) => {
    const { operator } = await openApi()
    expect(await refusalOf(operator.jobs.enqueue(body as never))).toEqual({ status: 422, code, path })
    expect((await operator.jobs.list()).items).toEqual([])
  })

  test.each(['localhost', 'LOCALHOST.', 'a.localhost:8080', 'a.b.localhost..', '[::1]', '127.1'])(
    'refuses a webhook at %s, which certainly is this machine',
    async (host) => {
      const { operator } = await openApi()
      const job = operator.jobs.enqueue({ type: 'story', webhook_url: `http://${host}/` })
      expect(await refusalOf(job)).toEqual({ status: 422, code: 'webhook_url_refused', path: 'webhook_url' })
    },
  )

  test('takes a webhook at localhost where its address is listed, and any name that has to be looked up', async () => {
    const { operator } = await openApi({ webhooks: { allowPrivate: ['127.0.0.1'] } })
    for (const host of ['localhost', 'localhost.example.com', 'notlocalhost', 'intranet.local']) {
      const job = operator.jobs.enqueue({ type: 'story', webhook_url: `http://${host}/` })
      expect(await job).toMatchObject({ status: 'QUEUED' })
    }
  })

  test('echoes nothing at length', async () => {
    const { operator } = await openApi()
    const long = 'x'.repeat(500_000)
    for (const body of [
      { type: 'story', [long]: 1 },
      { type: long },
      { type: 'story', name: long },
      { type: 'story', tags: [long] },
    ]) {
      const error = await operator.jobs.enqueue(body as never).catch((thrown) => thrown)
      expect(error).toMatchObject({ status: 422, code: 'invalid_option' })
      expect(JSON.stringify(error.problem).length).toBeLessThan(3_000)
    }
  })

  test('says in words what was expected and what came', async () => {
    const { operator } = await openApi()
    const wrong = { type: 'story', priority: 'high', tags: 'x', colour: 'red' } as never
    await expect(operator.jobs.enqueue(wrong)).rejects.toMatchObject({
      message: "`priority`: Expected a whole number, got 'high'.",
      problem: {
        errors: [
          { path: 'priority', message: "Expected a whole number, got 'high'." },
          { path: 'tags', message: "Expected a list, got 'x'." },
          {
            path: 'colour',
            message: expect.stringMatching(/^Unknown field `colour`\. Expected one of: type, template_id, /),
          },
        ],
      },
    })
  })
})

describe('the words of a refusal', () => {
  test.each([
    [{ type: 'story', paramz: {} }, /^Unknown field `paramz`\. Expected one of: /],
    [{ type: 'story', retry_policy: { tries: 1 } }, /^`retry_policy`: Unknown field `tries`\. /],
    [{ type: 'story', name: '' }, /^`name`: Expected a text that is not empty, got an empty one\.$/],
    [{ type: 'story', depends_on: ['#a'] }, /local names mean jobs of the same list\. Submit them together/],
    [{ type: 'nobody' }, /Check the spelling, or start a node that handles it/],
    [{ type: 'story', webhook_url: 'http://10.0.0.1/' }, /list it under `webhooks\.allowPrivate`/],
  ])('of %j are those of the API', async (body, words) => {
    const { operator } = await openApi()
    const error: PawlApiError = await operator.jobs.enqueue(body as never).catch((thrown) => thrown)
    expect(error.message).toMatch(words)
    expect(error.message).not.toMatch(/openScheduler|enqueueMany|nextCursor|`[a-z]+[A-Z]/)
  })

  test('name the field of a member as the API does, and say each fault once', async () => {
    const { operator, viewer } = await openApi()
    const member = operator.groups.create({ jobs: [{ type: 'story', idempotency_key: 'k' }] })
    await expect(member).rejects.toThrow(/Expected `idempotency_key` to be absent/)
    await expect(viewer.jobs.list({ cursor: 'x' })).rejects.toThrow(/`cursor` to be as the page before answered it/)
    const early = operator.jobs.enqueue({ type: 'story', run_at: 'tomorrow' })
    await expect(early).rejects.toMatchObject({ problem: { errors: [{ path: 'run_at' }] } })
  })
})

describe('POST /api/jobs/bulk', () => {
  test('accepts a whole graph and answers in the given order', async () => {
    const { admin } = await openApi()
    const { template_id } = await admin.templates.create({ name: 't', job_type: 'story', params: { genre: 'x' } })
    const { items } = await admin.jobs.bulk([
      { type: 'review', depends_on: ['#draft', '#other'], name: 'last' },
      { ref: 'draft', type: 'story' },
      { ref: 'other', template_id, params: { length: 3 } },
    ])
    const [review, draft, other] = items as { job_id: string; depends_on: readonly string[] }[]
    expect(items.map((item) => ('job_type' in item ? item.job_type : null))).toEqual(['review', 'story', 'story'])
    expect(new Set(review?.depends_on)).toEqual(new Set([draft?.job_id, other?.job_id]))
    expect(other).toMatchObject({ template_id, params: { genre: 'x', length: 3 }, created_by: 'key:the admin' })
  })

  test('answers an item whose idempotency key exists by the first Job', async () => {
    const { operator } = await openApi()
    const first = await operator.jobs.enqueue({ type: 'story', idempotency_key: 'k' })
    const { items } = await operator.jobs.bulk([{ type: 'review' }, { type: 'story', idempotency_key: 'k' }])
    expect(items[1]?.job_id).toBe((first as { job_id: string }).job_id)
    expect((await operator.jobs.list()).items).toHaveLength(2)
  })

  test.each([
    ['an unknown type', [{ type: 'story' }, { type: 'nobody' }], 422, 'unknown_type', 'jobs.1.type'],
    ['an unknown template', [{ type: 'story' }, { template_id: 'x' }], 422, 'template_not_found', 'jobs.1.template_id'],
    ['wrong params', [{ type: 'story', params: { genre: 1 } }], 422, 'invalid_params', 'jobs.0.params.genre'],
    ['an unknown field', [{ type: 'story' }, { type: 'story', x: 1 }], 422, 'invalid_option', 'jobs.1.x'],
    [
      'a name given twice',
      [
        { type: 'story', ref: 'a' },
        { type: 'story', ref: 'a' },
      ],
      422,
      'invalid_option',
      'jobs.1.ref',
    ],
    ['an unknown name', [{ type: 'story', depends_on: ['#b'] }], 422, 'invalid_option', 'jobs.0.depends_on'],
    [
      'a cycle',
      [
        { type: 'story', ref: 'a', depends_on: ['#b'] },
        { type: 'story', ref: 'b', depends_on: ['#a'] },
      ],
      422,
      'dependency_cycle',
      expect.stringMatching(/^jobs\.[01]\.depends_on$/),
    ],
    ['an unknown parent', [{ type: 'story', depends_on: ['x'] }], 422, 'parent_not_found', 'jobs.0.depends_on'],
    [
      'a key twice',
      [
        { type: 'story', business_key: 'b' },
        { type: 'story', business_key: 'b' },
      ],
      409,
      'business_key_taken',
      'jobs.1.business_key',
    ],
    ['an empty list', [], 422, 'invalid_option', 'jobs'],
  ])('refuses %s, and then stores nothing', async (_, jobs, status, code, path) => {
    const { operator } = await openApi()
    expect(await refusalOf(operator.jobs.bulk(jobs as never))).toEqual({ status, code, path })
    expect((await operator.jobs.list()).items).toEqual([])
  })

  test('tells the way around a cycle', async () => {
    const { operator } = await openApi()
    const jobs = [
      { type: 'story', ref: 'a', depends_on: ['#b'] },
      { type: 'story', ref: 'b', depends_on: ['#a'] },
    ]
    await expect(operator.jobs.bulk(jobs)).rejects.toThrow(/a → b → a|b → a → b/)
  })

  test('takes 10,000 Jobs and refuses 10,001, and a huge wrong list gets a short answer', async () => {
    const { operator } = await openApi()
    const { items } = await operator.jobs.bulk(Array(10_000).fill({ type: 'review' }))
    expect(items).toHaveLength(10_000)
    const more = operator.jobs.bulk(Array(10_001).fill({ type: 'review' }))
    expect(await refusalOf(more)).toMatchObject({ status: 422, path: 'jobs' })
    const wrong = await operator.jobs.bulk(Array(9_000).fill({ type: 7, tags: 'x', oops: 1 })).catch((error) => error)
    expect(wrong).toMatchObject({ status: 422, path: 'jobs.0.type' })
    expect(JSON.stringify(wrong.problem).length).toBeLessThan(5_000)
  }, 60_000)
})

describe('reading Jobs', () => {
  test('filters by status, type, tag, template, schedule and group', async () => {
    const { admin } = await openApi()
    const { template_id } = await admin.templates.create({ name: 't', job_type: 'story' })
    const { schedule_id } = await admin.schedules.create({ name: 's', type: 'story', every_ms: 3_600_000 })
    const plain = await idOf(admin.jobs.enqueue({ type: 'review', tags: ['blue'] }))
    const ofTemplate = await idOf(admin.jobs.enqueue({ template_id }))
    const ofSchedule = await idOf(admin.schedules.trigger(schedule_id))
    const { group_id, job_ids } = await admin.groups.create({ jobs: [{ type: 'slow' }] })
    const idsOf = async (query: Parameters<typeof admin.jobs.list>[0]) =>
      (await admin.jobs.list(query)).items.map(({ job_id }) => job_id)
    expect(await idsOf({ tag: 'blue' })).toEqual([plain])
    expect(await idsOf({ template_id })).toEqual([ofTemplate])
    expect(await idsOf({ schedule_id })).toEqual([ofSchedule])
    expect(await idsOf({ group_id })).toEqual(job_ids)
    expect(await idsOf({ type: 'story' })).toEqual([ofSchedule, ofTemplate])
    expect(await idsOf({ status: 'QUEUED' })).toEqual([plain, ofTemplate, ofSchedule, ...job_ids])
    expect(await idsOf({ status: 'FINISHED' })).toEqual([])
    expect(await refusalOf(admin.jobs.list({ status: 'DONE' as never }))).toMatchObject({ status: 422, path: 'status' })
  })

  test('page by page gives each Job once', async () => {
    const { operator, viewer } = await openApi()
    const { items } = await operator.jobs.bulk(Array(7).fill({ type: 'review' }))
    const seen: string[] = []
    for await (const job of viewer.all(viewer.jobs.list, { limit: 2 })) seen.push(job.job_id)
    expect(seen).toEqual(items.map(({ job_id }) => job_id).toReversed())
  })

  test('gives the chain, the Run, the logs and the reason of a Job that failed and was retried', async () => {
    const { operator, viewer, scheduler } = await openApi()
    await scheduler.start()
    const story = await idOf(operator.jobs.enqueue({ type: 'story' }))
    const broken = await idOf(operator.jobs.enqueue({ type: 'broken' }))
    await scheduler.settled(story)
    await scheduler.settled(broken)
    const chain = await viewer.jobs.chain(broken)
    expect(chain).toMatchObject({ chain_id: broken, settled: true, outcome: 'FAILED' })
    expect(chain.items.map(({ attempt, retry_of }) => [attempt, retry_of])).toEqual([
      [1, null],
      [2, broken],
    ])
    const { items } = await viewer.jobs.runs(broken)
    expect(items).toMatchObject([{ job_id: broken, status: 'FAILED', reason: 'error', error: 'no luck', result: null }])
    const logs = await viewer.jobs.logs(story)
    expect(logs).toMatchObject({
      items: [
        { line: 1, level: 'info', text: 'begun', fields: { genre: 'gothic' } },
        { line: 2, level: 'warn', text: 'done', fields: null },
      ],
      next_cursor: null,
    })
    const why = await viewer.jobs.why(broken)
    expect(why).toMatchObject({ job_id: broken, state: 'FINISHED', queue_rank: null })
    expect(why.reasons.map(({ code }) => code)).toContain('retry_follows')
  })

  test('of a Job that waits has no Run, no logs, and a rank', async () => {
    const { operator, viewer } = await openApi()
    await operator.jobs.enqueue({ type: 'story' })
    const job = await idOf(operator.jobs.enqueue({ type: 'story' }))
    expect(await viewer.jobs.runs(job)).toEqual({ items: [], next_cursor: null })
    expect(await viewer.jobs.logs(job)).toEqual({ items: [], next_cursor: null })
    expect(await viewer.jobs.why(job)).toMatchObject({
      state: 'QUEUED',
      queue_rank: 2,
      reasons: [{ code: 'no_node' }, {}],
    })
  })
})

describe('PATCH /api/jobs/{id}', () => {
  test('changes priority, params and instant of a QUEUED Job', async () => {
    const { operator } = await openApi()
    const job = await idOf(operator.jobs.enqueue({ type: 'story' }))
    const run_at = '2031-01-01T00:00:00.000Z'
    const changed = await operator.jobs.edit(job, { priority: 9, params: { genre: 'noir' }, run_at })
    expect(changed).toMatchObject({ priority: 9, params: { genre: 'noir' }, run_at, hold: 'delayed' })
    expect(await operator.jobs.edit(job, { run_at: null })).toMatchObject({ hold: null })
    const wrong = operator.jobs.edit(job, { params: { genre: 1 } })
    expect(await refusalOf(wrong)).toEqual({ status: 422, code: 'invalid_params', path: 'params.genre' })
  })

  test('is refused with 409 once the Job is not QUEUED', async () => {
    const api = await openApi()
    await api.scheduler.start()
    const job = await idOf(api.operator.jobs.enqueue({ type: 'slow' }))
    await started(api, job)
    expect(await refusalOf(api.operator.jobs.edit(job, { priority: 1 }))).toMatchObject({
      status: 409,
      code: 'job_not_queued',
    })
  })

  test('changes only the version that `If-Match` names', async () => {
    const { operator } = await openApi()
    const { body, etag } = await operator.answer('POST /api/jobs', { body: { type: 'story' } })
    const { job_id } = body
    const ifMatch = etag as string
    expect((await operator.answer('GET /api/jobs/{job_id}', { params: { job_id } })).etag).toBe(ifMatch)
    const edited = await operator.answer('PATCH /api/jobs/{job_id}', {
      params: { job_id },
      body: { priority: 1 },
      ifMatch,
    })
    expect(edited.etag).not.toBe(ifMatch)
    const stale = operator.jobs.edit(job_id, { priority: 2 }, { ifMatch })
    expect(await refusalOf(stale)).toEqual({ status: 412, code: 'precondition_failed' })
    expect(await operator.jobs.edit(job_id, { priority: 3 }, { ifMatch: '*' })).toMatchObject({ priority: 3 })
    for (const malformed of ['abc', '"a" "b"', '"a', 'W/a', ', ', '', Array(21).fill('"a"').join()]) {
      const told = await refusalOf(operator.jobs.edit(job_id, { priority: 2 }, { ifMatch: malformed }))
      expect(told).toEqual({ status: 400, code: 'malformed_request' })
    }
  })

  test('takes several versions, of which one must be there; a weak one never is', async () => {
    const { operator } = await openApi()
    const { body, etag } = await operator.answer('POST /api/jobs', { body: { type: 'story' } })
    const edit = (ifMatch: string) => operator.jobs.edit(body.job_id, { priority: 1 }, { ifMatch })
    const missed = { status: 412, code: 'precondition_failed' }
    for (const ifMatch of ['"a", "b"', `W/${etag}`, `W/"a" ,"b"`, '""']) {
      expect(await refusalOf(edit(ifMatch))).toEqual(missed)
    }
    expect(await edit(`"a",W/"b" , ${etag}`)).toMatchObject({ priority: 1 })
  })
})

describe('POST /api/jobs/{id}/move', () => {
  test('moves to the front, the back, before and after', async () => {
    const { operator } = await openApi()
    const { items } = await operator.jobs.bulk(Array(3).fill({ type: 'story' }))
    const [a = '', b = '', c = ''] = items.map(({ job_id }) => job_id)
    const queue = async () => (await operator.jobs.list({ status: 'QUEUED' })).items.map(({ job_id }) => job_id)
    await operator.jobs.move(c, { to: 'front' })
    expect(await queue()).toEqual([c, a, b])
    await operator.jobs.move(c, { to: 'back' })
    expect(await queue()).toEqual([a, b, c])
    await operator.jobs.move(c, { before: b })
    expect(await queue()).toEqual([a, c, b])
    expect(await operator.jobs.move(a, { after: b })).toMatchObject({ job_id: a, status: 'QUEUED' })
    expect(await queue()).toEqual([c, b, a])
  })

  test('moves only the version that `If-Match` names', async () => {
    const { operator } = await openApi()
    const { body, etag } = await operator.answer('POST /api/jobs', { body: { type: 'story' } })
    await operator.jobs.enqueue({ type: 'story' })
    const move = () => operator.jobs.move(body.job_id, { to: 'back' }, { ifMatch: etag as string })
    await move()
    expect(await refusalOf(move())).toEqual({ status: 412, code: 'precondition_failed' })
  })

  test('refuses an unknown neighbour with 422, and one that is not QUEUED with 409', async () => {
    const api = await openApi()
    const { operator, scheduler } = api
    await scheduler.start()
    const running = await idOf(operator.jobs.enqueue({ type: 'slow' }))
    await started(api, running)
    const waiting = await idOf(operator.jobs.enqueue({ type: 'story' }))
    const missing = await refusalOf(operator.jobs.move(waiting, { before: 'nope' }))
    expect(missing).toEqual({ status: 422, code: 'job_not_found', path: 'before' })
    const busy = await refusalOf(operator.jobs.move(waiting, { after: running }))
    expect(busy).toMatchObject({ status: 409, code: 'job_not_queued' })
    expect(await refusalOf(operator.jobs.move(running, { to: 'front' }))).toMatchObject({ status: 409 })
  })

  test.each([{}, { to: 'middle' }, { to: 'front', before: 'x' }, { before: '' }])('refuses %j', async (target) => {
    const { operator } = await openApi()
    const job = await idOf(operator.jobs.enqueue({ type: 'story' }))
    expect(await refusalOf(operator.jobs.move(job, target as never))).toMatchObject({ status: 422 })
  })
})

describe('cancelling', () => {
  test('a QUEUED Job answers 200, again and again', async () => {
    const { operator } = await openApi()
    const job_id = await idOf(operator.jobs.enqueue({ type: 'story' }))
    for (let count = 0; count < 2; count++) {
      const answer = await operator.answer('POST /api/jobs/{job_id}/cancel', {
        params: { job_id },
        body: { reason: 'why not' },
      })
      expect(answer).toMatchObject({ status: 200, body: { status: 'CANCELLED', cancel_reason: 'why not' } })
    }
    expect((await operator.answer('DELETE /api/jobs/{job_id}', { params: { job_id } })).status).toBe(200)
  })

  test('a RUNNING Job answers 202, and aborts it where it runs', async () => {
    const api = await openApi()
    const { operator, viewer, scheduler } = api
    await scheduler.start()
    const job_id = await idOf(operator.jobs.enqueue({ type: 'slow' }))
    await started(api, job_id)
    expect(await refusalOf(operator.jobs.remove(job_id))).toMatchObject({ status: 409, code: 'job_not_queued' })
    expect((await viewer.jobs.get(job_id)).cancel_requested_at).toBeNull()
    const answer = await operator.answer('POST /api/jobs/{job_id}/cancel', {
      params: { job_id },
      body: { mode: 'abort' },
    })
    expect(answer.status).toBe(202)
    expect(answer.body.cancel_requested_at).not.toBeNull()
    await scheduler.settled(job_id)
    expect(await viewer.jobs.get(job_id)).toMatchObject({ status: 'CANCELLED' })
  })

  test('a Job that has ended answers 409', async () => {
    const { operator, scheduler } = await openApi()
    await scheduler.start()
    const job = await idOf(operator.jobs.enqueue({ type: 'story' }))
    await scheduler.settled(job)
    expect(await refusalOf(operator.jobs.cancel(job))).toEqual({ status: 409, code: 'job_ended' })
    expect(await refusalOf(operator.jobs.remove(job))).toEqual({ status: 409, code: 'job_ended' })
    expect(await refusalOf(operator.jobs.cancel(job, { mode: 'hard' as never }))).toMatchObject({
      status: 422,
      path: 'mode',
    })
  })

  test('changes only the version that `If-Match` names', async () => {
    const { operator } = await openApi()
    const { body, etag } = await operator.answer('POST /api/jobs', { body: { type: 'story' } })
    const stale = { status: 412, code: 'precondition_failed' }
    expect(await refusalOf(operator.jobs.cancel(body.job_id, {}, { ifMatch: '"other"' }))).toEqual(stale)
    expect(await refusalOf(operator.jobs.remove(body.job_id, { ifMatch: '"other"' }))).toEqual(stale)
    expect(await operator.jobs.remove(body.job_id, { ifMatch: etag as string })).toMatchObject({ status: 'CANCELLED' })
  })

  test('without a body is graceful', async () => {
    const { operator, url, keys } = await openApi()
    const job = await idOf(operator.jobs.enqueue({ type: 'story' }))
    const headers = { authorization: `Bearer ${keys.operator}` }
    const answer = await fetch(`${url}/api/jobs/${job}/cancel`, { method: 'POST', headers })
    expect(answer.status).toBe(200)
  })
})

describe('retrying by hand', () => {
  test('a chain that failed answers 201 with the new Job', async () => {
    const { operator, scheduler } = await openApi()
    await scheduler.start()
    const first = await idOf(operator.jobs.enqueue({ type: 'broken' }))
    const { attempts } = await scheduler.settled(first)
    const last = (await operator.jobs.chain(first)).items.at(-1)?.job_id ?? ''
    expect(await refusalOf(operator.jobs.retry(first))).toEqual({ status: 409, code: 'not_last_attempt' })
    await scheduler.stop()
    const answer = await operator.answer('POST /api/jobs/{job_id}/retry', {
      params: { job_id: last },
      body: { priority: 4 },
    })
    expect(answer).toMatchObject({ status: 201, body: { chain_id: first, attempt: attempts + 1, priority: 4 } })
  })

  test('makes a waiting retry due, and answers 200', async () => {
    const { operator, scheduler } = await openApi()
    await scheduler.start()
    const first = await idOf(operator.jobs.enqueue({ type: 'flaky' }))
    await vi.waitFor(async () => expect((await operator.jobs.chain(first)).items).toHaveLength(2), PATIENCE)
    await scheduler.stop()
    const waiting = (await operator.jobs.chain(first)).items[1]
    expect(waiting?.hold).toBe('delayed')
    const params = { job_id: first }
    const answer = await operator.answer('POST /api/jobs/{job_id}/retry', { params, body: {} })
    expect(answer).toMatchObject({ status: 200, body: { job_id: waiting?.job_id, hold: null } })
  })

  test('of an earlier Run names the one that can be retried, also while a retry waits', async () => {
    const { operator, scheduler } = await openApi()
    await scheduler.start()
    const first = await idOf(operator.jobs.enqueue({ type: 'flaky' }))
    const attempts = (count: number) =>
      vi.waitFor(async () => expect((await operator.jobs.chain(first)).items).toHaveLength(count), PATIENCE)
    await attempts(2)
    await operator.jobs.retry(first)
    await attempts(3)
    await scheduler.stop()
    const [, second, third] = (await operator.jobs.chain(first)).items
    const refused = await operator.jobs.retry(first).catch((error: PawlApiError) => error.problem)
    const [run] = (await operator.jobs.runs(second?.job_id ?? '')).items
    expect(refused).toMatchObject({ last_job_id: second?.job_id, last_run_id: run?.run_id })
    const followed = await operator.answer('POST /api/job-runs/{run_id}/retry', {
      params: { run_id: run?.run_id ?? '' },
      body: { priority: 77 },
    })
    expect(followed).toMatchObject({ status: 200, body: { job_id: third?.job_id, hold: null, priority: 77 } })
    const own = { params: { job_id: third?.job_id ?? '' }, body: {} }
    expect(await operator.answer('POST /api/jobs/{job_id}/retry', own)).toMatchObject({ status: 200 })
  })

  test('refuses what has not failed with 409', async () => {
    const { operator } = await openApi()
    const job = await idOf(operator.jobs.enqueue({ type: 'story' }))
    expect(await refusalOf(operator.jobs.retry(job))).toEqual({ status: 409, code: 'not_retryable' })
    expect(await refusalOf(operator.jobs.retry(job, { dependents: 'yes' as never }))).toMatchObject({
      path: 'dependents',
    })
  })
})
