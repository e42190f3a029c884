import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { afterwards, inBrowser, openStage } from './dashboard-stage.ts'

const PATIENCE = { timeout: 15_000, interval: 20 }

/** Hears what is sent, and answers as it is told. */
async function openReceiver() {
  const heard: { id: string; path: string }[] = []
  const receiver = { heard, status: 204, url: '' }
  const server = createServer((request, response) => {
    heard.push({ id: String(request.headers['webhook-id']), path: request.url ?? '' })
    response.statusCode = receiver.status
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  afterwards(() => server.close())
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return receiver
}

inBrowser('webhooks in the dashboard', () => {
  test('are made, replayed and given a new secret, each secret shown once', async () => {
    const receiver = await openReceiver()
    const stage = await openStage()
    const page = await stage.open('/webhooks')
    await page.getByRole('button', { name: 'New webhook' }).click()
    await page.getByLabel('URL').fill(`${receiver.url}/hook`)
    await page.getByLabel('Name').fill('listener')
    for (const event of ['job.run.completed', 'job.run.failed', 'job.run.skipped', 'job.cancelled'])
      await page.getByLabel(event).uncheck()
    await page.getByRole('button', { name: 'Save' }).click()
    const secret = await page.locator('[data-secret]').innerText()
    expect(secret).toMatch(/^whsec_/)
    await page.getByRole('button', { name: 'I have kept it' }).click()
    expect((await stage.client.webhooks.list({})).items).toMatchObject([{ name: 'listener', events: ['job.settled'] }])
    await stage.client.jobs.enqueue({ type: 'echo', params: {} })
    await vi.waitFor(() => expect(receiver.heard).toHaveLength(1), PATIENCE)

    await page.getByRole('link', { name: 'listener' }).click()
    await page.locator('.badge', { hasText: 'Delivered' }).waitFor()
    await page.getByRole('button', { name: 'Replay', exact: true }).click()
    await vi.waitFor(() => expect(receiver.heard).toHaveLength(2), PATIENCE)
    expect(receiver.heard[1]?.id).toBe(receiver.heard[0]?.id)
    await page.getByRole('button', { name: 'Rotate secret' }).click()
    await page.getByRole('button', { name: 'Rotate', exact: true }).click()
    const other = await page.locator('[data-secret]').innerText()
    expect(other).toMatch(/^whsec_/)
    expect(other).not.toBe(secret)
    await page.getByRole('button', { name: 'I have kept it' }).click()
    await page.locator('[data-secret]').waitFor({ state: 'detached' })
    const { items } = await stage.client.audit.list({})
    expect(items.map(({ action }) => action)).toContain('webhook.rotate-secret')
  })

  test('are changed, switched off and removed', async () => {
    const receiver = await openReceiver()
    const stage = await openStage()
    const { webhook_id: id } = await stage.client.webhooks.create({ url: `${receiver.url}/old`, name: 'old' })
    const page = await stage.open(`/webhooks/${id}`)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('URL').fill(`${receiver.url}/new`)
    await page.getByLabel('Name').fill('new')
    await page.getByLabel('job.cancelled').uncheck()
    await page.getByLabel('Only these job types').fill('echo, fails')
    await page.getByLabel('Enabled').uncheck()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'new Disabled' }).waitFor()
    expect(await stage.client.webhooks.get(id)).toMatchObject({
      name: 'new',
      url: `${receiver.url}/new`,
      enabled: false,
      job_types: ['echo', 'fails'],
      events: ['job.run.completed', 'job.run.failed', 'job.run.skipped', 'job.settled'],
    })
    // Somebody else was faster: what is shown is old, and is not written over theirs.
    await page.getByRole('button', { name: 'Edit' }).click()
    await stage.client.webhooks.change(id, { name: 'theirs' })
    await page.getByLabel('Name').fill('mine')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('alert').waitFor()
    expect(await stage.client.webhooks.get(id)).toMatchObject({ name: 'theirs' })
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()

    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No webhooks yet').waitFor()
    expect((await stage.client.webhooks.list({})).items).toEqual([])
  })

  test('send all that failed again', async () => {
    const receiver = await openReceiver()
    receiver.status = 410
    const stage = await openStage()
    const { webhook_id: id } = await stage.client.webhooks.create({
      url: `${receiver.url}/hook`,
      name: 'flaky',
      events: ['job.settled'],
    })
    for (let count = 0; count < 3; count++) await stage.client.jobs.enqueue({ type: 'echo', params: { count } })
    const failed = () => stage.client.webhooks.deliveries(id, { status: 'FAILED' })
    await vi.waitFor(async () => expect((await failed()).items).toHaveLength(3), PATIENCE)
    const heardBefore = receiver.heard.length
    receiver.status = 204
    // The receiver had said that it is gone, which disables a webhook.
    await stage.client.webhooks.change(id, { enabled: true })
    const page = await stage.open(`/webhooks/${id}?status=FAILED`)
    await page.locator('[data-row]').nth(2).waitFor()
    await page.getByRole('button', { name: 'Replay failed' }).click()
    await page.getByText('3 deliveries are sent again.').waitFor()
    await vi.waitFor(async () => expect((await failed()).items).toEqual([]), PATIENCE)
    expect(new Set(receiver.heard.slice(heardBefore).map((one) => one.id)).size).toBe(3)
    await page.locator('[data-empty="nothing-matches"]').waitFor()
  })
})
