import { describe, expect, test, vi } from 'vitest'
import { openApi, PATIENCE, refusalOf } from './api-stage.ts'

describe('/api/job-runs', () => {
  test('lists Runs by status, type and Job, the latest first', async () => {
    const { operator, viewer, scheduler } = await openApi()
    await scheduler.start()
    const story = (await operator.jobs.enqueue({ type: 'story', params: { genre: 'noir' } })).job_id
    await scheduler.settled(story)
    const broken = (await operator.jobs.enqueue({ type: 'broken' })).job_id
    await scheduler.settled(broken)
    const picky = (await operator.jobs.enqueue({ type: 'picky' })).job_id
    await scheduler.settled(picky)
    const statuses = async (query: Parameters<typeof viewer.runs.list>[0]) =>
      (await viewer.runs.list(query)).items.map(({ status }) => status)
    expect(await statuses({})).toEqual(['SKIPPED', 'FAILED', 'FAILED', 'COMPLETED'])
    expect(await statuses({ status: 'FAILED' })).toEqual(['FAILED', 'FAILED'])
    expect(await statuses({ type: 'picky' })).toEqual(['SKIPPED'])
    expect(await statuses({ job_id: broken })).toEqual(['FAILED'])
    expect(await refusalOf(viewer.runs.list({ status: 'RUNNING' as never }))).toMatchObject({
      status: 422,
      path: 'status',
    })
  })

  test('gives one Run with all its fields', async () => {
    const { admin, scheduler } = await openApi()
    await scheduler.start()
    const { template_id } = await admin.templates.create({ name: 't', job_type: 'story' })
    const { job_id } = await admin.jobs.enqueue({ template_id, params: { genre: 'noir' } })
    await scheduler.settled(job_id)
    const [listed] = (await admin.runs.list({ job_id })).items
    const run = await admin.runs.get(listed?.run_id ?? '')
    expect(run).toEqual({ ...listed, stack: null })
    expect(run).toMatchObject({
      job_id,
      chain_id: job_id,
      job_type: 'story',
      attempt: 1,
      status: 'COMPLETED',
      reason: null,
      params_snapshot: { genre: 'noir' },
      template_id,
      node: scheduler.nodeId,
      exit_code: null,
      error: null,
      result: { file: 'noir.md' },
      artifacts: [],
      log_path: null,
      progress: { fraction: 0.5, message: 'half' },
    })
    expect(run.duration_ms).toBe(Date.parse(run.finished_at ?? '') - Date.parse(run.started_at))
  })

  test('gives logs from a line on, and a page at a time', async () => {
    const { operator, viewer, scheduler } = await openApi()
    await scheduler.start()
    const { job_id } = await operator.jobs.enqueue({ type: 'story' })
    await scheduler.settled(job_id)
    const runId = (await viewer.jobs.runs(job_id)).items[0]?.run_id ?? ''
    const lines = async (query: Parameters<typeof viewer.runs.logs>[1]) => {
      const { items, next_cursor } = await viewer.runs.logs(runId, query)
      return [items.map(({ line, text }) => `${line} ${text}`), next_cursor]
    }
    expect(await lines({})).toEqual([['1 begun', '2 done'], null])
    expect(await lines({ limit: 1 })).toEqual([['1 begun'], '1'])
    expect(await lines({ limit: 1, cursor: '1' })).toEqual([['2 done'], '2'])
    expect(await lines({ after: 1 })).toEqual([['2 done'], null])
    expect(await lines({ after: 2 })).toEqual([[], null])
    const all: string[] = []
    for await (const { text } of viewer.all((query: { cursor?: string }) =>
      viewer.runs.logs(runId, { ...query, limit: 1 }),
    ))
      all.push(text)
    expect(all).toEqual(['begun', 'done'])
    expect(await refusalOf(viewer.runs.logs(runId, { after: -1 }))).toMatchObject({ status: 422, path: 'after' })
    const both = viewer.runs.logs(runId, { after: 1, cursor: 1 })
    expect(await refusalOf(both)).toMatchObject({ status: 422, path: 'cursor' })
  })

  test('retries by Run: 201 for the last that failed, 409 for another', async () => {
    const { operator, viewer, scheduler } = await openApi()
    await scheduler.start()
    const { job_id } = await operator.jobs.enqueue({ type: 'broken' })
    await scheduler.settled(job_id)
    const runs = await viewer.runs.list({ type: 'broken' })
    const [last = '', first = ''] = runs.items.map(({ run_id }) => run_id)
    expect(await refusalOf(operator.runs.retry(first))).toEqual({ status: 409, code: 'not_last_attempt' })
    const answer = await operator.answer('POST /api/job-runs/{run_id}/retry', { params: { run_id: last }, body: {} })
    expect(answer).toMatchObject({ status: 201, body: { chain_id: job_id, attempt: 3 } })
  })

  test('retries by Run: 200 where the automatic retry was waiting', async () => {
    const { operator, viewer, scheduler } = await openApi()
    await scheduler.start()
    const { job_id } = await operator.jobs.enqueue({ type: 'flaky' })
    await vi.waitFor(async () => expect((await viewer.jobs.chain(job_id)).items).toHaveLength(2), PATIENCE)
    await scheduler.stop()
    const run_id = (await viewer.jobs.runs(job_id)).items[0]?.run_id ?? ''
    const answer = await operator.answer('POST /api/job-runs/{run_id}/retry', { params: { run_id }, body: {} })
    expect(answer).toMatchObject({ status: 200, body: { attempt: 2, hold: null } })
  })
})
