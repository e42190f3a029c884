// The same request is the same request in every process, and a request that could not be stored says why.
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { newDatabasePath, openHandle, refusalOf } from '../lifecycle/stage.ts'

const story = defineJob({
  type: 'story',
  params: z.object({ genre: z.string(), length: z.number().default(1200) }),
  run: () => null,
})
const lottery = defineJob({
  type: 'lottery',
  params: z.object({ ticket: z.string().default(() => crypto.randomUUID()) }),
  run: () => null,
})

describe('with the same idempotency key', () => {
  test('the same request from a process without the handler is the same Job, whichever comes first', async () => {
    const path = newDatabasePath()
    await using worker = await openScheduler({ store: sqlite(path), jobs: [story] })
    await using client = await openScheduler({ store: sqlite(path) })
    const first = await worker.enqueue(story, { genre: 'horror' }, { idempotencyKey: 'a' })
    const second = await client.enqueue('story', { genre: 'horror' }, { idempotencyKey: 'a' })
    expect([second.jobId, second.existed]).toEqual([first.jobId, true])

    const third = await client.enqueue('story', { genre: 'gothic' }, { idempotencyKey: 'b' })
    const fourth = await worker.enqueue(story, { genre: 'gothic' }, { idempotencyKey: 'b' })
    expect([fourth.jobId, fourth.existed]).toEqual([third.jobId, true])
  })

  test('a default that differs each time makes no other request of it; other params do', async () => {
    await using scheduler = await openScheduler({ store: sqlite(newDatabasePath()), jobs: [lottery] })
    const first = await scheduler.enqueue(lottery, {}, { idempotencyKey: 'a' })
    const second = await scheduler.enqueue(lottery, {}, { idempotencyKey: 'a' })
    expect([second.jobId, second.existed]).toEqual([first.jobId, true])
    expect(
      await refusalOf(() => scheduler.enqueue(lottery, { ticket: 'mine' }, { idempotencyKey: 'a' })),
    ).toMatchObject({ code: 'idempotency_key_reused' })
  })
})

test('a disk that is full inside the transaction of the caller is `storage_full`, and both go on afterwards', async () => {
  const path = newDatabasePath()
  await using scheduler = await openScheduler({ store: sqlite(path), jobs: [story] })
  const own = openHandle(path)
  own.exec('create table orders (id integer)')
  const { page_count: pages } = own.prepare('pragma page_count').get() as { page_count: number }
  own.exec(`pragma max_page_count = ${pages}`)
  own.exec('begin immediate')
  const refusal = await refusalOf(() => {
    for (;;) scheduler.enqueueSync(own, story, { genre: 'x'.repeat(10_000) })
  })
  expect(refusal).toMatchObject({ code: 'storage_full' })
  try {
    own.exec('rollback')
  } catch {
    // SQLite has rolled it back by itself.
  }
  expect(await scheduler.listQueue()).toEqual([])

  own.exec('pragma max_page_count = 1000000')
  own.exec('begin immediate')
  const handle = scheduler.enqueueSync(own, story, { genre: 'horror' })
  own.exec('commit')
  own.close()
  expect(await handle.get()).toMatchObject({ status: 'QUEUED' })
})
