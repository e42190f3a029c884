import { describe, expect, test } from 'vitest'
import { httpTransport } from '../../src/client/http-transport.ts'
import { clientOver } from '../../src/client/index.ts'
import { openApi, PATIENCE, refusalOf } from './api-stage.ts'

test('GET /api/job-types lists the types with the policy of their Jobs', async () => {
  const { viewer, scheduler } = await openApi()
  const typeOf = async (name: string) => (await viewer.types.list()).items.find(({ type }) => type === name)
  expect(await typeOf('story')).toMatchObject({ timeout_ms: 60_000, resources: [], registered: false })
  await scheduler.start()
  expect(await typeOf('flaky')).toEqual({
    type: 'flaky',
    retry_policy: { max_retries: 3, max_crash_retries: 3, backoff: { kind: 'fixed', delay_ms: 3_600_000 } },
    timeout_ms: null,
    resources: [],
    params_schema: null,
    registered: true,
  })
})

test('lists that are short are read page by page too', async () => {
  const { admin, viewer, scheduler } = await openApi()
  await scheduler.start()
  for (const name of ['resource:b', 'running', 'resource:a']) await admin.limits.set(name, 1)
  const types = await allOf((query) => viewer.types.list(query))
  expect(types.map(({ type }) => type)).toEqual(['broken', 'flaky', 'picky', 'review', 'slow', 'story'])
  const limits = await allOf((query) => viewer.limits.list(query))
  expect(limits.map(({ name }) => name)).toEqual(['resource:a', 'resource:b', 'running'])
  const nodes = await allOf((query) => viewer.nodes.list(query))
  expect(nodes).toMatchObject([{ is_this: true }])
  const first = await viewer.limits.list({ limit: 1 })
  await admin.limits.remove('resource:a')
  const next = await viewer.limits.list({ limit: 1, cursor: first.next_cursor ?? '' })
  expect(next.items).toMatchObject([{ name: 'resource:b' }])
})

/** All items, in pages of two. */
async function allOf<Item>(
  list: (query: { limit: number; cursor?: string }) => Promise<{ items: Item[]; next_cursor: string | null }>,
): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | null = null
  do {
    const page = await list({ limit: 2, ...(cursor !== null && { cursor }) })
    expect(page.items.length).toBeLessThanOrEqual(2)
    items.push(...page.items)
    cursor = page.next_cursor
  } while (cursor !== null)
  return items
}

describe('/api/limits', () => {
  test('sets, lists and removes limits, and Jobs start as soon as one allows it', async () => {
    const { admin, viewer, scheduler } = await openApi({ concurrency: 5, maxRunning: 1 })
    expect(await viewer.limits.list()).toEqual({ items: [{ name: 'running', max: 1 }], next_cursor: null })
    await scheduler.start()
    await admin.jobs.bulk([{ type: 'slow' }, { type: 'slow' }, { type: 'slow' }])
    const running = async () => (await viewer.scheduler.status()).current_job_ids.length
    await expect.poll(running, PATIENCE).toBe(1)
    expect(await admin.limits.set('running', 2)).toEqual({ name: 'running', max: 2 })
    await expect.poll(running, { timeout: 3_000, interval: 5 }).toBe(2)
    expect((await admin.answer('DELETE /api/limits/{name}', { params: { name: 'running' } })).status).toBe(204)
    await expect.poll(running, { timeout: 3_000, interval: 5 }).toBe(3)
    expect(await refusalOf(admin.limits.remove('running'))).toEqual({ status: 404, code: 'not_found' })
    await admin.limits.set('resource:gpu', 1)
    expect((await viewer.limits.list()).items).toEqual([{ name: 'resource:gpu', max: 1 }])
  })

  test('refuses names that limit nothing, and numbers out of range', async () => {
    const { admin } = await openApi()
    for (const name of ['gpu', 'type:', 'resource:UPPER', 'x'.repeat(200)]) {
      expect(await refusalOf(admin.limits.set(name, 1))).toEqual({ status: 422, code: 'invalid_option', path: 'name' })
    }
    for (const max of [0, -1, 1.5, 1_000_001]) {
      expect(await refusalOf(admin.limits.set('running', max))).toMatchObject({ status: 422, path: 'max' })
    }
  })
})

describe('/api/keys', () => {
  test('makes a key that is shown once and opens what its role may, until it is revoked', async () => {
    const { admin, url } = await openApi()
    const made = await admin.answer('POST /api/keys', {
      body: { name: 'ci', role: 'viewer', expires_in_ms: 3_600_000 },
    })
    expect(made.status).toBe(201)
    const { key, key_id, expires_at } = made.body
    expect(made.body).toMatchObject({ name: 'ci', role: 'viewer' })
    expect(Date.parse(expires_at ?? '')).toBeGreaterThan(Date.now())
    const holder = clientOver(httpTransport({ server: url, apiKey: key }))
    expect((await holder.jobs.list()).items).toEqual([])
    expect(await refusalOf(holder.jobs.enqueue({ type: 'story' }))).toEqual({ status: 403, code: 'forbidden' })
    const [listed] = (await admin.keys.list()).items
    expect(listed).toMatchObject({ key_id, name: 'ci', role: 'viewer', created_by: 'key:the admin', revoked_at: null })
    expect(JSON.stringify(await admin.keys.list())).not.toContain(key)
    const revoked = await admin.keys.revoke(key_id)
    expect(revoked.revoked_at).not.toBeNull()
    expect(await admin.keys.revoke(key_id)).toEqual(revoked)
    await expect.poll(() => refusalOf(holder.jobs.list()).catch(() => null), PATIENCE).toMatchObject({ status: 401 })
  })

  test.each([
    [{ role: 'viewer' }, 'name'],
    [{ name: 'x', role: 'king' }, 'role'],
    [{ name: 'x'.repeat(129), role: 'viewer' }, 'name'],
    [{ name: 'x', role: 'viewer', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ name: 'x', role: 'viewer', expires_in_ms: 0 }, 'expires_in_ms'],
    [{ name: 'x', role: 'viewer', expires_in_ms: Number.MAX_SAFE_INTEGER }, 'expires_in_ms'],
    [{ name: 'x', role: 'viewer', expires_in_ms: 1, expires_at: '2099-01-01T00:00:00Z' }, 'expires_at'],
  ])('refuses %j', async (body, path) => {
    const { admin } = await openApi()
    expect(await refusalOf(admin.keys.create(body as never))).toEqual({ status: 422, code: 'invalid_option', path })
  })
})

