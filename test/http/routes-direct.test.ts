import { describe, expect, test } from 'vitest'
import { openApi, PATIENCE, refusalOf } from './api-stage.ts'

describe('POST /api/direct/{type}', () => {
  test('answers with the result, and leaves a reservation but no Job', async () => {
    const { operator, viewer, scheduler } = await openApi()
    await scheduler.start()
    const answer = await operator.direct('story', { params: { genre: 'noir' } })
    expect(answer).toMatchObject({ result: { file: 'noir.md' }, skipped: null })
    const { reservation_id, started_at, finished_at } = answer
    expect(await viewer.reservations.get(reservation_id)).toMatchObject({
      reservation_id,
      job_type: 'story',
      status: 'RELEASED',
      params: { genre: 'noir' },
      node: scheduler.nodeId,
      created_by: 'key:the operator',
      started_at,
      finished_at,
      outcome: 'COMPLETED',
      result: { file: 'noir.md' },
    })
    expect((await viewer.reservations.list({ status: 'RELEASED' })).items).toHaveLength(1)
    expect((await viewer.jobs.list()).items).toEqual([])
  })

  test('keeps null as params; only absent ones are an empty object', async () => {
    const { operator, viewer, scheduler } = await openApi()
    await scheduler.start()
    for (const [body, params] of [[{ params: null }, null] as const, [{}, {}] as const]) {
      const { reservation_id } = await operator.direct('review', body)
      expect((await viewer.reservations.get(reservation_id)).params).toEqual(params)
    }
  })

  test('answers 200 with the reason when the handler skipped', async () => {
    const { operator, scheduler } = await openApi()
    await scheduler.start()
    expect(await operator.direct('picky')).toMatchObject({ result: null, skipped: 'not in the mood' })
  })

  test('answers 502 with the reason when the handler failed', async () => {
    const { operator, scheduler } = await openApi()
    await scheduler.start()
    await expect(operator.direct('broken')).rejects.toMatchObject({
      status: 502,
      code: 'direct_failed',
      problem: { reason: 'error', job_type: 'broken', started_at: expect.stringMatching(/Z$/) },
    })
  })

  test('answers 404 to an unknown type, 503 without a node, 422 to wrong params', async () => {
    const { operator, scheduler } = await openApi()
    expect(await refusalOf(operator.direct('nobody'))).toMatchObject({ status: 404, code: 'unknown_type' })
    expect(await refusalOf(operator.direct('story'))).toMatchObject({ status: 503, code: 'no_node' })
    await scheduler.start()
    const wrong = operator.direct('story', { params: { genre: 1 } })
    expect(await refusalOf(wrong)).toEqual({ status: 422, code: 'invalid_params', path: 'params.genre' })
    const never = operator.direct('story', { wait_timeout_ms: 0 })
    expect(await refusalOf(never)).toEqual({ status: 422, code: 'invalid_option', path: 'wait_timeout_ms' })
  })

  test('answers 409 when it is busy and shall not wait, 504 when it waited too long', async () => {
    const { operator, viewer, scheduler, release } = await openApi()
    await scheduler.start()
    const { job_id } = await operator.jobs.enqueue({ type: 'slow' })
    await expect.poll(async () => (await viewer.jobs.get(job_id)).status, PATIENCE).toBe('RUNNING')
    expect(await refusalOf(operator.direct('story', { on_busy: 'reject' }))).toEqual({
      status: 409,
      code: 'direct_busy',
    })
    const late = await refusalOf(operator.direct('story', { wait_timeout_ms: 1 }))
    expect(late).toEqual({ status: 504, code: 'direct_wait_timeout' })
    expect((await viewer.reservations.list({ status: 'WAITING' })).items).toEqual([])
    release()
  })

  test('gives the ticket back when the caller is gone', async () => {
    const { operator, viewer, scheduler } = await openApi()
    await scheduler.start()
    const { job_id } = await operator.jobs.enqueue({ type: 'slow' })
    await expect.poll(async () => (await viewer.jobs.get(job_id)).status, PATIENCE).toBe('RUNNING')
    const caller = new AbortController()
    const asked = operator.direct('story', {}, { signal: caller.signal })
    await expect
      .poll(async () => (await viewer.reservations.list({ status: 'WAITING' })).items.length, PATIENCE)
      .toBe(1)
    expect((await viewer.scheduler.status()).has_active_reservation).toBe(true)
    caller.abort()
    await expect(asked).rejects.toThrow(/abort/i)
    await expect
      .poll(async () => (await viewer.reservations.list()).items, PATIENCE)
      .toMatchObject([{ status: 'RELEASED', reason: 'caller-gone', outcome: null }])
    expect((await viewer.scheduler.status()).has_active_reservation).toBe(false)
  })
})
