import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { openScheduler } from '../../src/library/open-scheduler.ts'
import { newSharedStore } from '../stores/source-stores.ts'
import { logger, openReceiver, openStage, readLog, until, write } from './stage.ts'

test('a failing receiver is tried again after 5, 15 and 45 seconds, then no more', async () => {
  const times: number[] = []
  await using stage = await openStage()
  const { scheduler, clock } = stage
  const receiver = await openReceiver(() => {
    times.push(clock.now())
    return { status: 500, body: 'the kettle\nis \u001b[31mcold' }
  })
  await scheduler.webhooks.create({ url: receiver.url, events: ['job.settled'] })
  const startedAt = clock.now()
  await scheduler.enqueue(write, null)
  await stage.advance('1d')
  expect(times.map((at) => (at - startedAt) / 1000)).toEqual([0, 5, 20, 65])
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1)
  const { items } = await scheduler.webhooks.deliveries()
  expect(items).toMatchObject([
    {
      deliveryId: receiver.received[0]?.id,
      status: 'FAILED',
      attempts: 4,
      lastAttemptAt: startedAt + 65_000,
      lastStatusCode: 500,
      lastError: 'The receiver answered 500.',
      latencyMs: expect.any(Number),
      responseExcerpt: 'the kettle is \ufffd[31mcold',
      nextAttemptAt: null,
      createdAt: startedAt,
    },
  ])
})

test('the log says when the next attempt is', async () => {
  const receiver = await openReceiver(() => 500)
  await using stage = await openStage()
  const { scheduler, clock } = stage
  await scheduler.webhooks.create({ url: receiver.url, events: ['job.settled'] })
  await scheduler.enqueue(write, null)
  await stage.runUntilIdle()
  const { items } = await scheduler.webhooks.deliveries({ status: 'PENDING' })
  expect(items).toMatchObject([{ attempts: 1, nextAttemptAt: clock.now() + 5_000, lastStatusCode: 500 }])
})

test('a receiver that comes back gets what it missed, and the log forgets the error', async () => {
  const receiver = await openReceiver((_one, nth) => (nth < 3 ? 503 : { status: 200, body: 'thank you' }))
  await using stage = await openStage()
  await stage.scheduler.webhooks.create({ url: receiver.url, events: ['job.settled'] })
  await stage.scheduler.enqueue(write, null)
  await stage.advance('20s')
  const { items } = await stage.scheduler.webhooks.deliveries()
  expect(items).toMatchObject([
    { status: 'DELIVERED', attempts: 3, lastStatusCode: 200, lastError: null, responseExcerpt: 'thank you' },
  ])
  await stage.advance('1d')
  expect(receiver.received).toHaveLength(3)
})

test.for([
  { header: '120', waitsMs: 120_000 },
  { header: '1', waitsMs: 5_000 },
  { header: '999999', waitsMs: 3_600_000 },
  { header: 'soon', waitsMs: 5_000 },
])('a receiver that asks for $header gets its next attempt after $waitsMs ms', async ({ header, waitsMs }) => {
  const receiver = await openReceiver((_one, nth) => {
    return nth === 1 ? { status: 429, headers: { 'retry-after': header } } : 204
  })
  await using stage = await openStage()
  await stage.scheduler.webhooks.create({ url: receiver.url, events: ['job.settled'] })
  await stage.scheduler.enqueue(write, null)
  await stage.advance(waitsMs - 1)
  expect(receiver.received).toHaveLength(1)
  await stage.advance(1)
  expect(receiver.received).toHaveLength(2)
})

test('a redirect is a failure, and is not followed', async () => {
  const target = await openReceiver()
  const receiver = await openReceiver(() => ({ status: 307, headers: { location: target.url } }))
  await using stage = await openStage()
  await stage.scheduler.webhooks.create({ url: receiver.url, events: ['job.settled'] })
  await stage.scheduler.enqueue(write, null)
  await stage.advance('1d')
  expect(target.received).toEqual([])
  expect((await stage.scheduler.webhooks.deliveries()).items).toMatchObject([
    { status: 'FAILED', attempts: 4, lastStatusCode: 307, lastError: expect.stringContaining('not followed') },
  ])
})

