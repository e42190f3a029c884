import { describe, expect, test } from 'vitest'
import { openApi, PATIENCE, refusalOf } from './api-stage.ts'

describe('/api/job-groups', () => {
  test('makes a group with all its Jobs, and shows how they stand', async () => {
    const { admin, operator, viewer, scheduler } = await openApi()
    const { template_id } = await admin.templates.create({ name: 't', job_type: 'story' })
    const made = await operator.answer('POST /api/job-groups', {
      body: { name: 'book', mode: 'sequential', on_failure: 'skip', jobs: [{ template_id }, { type: 'review' }] },
    })
    expect(made).toMatchObject({
      status: 201,
      body: {
        name: 'book',
        mode: 'sequential',
        on_failure: 'skip',
        status: 'QUEUED',
        counts: { total: 2, queued: 2, running: 0, completed: 0, failed: 0, skipped: 0, cancelled: 0 },
        created_by: 'key:the operator',
        started_at: null,
        finished_at: null,
      },
    })
    const { group_id, job_ids } = made.body
    expect((await viewer.jobs.get(job_ids[1] ?? '')).hold).toBe('group')
    await scheduler.start()
    await expect.poll(async () => (await viewer.groups.get(group_id)).status, PATIENCE).toBe('COMPLETED')
    expect(await viewer.groups.get(group_id)).toMatchObject({ counts: { total: 2, completed: 2 } })
    expect((await viewer.groups.list()).items.map((group) => group.group_id)).toEqual([group_id])
    expect(await refusalOf(operator.groups.cancel(group_id))).toEqual({ status: 409, code: 'group_ended' })
  })

  test('cancels a group: 200 once it is CANCELLED, 202 while it is carried out', async () => {
    const { operator, viewer, scheduler } = await openApi()
    await scheduler.start()
    const { group_id } = await operator.groups.create({ jobs: [{ type: 'slow' }, { type: 'slow' }] })
    await expect.poll(async () => (await viewer.groups.get(group_id)).counts.running, PATIENCE).toBe(1)
    const first = await operator.answer('POST /api/job-groups/{group_id}/cancel', {
      params: { group_id },
      body: { mode: 'abort', reason: 'enough' },
    })
    expect(first).toMatchObject({ status: 202, body: { cancel_reason: 'enough' } })
    await expect.poll(async () => (await viewer.groups.get(group_id)).status, PATIENCE).toBe('CANCELLED')
    const again = await operator.answer('POST /api/job-groups/{group_id}/cancel', { params: { group_id }, body: {} })
    expect(again).toMatchObject({ status: 200, body: { status: 'CANCELLED', counts: { cancelled: 2 } } })
  })

  test.each([
    ['no Jobs', { jobs: [] }, 422, 'invalid_option', 'jobs'],
    ['an unknown mode', { mode: 'spiral', jobs: [{ type: 'story' }] }, 422, 'invalid_option', 'mode'],
    ['an unknown type', { jobs: [{ type: 'nobody' }] }, 422, 'unknown_type', 'jobs.0.type'],
    ['an unknown template', { jobs: [{ template_id: 'x' }] }, 422, 'template_not_found', 'jobs.0.template_id'],
    [
      'a member with a key',
      { jobs: [{ type: 'story', idempotency_key: 'k' }] },
      422,
      'invalid_option',
      'jobs.0.idempotency_key',
    ],
    [
      'a member that waits for a later one',
      {
        mode: 'sequential',
        jobs: [
          { type: 'story', depends_on: ['#b'] },
          { type: 'story', ref: 'b' },
        ],
      },
      422,
      'dependency_cycle',
      'jobs.0.depends_on',
    ],
  ])('refuses %s', async (_, body, status, code, path) => {
    const { operator } = await openApi()
    expect(await refusalOf(operator.groups.create(body as never))).toEqual({ status, code, path })
    expect((await operator.groups.list()).items).toEqual([])
  })
})