describe('GET /api/audit', () => {
  test('tells who changed what, by subject and by actor; what changed nothing is not there', async () => {
    const { admin, operator, viewer } = await openApi()
    const { job_id } = await operator.jobs.enqueue({ type: 'story', params: { genre: 'secret' } })
    await operator.jobs.edit(job_id, { priority: 3, params: { genre: 'hidden' } })
    await admin.jobs.cancel(job_id, { mode: 'abort', reason: 'enough' })
    await refusalOf(admin.jobs.edit(job_id, { priority: 4 }))
    await refusalOf(viewer.jobs.cancel(job_id))
    await admin.limits.set('running', 4)
    await admin.scheduler.start()
    const { items } = await viewer.audit.list({ subject: job_id })
    expect(items.map(({ actor, action, details }) => [actor, action, details])).toEqual([
      ['key:the admin', 'job.cancel', { mode: 'abort', reason: 'enough' }],
      ['key:the operator', 'job.edit', { fields: ['priority', 'params'] }],
      ['key:the operator', 'job.enqueue', null],
    ])
    const byAdmin = (await viewer.audit.list({ actor: 'key:the admin' })).items
    expect(byAdmin.map(({ action, subject }) => [action, subject])).toEqual([
      ['scheduler.start', null],
      ['limit.set', 'running'],
      ['job.cancel', job_id],
    ])
    expect(JSON.stringify(await viewer.audit.list())).not.toMatch(/secret|hidden/)
  })

  test('names the first of many that were made, and how many more', async () => {
    const { operator, viewer } = await openApi()
    const { items } = await operator.jobs.bulk([{ type: 'story' }, { type: 'story' }, { type: 'story' }])
    const [entry] = (await viewer.audit.list()).items
    expect(entry).toMatchObject({ action: 'job.enqueue-many', subject: items[0]?.job_id, others: 2 })
  })
})

test('GET /api/statistics tells what came of all Jobs, hour by hour, and what waits', async () => {
  const { admin, viewer, scheduler } = await openApi()
  await scheduler.start()
  await scheduler.settled((await admin.jobs.enqueue({ type: 'story' })).job_id)
  await scheduler.stop()
  await admin.jobs.enqueue({ type: 'story' })
  const { totals, hours, queue } = await viewer.statistics()
  expect(totals).toEqual({ executed: 1, completed: 1, failed: 0, skipped: 0, cancelled: 0 })
  expect(hours).toHaveLength(24)
  expect(hours.reduce((sum, hour) => sum + hour.completed, 0)).toBe(1)
  expect(queue).toMatchObject({ queued: 1, ready: 1, running: 0, waiting_tickets: 0, running_directs: 0 })
  expect(queue.oldest_ready_at).not.toBeNull()
})

test('GET /api/statistics says up to where it counted the queue', async () => {
  const { operator, viewer, scheduler } = await openApi()
  await scheduler.enqueueMany(Array.from({ length: 10_000 }, () => ({ type: 'story', params: {} })))
  await operator.jobs.enqueue({ type: 'story' })
  const { queue } = await viewer.statistics()
  expect(queue).toMatchObject({ counted_to: 10_000, queued: 10_000, ready: 10_000, running: 0 })
})

test('POST /api/prune counts what it would remove, then removes it', async () => {
  const { admin, viewer, scheduler } = await openApi()
  await scheduler.start()
  const { job_id } = await admin.jobs.enqueue({ type: 'story' })
  await scheduler.settled(job_id)
  await admin.direct('story')
  expect(await admin.prune({ older_than_ms: 3_600_000 })).toMatchObject({ jobs_removed: 0, dry_run: false })
  await expect.poll(() => admin.prune({ older_than_ms: 0, dry_run: true }), PATIENCE).toMatchObject({ jobs_removed: 1 })
  const counted = await admin.prune({ older_than_ms: 0, dry_run: true })
  expect(counted).toMatchObject({ dry_run: true, jobs_removed: 1, reservations_removed: 1 })
  expect(await viewer.jobs.get(job_id)).toMatchObject({ status: 'FINISHED' })
  expect(await admin.prune({ older_than_ms: 0 })).toEqual({ ...counted, dry_run: false })
  expect(await refusalOf(viewer.jobs.get(job_id))).toEqual({ status: 404, code: 'job_not_found' })
  expect((await viewer.audit.list()).items[0]).toMatchObject({ action: 'history.prune', details: { jobs_removed: 1 } })
  expect(await refusalOf(admin.prune({ older_than_ms: -1 }))).toMatchObject({ status: 422, path: 'older_than_ms' })
})