test('nobody listens: the log says so', async () => {
  await using stage = await openStage()
  await stage.scheduler.webhooks.create({ url: `http://127.0.0.1:${await freePort()}/`, events: ['job.settled'] })
  await stage.scheduler.enqueue(write, null)
  await stage.advance('1d')
  expect((await stage.scheduler.webhooks.deliveries()).items).toMatchObject([
    { status: 'FAILED', attempts: 4, lastStatusCode: null, lastError: expect.stringContaining('ECONNREFUSED') },
  ])
})

test("a job's own url that leads to a private address is refused when it is called", async () => {
  const receiver = await openReceiver()
  const store = newSharedStore()
  await using stage = await openStage({ store, webhooks: {} })
  const { clock } = stage
  // Accepted by a process that may call this machine, and called by one that may not.
  const webhooks = { allowPrivate: ['127.0.0.1', '::1'] }
  await using trusting = await openScheduler({ store, clock, webhooks, jobs: [write], logger })
  const webhookUrl = receiver.url.replace('127.0.0.1', 'localhost')
  const job = await trusting.enqueue(write, null, { webhookUrl })
  const refused = { status: 'FAILED', lastError: expect.stringContaining('not a public address') }
  // Commits of another connection are noticed in real time, so one leap of the virtual clock may come too early.
  await until(async () => {
    await stage.advance('1h')
    const { items } = await stage.scheduler.webhooks.deliveries({ jobId: job.jobId })
    expect(items).toMatchObject([refused, refused])
  })
  expect(receiver.received).toEqual([])
})

test('an ended delivery can be replayed: the same id and text, and all attempts again', async () => {
  const receiver = await openReceiver((_one, nth) => (nth <= 5 ? 500 : 204))
  await using stage = await openStage()
  const { webhooks } = stage.scheduler
  await webhooks.create({ url: receiver.url, events: ['job.settled'] })
  await stage.scheduler.enqueue(write, null)
  await stage.advance('1d')
  const [failed] = (await webhooks.deliveries({ status: 'FAILED' })).items
  expect(failed).toMatchObject({ attempts: 4 })
  expect(await webhooks.replay(failed?.deliveryId ?? '')).toMatchObject({ status: 'PENDING', attempts: 0 })
  await stage.runUntilIdle()
  expect(await readLog(stage.scheduler)).toEqual(['job.settled PENDING 1'])
  await stage.advance('5s')
  expect(await readLog(stage.scheduler)).toEqual(['job.settled DELIVERED 2'])
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1)
  expect(new Set(receiver.received.map(({ text }) => text)).size).toBe(1)
  await webhooks.replay(failed?.deliveryId ?? '')
  await stage.runUntilIdle()
  expect(receiver.received).toHaveLength(7)
})

test('many can be replayed at once: those of one webhook with a status, since an instant', async () => {
  let isUp = false
  const receiver = await openReceiver(() => (isUp ? 204 : 500))
  const other = await openReceiver(() => (isUp ? 204 : 500))
  await using stage = await openStage({ concurrency: 50 })
  const { scheduler, clock } = stage
  const { webhookId } = await scheduler.webhooks.create({ url: receiver.url, events: ['job.settled'] })
  await scheduler.webhooks.create({ url: other.url, events: ['job.settled'] })
  const enqueue = (count: number) =>
    scheduler.enqueueMany(Array.from({ length: count }, (_, n) => ({ type: write, params: n })))
  await enqueue(20)
  await stage.advance('1d')
  const since = clock.now()
  await enqueue(10)
  await stage.advance('1d')
  isUp = true
  const before = receiver.received.length
  expect(await scheduler.webhooks.replayAll(webhookId, { status: 'FAILED', since: new Date(since) })).toEqual({
    count: 10,
  })
  await stage.runUntilIdle()
  expect(receiver.received.length - before).toBe(10)
  expect(await scheduler.webhooks.replayAll(webhookId, { status: 'FAILED' })).toEqual({ count: 20 })
  await stage.runUntilIdle()
  expect(await scheduler.webhooks.replayAll(webhookId, { status: 'FAILED' })).toEqual({ count: 0 })
  expect(await scheduler.webhooks.replayAll(webhookId, { status: 'DELIVERED' })).toEqual({ count: 30 })
  await stage.runUntilIdle()
  expect(receiver.received.length - before).toBe(60)
  expect(other.received).toHaveLength(120)
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address() as { port: number }
  await new Promise((resolve) => {
    server.close(resolve)
  })
  return address.port
}
