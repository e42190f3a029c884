import { expect, test } from 'vitest'
import { burn, openReceiver, openStage, readLog, warnings, write } from './stage.ts'

test('a webhook is told of the events it asked for', async () => {
  const receiver = await openReceiver()
  await using stage = await openStage()
  await stage.scheduler.webhooks.create({ url: receiver.url, events: ['job.settled', 'job.run.failed'] })
  await stage.scheduler.enqueue(write, null)
  await stage.scheduler.enqueue(burn, null)
  await stage.advance('10s')
  expect(receiver.told()).toEqual(['job.run.failed', 'job.run.failed, will retry', 'job.settled', 'job.settled'])
})

test('a webhook is told of the types it asked for', async () => {
  const receiver = await openReceiver()
  await using stage = await openStage()
  await stage.scheduler.webhooks.create({ url: receiver.url, jobTypes: ['write', 'not-yet-there'] })
  await stage.scheduler.enqueue(write, null)
  await stage.scheduler.enqueue(burn, null)
  await stage.advance('10s')
  expect(receiver.received.map(({ message }) => message.job.job_type)).toEqual(['write', 'write'])
})

test('each webhook is told by itself, with an id of its own', async () => {
  const [one, two] = [await openReceiver(), await openReceiver()]
  await using stage = await openStage()
  await stage.scheduler.webhooks.create({ url: one.url, events: ['job.settled'] })
  await stage.scheduler.webhooks.create({ url: two.url, events: ['job.settled'] })
  await stage.scheduler.enqueue(write, null)
  await stage.runUntilIdle()
  expect(one.received).toHaveLength(1)
  expect(two.received).toHaveLength(1)
  expect(two.received[0]?.id).not.toBe(one.received[0]?.id)
})

test("a job's own url is told of all its ends, also of its retries", async () => {
  const receiver = await openReceiver()
  await using stage = await openStage()
  const job = await stage.scheduler.enqueue(burn, null, { webhookUrl: receiver.url })
  await stage.scheduler.enqueue(write, null)
  await stage.advance('10s')
  expect(receiver.told()).toEqual(['job.run.failed', 'job.run.failed, will retry', 'job.settled'])
  expect(receiver.received.map(({ message }) => message.chain_id)).toEqual([job.jobId, job.jobId, job.jobId])
  const { items } = await stage.scheduler.webhooks.deliveries({ jobId: job.jobId })
  expect(items).toMatchObject([{ webhookId: null, event: 'job.run.failed', willRetry: true, status: 'DELIVERED' }])
})

test('a disabled webhook is told nothing of what happens meanwhile', async () => {
  const receiver = await openReceiver()
  await using stage = await openStage()
  const { webhooks } = stage.scheduler
  const { webhookId } = await webhooks.create({ url: receiver.url, enabled: false })
  await stage.scheduler.enqueue(write, 1)
  await stage.runUntilIdle()
  expect(await readLog(stage.scheduler)).toEqual([])
  expect(await webhooks.change(webhookId, { enabled: true })).toMatchObject({ enabled: true, revision: 2 })
  await stage.scheduler.enqueue(write, 2)
  await stage.runUntilIdle()
  expect(receiver.received.map(({ message }) => message.job.params)).toEqual([2, 2])
})

test('what was pending when a webhook was disabled waits until it is enabled, and goes to its new url', async () => {
  const [down, up] = [await openReceiver(() => 503), await openReceiver()]
  await using stage = await openStage()
  const { webhooks } = stage.scheduler
  const { webhookId } = await webhooks.create({ url: down.url, events: ['job.settled'] })
  await stage.scheduler.enqueue(write, null)
  await stage.runUntilIdle()
  await webhooks.change(webhookId, { enabled: false })
  await stage.advance('10m')
  expect(down.received).toHaveLength(1)
  expect(await readLog(stage.scheduler)).toEqual(['job.settled PENDING 1'])
  await webhooks.change(webhookId, { enabled: true, url: up.url })
  await stage.runUntilIdle()
  expect(up.received.map(({ id }) => id)).toEqual(down.received.map(({ id }) => id))
  expect(await readLog(stage.scheduler)).toEqual(['job.settled DELIVERED 2'])
})

