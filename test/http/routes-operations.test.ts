import { describe, expect, test } from 'vitest'
import { openApi, PATIENCE, refusalOf } from './api-stage.ts'

describe('/api/operations', () => {
  test('counts, then cancels all that match, and shows how far it is', async () => {
    const { operator, viewer, scheduler } = await openApi()
    await scheduler.enqueueMany(Array.from({ length: 120 }, () => ({ type: 'story', params: {} })))
    await scheduler.enqueue('review', {})
    const order = { kind: 'cancel', filter: { type: 'story', status: 'QUEUED' } } as const
    const counted = await operator.answer('POST /api/operations', { body: { ...order, dry_run: true } })
    expect(counted).toMatchObject({ status: 200, body: { matched: 120, matched_or_more: false } })
    expect((await viewer.operations.list()).items).toEqual([])

    const started = await operator.answer('POST /api/operations', { body: { ...order, reason: 'enough' } })
    expect(started).toMatchObject({
      status: 201,
      body: { kind: 'cancel', filter: { type: 'story', status: 'QUEUED' }, job_ids: null, mode: 'only-queued' },
    })
    const { operation_id } = started.body as { operation_id: string }
    await expect.poll(async () => (await viewer.operations.get(operation_id)).status, PATIENCE).toBe('COMPLETED')
    expect(await viewer.operations.get(operation_id)).toMatchObject({
      done: 120,
      changed: 120,
      skipped: 0,
      failed: 0,
      skip_reasons: {},
      created_by: 'key:the operator',
      reason: 'enough',
      ended_at: expect.any(String),
    })
    expect((await viewer.jobs.list({ status: 'QUEUED' })).items).toMatchObject([{ job_type: 'review' }])
    expect(await refusalOf(operator.operations.abort(operation_id))).toEqual({ status: 409, code: 'operation_ended' })
    expect((await viewer.operations.list({ status: 'RUNNING' })).items).toEqual([])
  })

  test('takes whatever a list of Jobs can be searched by, and shows it as it was given', async () => {
    const { operator, viewer, scheduler } = await openApi()
    for (const genre of ['gothic', 'horror', 'gothic']) await scheduler.enqueue('story', { genre })
    const created_before = new Date(Date.now() + 3_600_000).toISOString()
    const filter = { params_path: 'genre', params_value: 'gothic', created_before }
    const started = await operator.operations.start({ kind: 'cancel', filter })
    expect(started).toMatchObject({ filter, matched: 2 })
    const { operation_id } = started as { operation_id: string }
    await expect.poll(async () => (await viewer.operations.get(operation_id)).status, PATIENCE).toBe('COMPLETED')
    expect((await viewer.jobs.list({ status: 'QUEUED' })).items).toMatchObject([{ params: { genre: 'horror' } }])
  })

  test('works on a server that executes nothing, by ids, and says why a Job was left', async () => {
    const { operator, viewer, scheduler } = await openApi()
    const { jobId } = await scheduler.enqueue('story', {})
    const started = await operator.operations.start({ kind: 'retry', job_ids: [jobId, 'nobody'] })
    const { operation_id } = started as { operation_id: string }
    await expect.poll(async () => (await viewer.operations.get(operation_id)).status, PATIENCE).toBe('COMPLETED')
    expect(await viewer.operations.get(operation_id)).toMatchObject({
      filter: null,
      job_ids: [jobId, 'nobody'],
      changed: 0,
      skip_reasons: { not_retryable: 1, job_not_found: 1 },
    })
  })

  test('is aborted half-way, and who asked is in the audit log', async () => {
    const { operator, admin, scheduler } = await openApi()
    await scheduler.enqueueMany(Array.from({ length: 2_000 }, () => ({ type: 'story', params: {} })))
    const started = await operator.operations.start({ kind: 'cancel', filter: {} })
    const { operation_id } = started as { operation_id: string }
    expect(await operator.operations.abort(operation_id)).toMatchObject({ status: 'ABORTED' })
    const { items } = await admin.audit.list({ subject: operation_id })
    expect(items.map(({ action, actor }) => [action, actor])).toEqual([
      ['operation.abort', 'key:the operator'],
      ['operation.start', 'key:the operator'],
    ])
  })

  test('tells of each step on the stream of events', async () => {
    const { operator, viewer, scheduler } = await openApi()
    await scheduler.enqueue('story', {})
    const signal = AbortSignal.timeout(20_000)
    const told: unknown[] = []
    const before = viewer.events({ signal })
    const first = before.next()
    const { operation_id } = (await operator.operations.start({ kind: 'cancel', filter: {} })) as {
      operation_id: string
    }
    for (let event = await first; !event.done; event = await before.next()) {
      const { event: kind, data } = event.value
      if (kind !== 'operation.progress') continue
      told.push(data)
      if ((data as { status: string }).status === 'COMPLETED') break
    }
    await before.return()
    expect(told.at(-1)).toEqual({
      operation_id,
      kind: 'cancel',
      status: 'COMPLETED',
      matched: 1,
      matched_or_more: false,
      done: 1,
      changed: 1,
      skipped: 0,
      failed: 0,
      at: expect.any(String),
    })
  })

  test.each([
    ['neither filter nor ids', { kind: 'cancel' }, 'filter'],
    ['both', { kind: 'cancel', filter: {}, job_ids: ['a'] }, 'filter'],
    ['an unknown kind', { kind: 'move', filter: {} }, 'kind'],
    ['a state that cannot be cancelled', { kind: 'cancel', filter: { status: 'FINISHED' } }, 'filter.status'],
    ['an unknown filter', { kind: 'cancel', filter: { colour: 'red' } }, 'filter.colour'],
    ['what came of Jobs that have not ended', { kind: 'cancel', filter: { outcome: 'FAILED' } }, 'filter.outcome'],
    ['a retry of what went well', { kind: 'retry', filter: { outcome: 'COMPLETED' } }, 'filter.outcome'],
    ['no ids', { kind: 'cancel', job_ids: [] }, 'job_ids'],
    ['a mode of a retry', { kind: 'retry', filter: {}, mode: 'abort' }, 'mode'],
  ])('refuses %s with 422', async (_, body, path) => {
    const { operator, viewer } = await openApi()
    for (const more of [{}, { dry_run: true }]) {
      const refused = operator.operations.start({ ...body, ...more } as never)
      expect(await refusalOf(refused)).toEqual({ status: 422, code: 'invalid_option', path })
    }
    expect((await viewer.operations.list()).items).toEqual([])
  })

  test('a viewer may look, and no more; what is not there is not found', async () => {
    const { operator, viewer } = await openApi()
    const refused = viewer.operations.start({ kind: 'cancel', filter: {} })
    expect(await refusalOf(refused)).toEqual({ status: 403, code: 'forbidden' })
    expect(await refusalOf(viewer.operations.abort('nobody'))).toEqual({ status: 403, code: 'forbidden' })
    for (const call of [viewer.operations.get('nobody'), operator.operations.abort('nobody')]) {
      expect(await refusalOf(call)).toEqual({ status: 404, code: 'operation_not_found' })
    }
  })
})
