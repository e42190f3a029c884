// One order for many Jobs: it is counted before, carried out in pages by any process, and can be aborted half-way.
import { type BulkOperation, defineJob, openScheduler, type Scheduler, type Transition } from 'pawl'
import { describe, expect, test, vi } from 'vitest'
import { aborted, newGate, newSharedStore, openTestScheduler, plainSql, refusalOf, storeKind } from './stage.ts'

const note = defineJob({ type: 'note', run: () => null })
const other = defineJob({ type: 'other', run: () => null })
const broken = defineJob({
  type: 'broken',
  retry: { maxRetries: 0 },
  run: () => {
    throw new Error('no')
  },
})

const notes = (count: number) => Array.from({ length: count }, () => ({ type: note, params: null }))

async function ended(scheduler: Scheduler, { operationId }: BulkOperation): Promise<BulkOperation> {
  return vi.waitFor(
    async () => {
      const operation = await scheduler.operations.get(operationId)
      expect(operation.status).not.toBe('RUNNING')
      return operation
    },
    { timeout: 50_000, interval: 5 },
  )
}

describe('a cancel of all that match', () => {
  test('is counted before, and leaves what does not match or comes later', async () => {
    await using scheduler = await openScheduler({ store: newSharedStore(), jobs: [note, other] })
    await scheduler.enqueueMany(notes(250))
    const kept = await scheduler.enqueue(other, null)
    const order = { kind: 'cancel', filter: { type: 'note' } } as const
    expect(await scheduler.operations.count(order)).toEqual({ matched: 250, isMatchedCapped: false })

    const operation = await scheduler.operations.start({ ...order, reason: 'enough', createdBy: 'mary' })
    const late = await scheduler.enqueue(note, null)
    expect(operation).toMatchObject({ status: 'RUNNING', matched: 250, createdBy: 'mary', mode: 'graceful' })
    expect(await ended(scheduler, operation)).toMatchObject({
      status: 'COMPLETED',
      matched: 250,
      done: 250,
      changed: 250,
      skipped: 0,
      failed: 0,
    })
    expect((await scheduler.listJobs({ status: 'QUEUED' })).items.map(({ jobId }) => jobId)).toEqual([
      kept.jobId,
      late.jobId,
    ])
    const { items } = await scheduler.listJobs({ status: 'CANCELLED', limit: 1 })
    expect(items).toMatchObject([{ type: 'note', cancelReason: 'enough' }])
    expect(await scheduler.operations.count(order)).toEqual({ matched: 1, isMatchedCapped: false })
  })

  test('also ends what executes, as its mode says, and nothing of it is retried', async () => {
    const begun = newGate()
    const slow = defineJob({
      type: 'slow',
      async run({ signal }) {
        begun.open()
        await aborted(signal)
        throw new Error('interrupted')
      },
    })
    await using scheduler = await openScheduler({ store: newSharedStore(), jobs: [slow] })
    const [first, second] = await scheduler.enqueueMany([
      { type: slow, params: null },
      { type: slow, params: null },
    ])
    await scheduler.start()
    await begun.passed
    const operation = await scheduler.operations.start({ kind: 'cancel', filter: { type: 'slow' }, mode: 'abort' })
    expect(await first.settled()).toMatchObject({ outcome: 'CANCELLED', attempts: 1 })
    expect(await second.settled()).toMatchObject({ outcome: 'CANCELLED', attempts: 1 })
    expect(await ended(scheduler, operation)).toMatchObject({ done: 2, changed: 2 })
  })

  test('of QUEUED ones leaves what executes', async () => {
    const [begun, gate] = [newGate(), newGate()]
    const slow = defineJob({
      type: 'slow',
      async run() {
        begun.open()
        await gate.passed
      },
    })
    await using scheduler = await openScheduler({ store: newSharedStore(), jobs: [slow] })
    const handle = await scheduler.enqueue(slow, null)
    await scheduler.enqueue(slow, null)
    await scheduler.start()
    await begun.passed
    const operation = await scheduler.operations.start({ kind: 'cancel', filter: { status: 'QUEUED' } })
    expect(await ended(scheduler, operation)).toMatchObject({ mode: 'only-queued', changed: 1 })
    gate.open()
    expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED' })
    expect((await handle.get()).cancelRequestedAt).toBeNull()
  })
})