test('what was pending when a webhook was removed has failed, and its log stays', async () => {
  const receiver = await openReceiver(() => 503)
  await using stage = await openStage()
  const { webhooks } = stage.scheduler
  const { webhookId } = await webhooks.create({ url: receiver.url, events: ['job.settled'] })
  await stage.scheduler.enqueue(write, null)
  await stage.runUntilIdle()
  await webhooks.remove(webhookId)
  await stage.scheduler.enqueue(write, null)
  await stage.advance('10m')
  expect(receiver.received).toHaveLength(1)
  const { items } = await webhooks.deliveries({ webhookId })
  expect(items).toMatchObject([
    { webhookId, status: 'FAILED', attempts: 1, lastError: 'the webhook was removed', nextAttemptAt: null },
  ])
  expect(await webhooks.list()).toEqual({ items: [], nextCursor: null })
})

test('a receiver that is gone is never told again, until somebody enables it', async () => {
  const receiver = await openReceiver((_one, nth) => (nth === 1 ? 410 : 204))
  await using stage = await openStage()
  const { webhooks } = stage.scheduler
  const { webhookId } = await webhooks.create({ url: receiver.url, events: ['job.settled'] })
  await stage.scheduler.enqueue(write, 1)
  await stage.runUntilIdle()
  expect(await webhooks.get(webhookId)).toMatchObject({
    enabled: false,
    disabledReason: 'the receiver answered 410 (gone)',
    revision: 2,
  })
  expect(warnings).toEqual(['A webhook is disabled: the receiver answered 410 (gone)'])
  await stage.scheduler.enqueue(write, 2)
  await stage.advance('10m')
  expect(receiver.received).toHaveLength(1)
  expect(await readLog(stage.scheduler)).toEqual(['job.settled FAILED 1'])
  expect(await webhooks.change(webhookId, { enabled: true })).toMatchObject({ enabled: true, disabledReason: null })
  await stage.scheduler.enqueue(write, 3)
  await stage.runUntilIdle()
  expect(receiver.received.map(({ message }) => message.job.params)).toEqual([1, 3])
})

test("a job's own url that is gone is not tried again", async () => {
  const receiver = await openReceiver(() => 410)
  await using stage = await openStage()
  const job = await stage.scheduler.enqueue(write, null, { webhookUrl: receiver.url })
  await stage.advance('10m')
  expect(receiver.received).toHaveLength(2)
  expect(await readLog(stage.scheduler, { jobId: job.jobId })).toEqual([
    'job.run.completed FAILED 1',
    'job.settled FAILED 1',
  ])
})

test('webhooks and their logs are listed newest first, page by page', async () => {
  await using stage = await openStage()
  const { webhooks } = stage.scheduler
  for (const name of ['a', 'b', 'c']) await webhooks.create({ url: 'http://127.0.0.1:9/', name, enabled: name === 'c' })
  const first = await webhooks.list({ limit: 2 })
  expect(first.items.map(({ name }) => name)).toEqual(['c', 'b'])
  const second = await webhooks.list({ limit: 2, cursor: first.nextCursor })
  expect(second).toMatchObject({ items: [{ name: 'a' }], nextCursor: null })
  await stage.scheduler.enqueue(write, null)
  await stage.runUntilIdle()
  const page = await webhooks.deliveries({ limit: 1 })
  expect(page.items).toMatchObject([{ event: 'job.settled', webhookId: first.items[0]?.webhookId }])
  const rest = await webhooks.deliveries({ limit: 1, cursor: page.nextCursor })
  expect(rest.items).toMatchObject([{ event: 'job.run.completed' }])
})
