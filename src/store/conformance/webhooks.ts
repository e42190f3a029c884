import assert from 'node:assert/strict'
import { HOUR, NOW, newId, newJob, SECOND } from './fixtures.ts'
import type { Kit } from './kit.ts'
import { assertSame } from './same.ts'
import { complete, deliveriesOf, lease, leaseOne, newWebhook, SECRET, subscribe, toldOf } from './webhook-fixtures.ts'

export function testWebhooks({ test, testShared, testReopened }: Kit): void {
  test('a webhook is found and listed with everything that was said', async ({ store }) => {
    const webhook = newWebhook({
      name: 'The office',
      events: ['job.run.failed', 'job.settled'],
      jobTypes: ['story', 'poem'],
      enabled: false,
      disabledReason: 'the receiver is gone',
    })
    await store.createWebhook(webhook, SECRET)
    assertSame(await store.findWebhook(webhook.webhookId), webhook)
    assertSame(await store.listWebhooks({ limit: 10 }), { items: [webhook], nextCursor: null })
    assert.equal(await store.findWebhook(newId()), null)
  })

  test('are listed newest first, page by page', async (stage) => {
    const webhooks = [await subscribe(stage), await subscribe(stage), await subscribe(stage)]
    const first = await stage.store.listWebhooks({ limit: 2 })
    assertSame(first.items, [webhooks[2], webhooks[1]])
    const second = await stage.store.listWebhooks({ limit: 2, cursor: first.nextCursor })
    assertSame(second, { items: [webhooks[0]], nextCursor: null })
  })

  test('a change replaces what may change, and makes a new revision', async (stage) => {
    const { store } = stage
    const webhook = await subscribe(stage)
    const changed = { ...webhook, name: 'n', url: 'https://example.org/', events: null, jobTypes: ['poem'] }
    const disabled = { enabled: false, disabledReason: 'because' }
    assert.equal(await store.changeWebhook({ webhook: { ...changed, ...disabled }, now: NOW + 5 }), 'changed')
    const expected = { ...changed, ...disabled, revision: 2, updatedAt: NOW + 5 }
    assertSame(await store.findWebhook(webhook.webhookId), expected)
  })

  test('a change that was decided on an older revision changes nothing', async (stage) => {
    const { store } = stage
    const webhook = await subscribe(stage)
    await store.changeWebhook({ webhook: { ...webhook, name: 'first' }, now: NOW })
    assert.equal(await store.changeWebhook({ webhook: { ...webhook, name: 'second' }, now: NOW }), 'stale')
    assert.equal((await store.findWebhook(webhook.webhookId))?.name, 'first')
    assert.equal(await store.changeWebhook({ webhook: newWebhook(), now: NOW }), 'not-found')
  })

  test('a removed one is not there any more', async (stage) => {
    const { store } = stage
    const webhook = await subscribe(stage)
    const { webhookId } = webhook
    assert.equal(await store.removeWebhook(webhookId, NOW), 'removed')
    assert.equal(await store.removeWebhook(webhookId, NOW), 'not-found')
    assert.equal(await store.findWebhook(webhookId), null)
    assertSame(await store.listWebhooks({ limit: 10 }), { items: [], nextCursor: null })
    assert.equal(await store.changeWebhook({ webhook, now: NOW }), 'not-found')
    assert.equal(await store.rotateWebhookSecret(webhookId, SECRET, NOW + HOUR, NOW), 'not-found')
  })

  test('with a revision it is removed only if it is still at that', async (stage) => {
    const { store } = stage
    const { webhookId, revision } = await subscribe(stage)
    assert.equal(await store.removeWebhook(webhookId, NOW, revision + 1), 'stale')
    assert.notEqual(await store.findWebhook(webhookId), null)
    assert.equal(await store.removeWebhook(webhookId, NOW, revision), 'removed')
    assert.equal(await store.removeWebhook(webhookId, NOW, revision), 'not-found')
  })

  test('what was pending when it was removed has failed, and its log stays', async (stage) => {
    const { webhookId } = await subscribe(stage)
    const other = await subscribe(stage)
    await complete(stage, 2)
    await stage.store.removeWebhook(webhookId, NOW)
    const log = await deliveriesOf(stage, { webhookId })
    assertSame(
      log.map(({ status, nextAttemptAt, lastError }) => [status, nextAttemptAt, lastError]),
      Array(2).fill(['FAILED', null, 'the webhook was removed']),
    )
    const leased = await lease(stage)
    assertSame(
      leased.map(({ delivery }) => delivery.webhookId),
      [other.webhookId, other.webhookId],
    )
  })

  test('after a rotation both secrets sign until the given instant', async (stage) => {
    const { webhookId } = await subscribe(stage)
    const rotate = (secret: string, until: number) => stage.store.rotateWebhookSecret(webhookId, secret, until, NOW)
    await complete(stage)
    assertSame((await leaseOne(stage)).secrets, [SECRET])
    const until = NOW + HOUR
    assert.equal(await rotate('whsec_bWludA==', until), 'rotated')
    assertSame((await leaseOne(stage, { now: until - 1 })).secrets, ['whsec_bWludA==', SECRET])
    assertSame((await leaseOne(stage, { now: until + HOUR })).secrets, ['whsec_bWludA=='])
    await rotate('whsec_c2FnZQ==', until + 10 * HOUR)
    assertSame((await leaseOne(stage, { now: until + 2 * HOUR })).secrets, ['whsec_c2FnZQ==', 'whsec_bWludA=='])
  })

  test('the first default secret that is declared stays, until it is rotated', async ({ store }) => {
    assert.equal(await store.declareDefaultSecret(SECRET), SECRET)
    assert.equal(await store.declareDefaultSecret('whsec_bWludA=='), SECRET)
    await store.rotateDefaultSecret('whsec_c2FnZQ==', NOW + HOUR)
    assert.equal(await store.declareDefaultSecret('whsec_bWludA=='), 'whsec_c2FnZQ==')
  })

  test('a default secret can be rotated before there is one', async ({ store }) => {
    await store.rotateDefaultSecret(SECRET, NOW + HOUR)
    assert.equal(await store.declareDefaultSecret('whsec_bWludA=='), SECRET)
  })

  test("a job's own url is signed with the default secrets", async (stage) => {
    await stage.store.declareDefaultSecret(SECRET)
    await stage.store.rotateDefaultSecret('whsec_bWludA==', NOW + HOUR)
    await stage.finish(await stage.start(newJob({ webhookUrl: 'https://example.com/own' })))
    const [leased] = await lease(stage)
    assertSame([leased?.url, leased?.secrets], ['https://example.com/own', ['whsec_bWludA==', SECRET]])
    const [later] = await lease(stage, { now: NOW + HOUR })
    assertSame(later?.secrets, ['whsec_bWludA=='])
  })

  testShared('what one store object changes holds for the next end on another', async (stage, other) => {
    const [job, next, last] = [await stage.start(), await stage.start(), await stage.start()]
    const webhook = await subscribe(other)
    await stage.finish(job)
    assertSame(await toldOf(stage), ['job.settled'])
    await other.store.changeWebhook({ webhook: { ...webhook, events: ['job.run.completed'] }, now: NOW })
    await stage.finish(next)
    assertSame(await toldOf(stage), ['job.settled', 'job.run.completed'])
    await other.store.removeWebhook(webhook.webhookId, NOW)
    await stage.finish(last)
    assert.equal((await deliveriesOf(stage)).length, 2)
  })

  testReopened('outlive the store object, and so do their deliveries', async (stage, reopen) => {
    const webhook = await subscribe(stage)
    await complete(stage)
    const reopened = await reopen()
    assertSame(await reopened.store.findWebhook(webhook.webhookId), webhook)
    assert.equal((await leaseOne(reopened, { now: NOW + SECOND })).url, webhook.url)
  })
}
