import { describe, expect, test, vi } from 'vitest'
import { openApi, PATIENCE, refusalOf } from './api-stage.ts'

describe('GET /api/jobs', () => {
  test('finds Jobs by outcome, params, error and time, and says when it stopped looking', async () => {
    const { scheduler, operator, viewer } = await openApi()
    const before = new Date(Date.now() - 60_000).toISOString()
    await scheduler.start()
    const { job_id: story } = await operator.jobs.enqueue({ type: 'story', params: { genre: 'noir', length: 7 } })
    const { job_id: broken } = await operator.jobs.enqueue({ type: 'broken', retry_policy: { max_retries: 0 } })
    await vi.waitFor(
      async () => expect((await viewer.jobs.list({ status: 'FINISHED' })).items).toHaveLength(2),
      PATIENCE,
    )
    const found = async (query: Parameters<typeof viewer.jobs.list>[0]) =>
      (await viewer.jobs.list(query)).items.map(({ job_id }) => job_id)
    expect(await found({ outcome: 'FAILED' })).toEqual([broken])
    expect(await found({ outcome: 'COMPLETED', status: 'FINISHED' })).toEqual([story])
    expect(await found({ params_path: 'genre', params_value: 'noir' })).toEqual([story])
    expect(await found({ params_path: 'length', params_value: '8' })).toEqual([])
    expect(await found({ error: 'NO LUCK', created_after: before })).toEqual([broken])
    expect(await found({ created_before: before })).toEqual([])
    expect(await viewer.jobs.list({ error: 'nothing' })).toEqual({ items: [], next_cursor: null, limited: false })
  })

  test.each([
    [{ params_value: 'x' }, 'params_path'],
    [{ params_path: 'a..b' }, 'params_path'],
    [{ params_path: '' }, 'params_path'],
    [{ error: '' }, 'error'],
    [{ outcome: 'FAILED', status: 'QUEUED' }, 'outcome'],
    [{ outcome: 'BROKEN' }, 'outcome'],
    [{ created_after: 'yesterday' }, 'created_after'],
  ])('refuses %j and names %s', async (query, path) => {
    const { viewer } = await openApi()
    expect(await refusalOf(viewer.jobs.list(query as never))).toMatchObject({ status: 422, path })
  })
})

test('GET /api/jobs/{job_id}/children tells what depends on a Job, in pages', async () => {
  const { operator, viewer } = await openApi()
  const { job_id: parent } = await operator.jobs.enqueue({ type: 'story' })
  const make = async () => (await operator.jobs.enqueue({ type: 'review', depends_on: [parent] })).job_id
  const [first, second] = [await make(), await make()]
  const page = await viewer.jobs.children(parent, { limit: 1 })
  expect(page.items).toMatchObject([{ job_id: first, depends_on: [parent] }])
  const rest = await viewer.jobs.children(parent, { limit: 1, cursor: page.next_cursor as string })
  expect(rest).toMatchObject({ items: [{ job_id: second }], next_cursor: null })
})

test('GET /api/jobs/counts tells how many stand where', async () => {
  const { operator, viewer } = await openApi()
  const { job_id } = await operator.jobs.enqueue({ type: 'story' })
  await operator.jobs.enqueue({ type: 'story', run_at: '2099-01-01T00:00:00Z' })
  await operator.jobs.cancel(job_id)
  expect(await viewer.jobs.counts()).toEqual({
    counted_to: 10_000,
    queued: 1,
    ready: 0,
    running: 0,
    finished: 0,
    cancelled: 1,
  })
})