describe('a retry of all that match', () => {
  test('gives each chain that failed or was cancelled one new Job', async () => {
    await using stage = await openTestScheduler({ jobs: [note, broken] })
    const { scheduler } = stage
    const failed = await scheduler.enqueue(broken, null)
    const fine = await scheduler.enqueue(note, null)
    const cancelled = await scheduler.enqueue(note, null, { delayMs: 60_000 })
    await cancelled.cancel()
    await stage.runUntilIdle()
    await scheduler.retry(failed.jobId)
    await stage.runUntilIdle()
    expect(await scheduler.operations.count({ kind: 'retry', filter: {} })).toMatchObject({ matched: 2 })

    const { operationId } = await scheduler.operations.start({ kind: 'retry', filter: {} })
    await stage.runUntilIdle()
    expect(await scheduler.operations.get(operationId)).toMatchObject({ status: 'COMPLETED', done: 2, changed: 2 })
    expect((await scheduler.getChain(failed.jobId)).items).toHaveLength(3)
    expect(await scheduler.getChain(cancelled.jobId)).toMatchObject({ outcome: 'COMPLETED' })
    expect((await scheduler.getChain(fine.jobId)).items).toHaveLength(1)
  })

  test('of named Jobs says why some were left as they are', async () => {
    await using stage = await openTestScheduler({ jobs: [note, broken] })
    const { scheduler } = stage
    const failed = await scheduler.enqueue(broken, null)
    const fine = await scheduler.enqueue(note, null)
    await stage.runUntilIdle()
    const jobIds = [failed.jobId, fine.jobId, 'nobody', failed.jobId]
    const { operationId } = await scheduler.operations.start({ kind: 'retry', jobIds })
    await stage.runUntilIdle()
    expect(await scheduler.operations.get(operationId)).toMatchObject({
      filter: null,
      jobIds: [failed.jobId, fine.jobId, 'nobody'],
      status: 'COMPLETED',
      changed: 1,
      skipped: 2,
      skipReasons: { not_retryable: 1, job_not_found: 1 },
    })
  })
})

