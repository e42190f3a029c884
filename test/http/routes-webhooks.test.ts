import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { afterwards, openApi, PATIENCE, refusalOf } from './api-stage.ts'

const LOCAL = { webhooks: { allowPrivate: ['127.0.0.1'] } }

/** Somebody who is told, and who answers with the given status. */
async function openReceiver(status: () => number): Promise<{ url: string; told: string[] }> {
  const told: string[] = []
  const server: Server = createServer((request, response) => {
    told.push(String(request.headers['webhook-id']))
    request.resume()
    response.writeHead(status()).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterwards(() => new Promise((resolve) => server.close(resolve)))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/secret-part`, told }
}

describe('/api/webhooks', () => {
  test('makes, reads, changes and removes a webhook; the secret is shown once', async () => {
    const { admin } = await openApi(LOCAL)
    const made = await admin.answer('POST /api/webhooks', {
      body: {
        url: 'http://127.0.0.1:9/x',
        events: ['job.settled'],
        job_types: ['story'],
        name: 'mine',
        enabled: false,
      },
    })
    const { secret, ...webhook } = made.body
    expect(made.status).toBe(201)
    expect(secret).toMatch(/^whsec_/)
    expect(webhook).toMatchObject({
      url: 'http://127.0.0.1:9/x',
      events: ['job.settled'],
      job_types: ['story'],
      name: 'mine',
      enabled: false,
      disabled_reason: null,
      revision: 1,
    })
    const { webhook_id } = webhook
    expect(await admin.webhooks.get(webhook_id)).toEqual(webhook)
    expect((await admin.webhooks.list()).items).toEqual([webhook])
    const changed = await admin.webhooks.change(webhook_id, {
      events: null,
      job_types: null,
      name: null,
      enabled: true,
    })
    expect(changed).toMatchObject({ events: null, job_types: null, name: null, enabled: true, revision: 2 })
    const rotated = await admin.webhooks.rotateSecret(webhook_id)
    expect(rotated.secret).not.toBe(secret)
    expect(Date.parse(rotated.previous_until)).toBeGreaterThan(Date.now() + 86_000_000)
    expect((await admin.answer('DELETE /api/webhooks/{webhook_id}', { params: { webhook_id } })).status).toBe(204)
    expect(await refusalOf(admin.webhooks.get(webhook_id))).toEqual({ status: 404, code: 'webhook_not_found' })
  })

  test('shows whole URLs only to admins', async () => {
    const { admin, viewer } = await openApi(LOCAL)
    const { webhook_id } = await admin.webhooks.create({ url: 'http://127.0.0.1:9/hook?token=t' })
    expect((await admin.webhooks.get(webhook_id)).url).toBe('http://127.0.0.1:9/hook?token=t')
    expect((await viewer.webhooks.get(webhook_id)).url).toBe('http://127.0.0.1:9/…')
    expect((await viewer.webhooks.list()).items[0]?.url).toBe('http://127.0.0.1:9/…')
  })

  test('changes only the version that `If-Match` names', async () => {
    const { admin } = await openApi(LOCAL)
    const { webhook_id, revision } = await admin.webhooks.create({ url: 'http://127.0.0.1:9/x' })
    await admin.webhooks.change(webhook_id, { name: 'a' }, { ifMatch: revision })
    const stale = await refusalOf(admin.webhooks.change(webhook_id, { name: 'b' }, { ifMatch: revision }))
    expect(stale).toEqual({ status: 412, code: 'precondition_failed' })
  })

  test.each([
    ['no URL', {}, 'invalid_option', 'url'],
    ['a private address', { url: 'http://10.0.0.1/' }, 'webhook_url_refused', 'url'],
    ['another scheme', { url: 'ftp://example.com/' }, 'webhook_url_refused', 'url'],
    ['an unknown event', { url: 'http://127.0.0.1/', events: ['job.born'] }, 'invalid_option', 'events.0'],
    ['no events', { url: 'http://127.0.0.1/', events: [] }, 'invalid_option', 'events'],
    ['a type that can be none', { url: 'http://127.0.0.1/', job_types: ['No'] }, 'invalid_option', 'job_types.0'],
  ])('refuses %s', async (_, body, code, path) => {
    const { admin } = await openApi(LOCAL)
    expect(await refusalOf(admin.webhooks.create(body as never))).toEqual({ status: 422, code, path })
  })
})

describe('deliveries', () => {
  test('are listed, shown, and sent again one by one or all of a status', async () => {
    const { admin, viewer, scheduler } = await openApi(LOCAL)
    const receiver = await openReceiver(() => 200)
    const { webhook_id } = await admin.webhooks.create({ url: receiver.url, events: ['job.settled'] })
    await scheduler.start()
    const { job_id } = await admin.jobs.enqueue({ type: 'story' })
    const delivered = async () => (await viewer.webhooks.deliveries(webhook_id, { status: 'DELIVERED' })).items
    await expect.poll(async () => (await delivered()).length, PATIENCE).toBe(1)
    const [delivery] = await delivered()
    const { delivery_id = '' } = delivery ?? {}
    expect(delivery).toMatchObject({
      webhook_id,
      job_id,
      event: 'job.settled',
      will_retry: false,
      status: 'DELIVERED',
      attempts: 1,
      last_status_code: 200,
      last_error: null,
      next_attempt_at: null,
    })
    expect(await viewer.deliveries.get(delivery_id)).toEqual(delivery)
    expect((await viewer.deliveries.list({ job_id })).items).toEqual([delivery])
    expect((await viewer.deliveries.list({ job_id: 'other' })).items).toEqual([])
    const replayed = await admin.answer('POST /api/webhook-deliveries/{delivery_id}/replay', {
      params: { delivery_id },
      body: {},
    })
    expect(replayed).toMatchObject({ status: 202, body: { delivery_id, status: 'PENDING' } })
    await expect.poll(() => receiver.told.length, PATIENCE).toBe(2)
    await expect.poll(async () => (await delivered()).length, PATIENCE).toBe(1)
    const all = await admin.answer('POST /api/webhooks/{webhook_id}/replay', {
      params: { webhook_id },
      body: { status: 'DELIVERED', since: '2020-01-01T00:00:00Z' },
    })
    expect(all).toMatchObject({ status: 202, body: { count: 1 } })
    await expect.poll(() => receiver.told, PATIENCE).toEqual([delivery_id, delivery_id, delivery_id])
    expect(await admin.webhooks.replay(webhook_id, { status: 'FAILED' })).toEqual({ count: 0 })
  })

  test('that have not ended are not sent again, nor those of a removed webhook; their log stays', async () => {
    const { admin, viewer, scheduler } = await openApi(LOCAL)
    const receiver = await openReceiver(() => 500)
    const { webhook_id } = await admin.webhooks.create({ url: receiver.url, events: ['job.settled'] })
    await scheduler.start()
    await admin.jobs.enqueue({ type: 'story' })
    const listed = async () => (await viewer.webhooks.deliveries(webhook_id)).items
    await expect.poll(async () => (await listed())[0]?.attempts, PATIENCE).toBe(1)
    const delivery_id = (await listed())[0]?.delivery_id ?? ''
    expect(await refusalOf(admin.deliveries.replay(delivery_id))).toEqual({ status: 409, code: 'delivery_pending' })
    await admin.webhooks.remove(webhook_id)
    expect(await listed()).toMatchObject([{ delivery_id, status: 'FAILED' }])
    expect(await refusalOf(admin.deliveries.replay(delivery_id))).toEqual({ status: 409, code: 'conflict' })
  })

  test('to the URL of a Job are signed with a secret that admins can read and rotate', async () => {
    const { admin, operator } = await openApi()
    const { secret } = await admin.webhooks.defaultSecret()
    expect(secret).toMatch(/^whsec_/)
    expect(await admin.webhooks.defaultSecret()).toEqual({ secret })
    const rotated = await admin.webhooks.rotateDefaultSecret()
    expect(await admin.webhooks.defaultSecret()).toEqual({ secret: rotated.secret })
    expect(rotated.secret).not.toBe(secret)
    expect(await refusalOf(operator.webhooks.defaultSecret())).toEqual({ status: 403, code: 'forbidden' })
  })
})
