import { expect, test } from 'vitest'
import { PawlError } from '../../src/domain/errors.ts'
import { openReceiver, openStage, write } from './stage.ts'

const URL = 'http://127.0.0.1:9/hook'

test.for([
  { what: 'a private address', url: 'http://10.0.0.1/hook', says: 'not a public address' },
  { what: 'another port of this machine by name', url: 'http://localhost:80/', says: 'not a public address' },
  { what: 'the metadata service', url: 'http://169.254.169.254/latest', says: 'not a public address' },
  { what: 'a mapped address', url: 'http://[::ffff:10.0.0.1]/', says: 'not a public address' },
  { what: 'a file', url: 'file:///etc/passwd', says: 'http' },
  { what: 'credentials', url: 'https://me:secret@example.com/', says: 'no user name or password' },
  { what: 'no URL', url: 'example.com', says: 'https://example.com/hook' },
])('$what is refused when it is saved', async ({ url, says }) => {
  await using stage = await openStage({ webhooks: {} })
  const { webhooks } = stage.scheduler
  const refusal = await refusalOf(webhooks.create({ url }))
  expect([refusal.code, refusal.path]).toEqual(['webhook_url_refused', 'url'])
  expect(refusal.message).toContain(says)
  expect(refusal.message).not.toContain('secret')
  expect((await webhooks.list()).items).toEqual([])
})

test('a private address is refused by a change too, and what was saved stays', async () => {
  await using stage = await openStage()
  const { webhooks } = stage.scheduler
  const { webhookId } = await webhooks.create({ url: URL })
  const saved = await webhooks.get(webhookId)
  const refusal = await refusalOf(webhooks.change(webhookId, { url: 'http://192.168.0.1/' }))
  expect(refusal.code).toBe('webhook_url_refused')
  expect(await webhooks.get(webhookId)).toEqual(saved)
})

test("a private address is refused as a job's own url, and nothing is enqueued", async () => {
  await using stage = await openStage({ webhooks: {} })
  const refusal = await refusalOf(stage.scheduler.enqueue(write, null, { webhookUrl: 'http://10.0.0.1/hook' }))
  expect(refusal.code).toBe('webhook_url_refused')
  expect((await stage.scheduler.listJobs()).items).toEqual([])
})

test.for([
  { options: { url: URL, events: [] }, path: 'events' },
  { options: { url: URL, events: ['job.started'] }, path: 'events.0' },
  { options: { url: URL, jobTypes: [] }, path: 'jobTypes' },
  { options: { url: URL, jobTypes: ['Not A Type'] }, path: 'jobTypes.0' },
  { options: { url: URL, name: '' }, path: 'name' },
  { options: { url: URL, enabled: 'yes' }, path: 'enabled' },
  { options: { url: URL, secret: 'mine' }, path: 'secret' },
])('a wrong value is refused and named: $path', async ({ options, path }) => {
  await using stage = await openStage()
  const refusal = await refusalOf(stage.scheduler.webhooks.create(options as never))
  expect([refusal.code, refusal.path]).toEqual(['invalid_option', path])
})

test('a change that changes nothing is refused, and so is one decided on an older revision', async () => {
  await using stage = await openStage()
  const { webhooks } = stage.scheduler
  const { webhookId } = await webhooks.create({ url: URL, name: 'first' })
  expect((await refusalOf(webhooks.change(webhookId, {}))).code).toBe('invalid_option')
  expect(await webhooks.change(webhookId, { name: 'second', revision: 1 })).toMatchObject({ revision: 2 })
  const refusal = await refusalOf(webhooks.change(webhookId, { name: 'third', revision: 1 }))
  expect([refusal.code, refusal.path]).toEqual(['conflict', 'revision'])
  expect(await webhooks.get(webhookId)).toMatchObject({ name: 'second', revision: 2 })
  expect(await webhooks.change(webhookId, { name: null, events: null, jobTypes: ['write'] })).toMatchObject({
    name: null,
    events: null,
    jobTypes: ['write'],
  })
})

test('changes made at the same time are all made', async () => {
  await using stage = await openStage()
  const { webhooks } = stage.scheduler
  const { webhookId } = await webhooks.create({ url: URL })
  await Promise.all([
    webhooks.change(webhookId, { name: 'named' }),
    webhooks.change(webhookId, { enabled: false }),
    webhooks.change(webhookId, { jobTypes: ['write'] }),
  ])
  expect(await webhooks.get(webhookId)).toMatchObject({
    name: 'named',
    enabled: false,
    jobTypes: ['write'],
    revision: 4,
  })
})

test('a webhook that is not there cannot be read, changed, removed, rotated or replayed', async () => {
  await using stage = await openStage()
  const { webhooks } = stage.scheduler
  const { webhookId } = await webhooks.create({ url: URL })
  await webhooks.remove(webhookId)
  for (const id of [webhookId, 'nobody']) {
    for (const call of [
      () => webhooks.get(id),
      () => webhooks.change(id, { enabled: true }),
      () => webhooks.remove(id),
      () => webhooks.rotateSecret(id),
      () => webhooks.replayAll(id, { status: 'FAILED' }),
    ]) {
      expect((await refusalOf(call())).code).toBe('webhook_not_found')
    }
  }
})

test('only what has ended can be replayed, and only to a webhook that is there', async () => {
  const receiver = await openReceiver(() => 500)
  await using stage = await openStage()
  const { webhooks } = stage.scheduler
  const { webhookId } = await webhooks.create({ url: receiver.url, events: ['job.settled'] })
  await stage.scheduler.enqueue(write, null)
  await stage.runUntilIdle()
  const { deliveryId } = (await webhooks.deliveries()).items[0] as { deliveryId: string }
  expect((await refusalOf(webhooks.replay(deliveryId))).code).toBe('delivery_pending')
  await stage.advance('2m')
  expect(await webhooks.getDelivery(deliveryId)).toMatchObject({ status: 'FAILED' })
  expect((await refusalOf(webhooks.replay('nobody'))).code).toBe('delivery_not_found')
  expect((await refusalOf(webhooks.getDelivery('nobody'))).code).toBe('delivery_not_found')
  expect((await refusalOf(webhooks.replayAll(webhookId, { status: 'PENDING' as never }))).path).toBe('status')
  await webhooks.remove(webhookId)
  expect((await refusalOf(webhooks.replay(deliveryId))).code).toBe('webhook_not_found')
})

test('a closed scheduler refuses', async () => {
  const stage = await openStage()
  await stage.close()
  expect((await refusalOf(stage.scheduler.webhooks.list())).code).toBe('closed')
})

test('a secret is shown when it is made, and never again', async () => {
  await using stage = await openStage()
  const { webhooks } = stage.scheduler
  const { secret, ...webhook } = await webhooks.create({ url: URL, name: 'watchful' })
  expect(await webhooks.get(webhook.webhookId)).toEqual(webhook)
  const shown = JSON.stringify([
    await webhooks.list(),
    await webhooks.get(webhook.webhookId),
    await webhooks.change(webhook.webhookId, { name: 'other' }),
  ])
  expect(shown).not.toContain(secret)
  expect(shown).not.toContain('whsec_')
})

async function refusalOf(call: Promise<unknown>): Promise<PawlError> {
  const error = await call.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(PawlError)
  return error as PawlError
}