describe('an operation', () => {
  test('tells of its progress', async () => {
    await using scheduler = await openScheduler({ store: newSharedStore(), jobs: [note] })
    await scheduler.enqueueMany(notes(150))
    const told: Transition[] = []
    scheduler.on('operation.progress', (transition) => told.push(transition))
    const operation = await scheduler.operations.start({ kind: 'cancel', filter: {} })
    await ended(scheduler, operation)
    await vi.waitFor(() => expect(told.at(-1)?.operation?.status).toBe('COMPLETED'), { timeout: 50_000, interval: 5 })
    const done = told.map((transition) => transition.operation?.done ?? -1)
    expect(done).toEqual(done.toSorted((a, b) => a - b))
    expect(done).toEqual(expect.arrayContaining([0, 100, 150]))
    expect(told.every((transition) => transition.operation?.operationId === operation.operationId)).toBe(true)
  })

  test('that is aborted does nothing more; then it has ended, and stays so', async () => {
    const store = newSharedStore()
    await using scheduler = await openScheduler({ store, jobs: [note] })
    await scheduler.enqueueMany(notes(5))
    const operation = await scheduler.operations.start({ kind: 'cancel', filter: {} })
    await ended(scheduler, operation)
    expect((await refusalOf(scheduler.operations.abort(operation.operationId))).code).toBe('operation_ended')

    await scheduler.enqueueMany(notes(3_000))
    const long = await scheduler.operations.start({ kind: 'cancel', filter: {} })
    const stopped = await scheduler.operations.abort(long.operationId)
    expect(stopped).toMatchObject({ status: 'ABORTED', endedAt: expect.any(Number) })
    expect(stopped.done).toBeLessThan(3_000)
    expect(await scheduler.operations.abort(long.operationId)).toEqual(stopped)
    expect((await scheduler.listJobs({ status: 'QUEUED', limit: 1 })).items).toHaveLength(1)
    expect((await scheduler.operations.list({ status: 'ABORTED' })).items).toEqual([stopped])
    expect((await refusalOf(scheduler.operations.get('nobody'))).code).toBe('operation_not_found')
  })

  test('passes over a Job that cannot be written, counts it, and deals with all others', async () => {
    const store = newSharedStore()
    const complaints: string[] = []
    const logger = { info: () => {}, warn: () => {}, error: (_: unknown, text: string) => complaints.push(text) }
    await using scheduler = await openScheduler({ store, jobs: [note], logger })
    const handles = await scheduler.enqueueMany(notes(130))
    const jobId = handles[60]?.jobId ?? ''
    await plainSql(
      store,
      storeKind === 'sqlite'
        ? `create trigger pawl_damaged before update on pawl_jobs when new.job_id = '${jobId}' begin select raise(abort, 'damaged'); end`
        : `alter table pawl_jobs add constraint damaged check (job_id <> '${jobId}' or cancelled_at is null) not valid`,
    )
    const operation = await scheduler.operations.start({ kind: 'cancel', filter: {} })
    expect(await ended(scheduler, operation)).toMatchObject({
      status: 'COMPLETED',
      done: 130,
      changed: 129,
      failed: 1,
    })
    expect(complaints).toEqual(['A bulk operation passes over a damaged job'])
    expect((await scheduler.listJobs({ status: 'QUEUED' })).items.map((job) => job.jobId)).toEqual([jobId])
    const mend = storeKind === 'sqlite' ? 'drop trigger pawl_damaged' : 'alter table pawl_jobs drop constraint damaged'
    await plainSql(store, mend)
  })

  test('goes on in another process when the one that started it has left', async () => {
    const store = newSharedStore()
    const first = await openScheduler({ store, jobs: [note] })
    await first.enqueueMany(notes(500))
    const operation = await first.operations.start({ kind: 'cancel', filter: {} })
    await first.close()

    await using second = await openScheduler({ store, jobs: [] })
    await second.start()
    expect(await ended(second, operation)).toMatchObject({ done: 500, changed: 500, status: 'COMPLETED' })
  })

  test('is carried out by several processes at once, and no Job is counted twice', async () => {
    const store = newSharedStore()
    await using first = await openScheduler({ store, jobs: [] })
    await using second = await openScheduler({ store, jobs: [note] })
    await second.enqueueMany(notes(500).map((job) => ({ ...job, delayMs: 3_600_000 })))
    await first.start()
    await second.start()
    const operation = await first.operations.start({ kind: 'cancel', filter: {} })
    expect(await ended(second, operation)).toMatchObject({ done: 500, changed: 500, skipped: 0 })
  })

  test('is pruned with the history of its time', async () => {
    await using stage = await openTestScheduler({ jobs: [note] })
    const { scheduler } = stage
    await scheduler.operations.start({ kind: 'cancel', filter: {} })
    await stage.runUntilIdle()
    await stage.advance('1h')
    expect(await scheduler.prune({ olderThanMs: 60_000, dryRun: true })).toMatchObject({ operationsRemoved: 1 })
    expect(await scheduler.prune({ olderThanMs: 60_000 })).toMatchObject({ operationsRemoved: 1 })
    expect((await scheduler.operations.list()).items).toEqual([])
  })
})

test.each([
  ['neither a filter nor ids', { kind: 'cancel' }, 'filter'],
  ['both', { kind: 'cancel', filter: {}, jobIds: ['a'] }, 'filter'],
  ['an unknown kind', { kind: 'move', filter: {} }, 'kind'],
  ['a cancel of what has ended', { kind: 'cancel', filter: { status: 'FINISHED' } }, 'filter.status'],
  ['a retry of what has not', { kind: 'retry', filter: { status: 'QUEUED' } }, 'filter.status'],
  ['an unknown filter', { kind: 'retry', filter: { colour: 'red' } }, 'filter.colour'],
  ['no ids', { kind: 'retry', jobIds: [] }, 'jobIds'],
  ['too many ids', { kind: 'retry', jobIds: Array.from({ length: 1_001 }, (_, n) => `${n}`) }, 'jobIds'],
  ['an empty id', { kind: 'retry', jobIds: ['a', ''] }, 'jobIds.1'],
  ['a mode of a retry', { kind: 'retry', filter: {}, mode: 'abort' }, 'mode'],
  ['a reason of a retry', { kind: 'retry', filter: {}, reason: 'why' }, 'reason'],
])('%s is refused, and nothing is stored', async (_, options, path) => {
  await using stage = await openTestScheduler({ jobs: [note] })
  const { operations } = stage.scheduler
  for (const call of [operations.start, operations.count]) {
    const refusal = await refusalOf(call.call(operations, options as never))
    expect([refusal.code, refusal.path]).toEqual(['invalid_option', path])
  }
  expect((await operations.list()).items).toEqual([])
})
