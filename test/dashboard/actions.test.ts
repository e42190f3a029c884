import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test, vi } from 'vitest'
import { afterwards, gate, inBrowser, openStage, violations } from './dashboard-stage.ts'

const PATIENCE = { timeout: 15_000, interval: 20 }

inBrowser('what the dashboard does', () => {
  test('makes, previews, edits, triggers, disables and removes a schedule', async () => {
    const stage = await openStage()
    const page = await stage.open('/schedules')
    await page.getByText('pawl schedules create').waitFor()
    await page.getByRole('button', { name: 'New schedule' }).click()
    await page.getByLabel('Name').fill('spring')
    await page.getByLabel('Makes jobs of').selectOption('type:echo')
    await page.getByLabel('Cron').fill('30 2 * * *')
    await page.getByLabel('Zone').fill('Europe/Vienna')
    await page.locator('[data-preview]').getByText('At 02:30, every day').waitFor()
    await vi.waitFor(async () => expect(await page.locator('[data-preview] .slots li').count()).toBe(6), PATIENCE)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('link', { name: 'spring' }).click()
    await page.getByRole('heading', { name: 'spring' }).waitFor()
    const [schedule] = (await stage.client.schedules.list({})).items
    const id = schedule?.schedule_id ?? ''
    expect(schedule).toMatchObject({ name: 'spring', type: 'echo', cron: '30 2 * * *', timezone: 'Europe/Vienna' })

    await page.getByRole('button', { name: 'Trigger now' }).click()
    await vi.waitFor(async () => {
      const { items } = await stage.client.jobs.list({ schedule_id: id })
      expect(items).toMatchObject([{ outcome: 'COMPLETED' }])
    }, PATIENCE)
    await page.locator('.strip a.good').waitFor()

    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Cron').fill('not cron')
    await page.locator('[data-preview] .tone-bad').waitFor()
    await page.getByLabel('Cron').fill('0 6 * * 1-5')
    await page.getByLabel('While the previous job').selectOption('skip')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('At 06:00, on weekdays').first().waitFor()
    expect(await stage.client.schedules.get(id)).toMatchObject({ cron: '0 6 * * 1-5', overlap: 'skip' })

    await page.getByRole('button', { name: 'Disable' }).click()
    await page.locator('.badge', { hasText: 'Disabled' }).waitFor()
    expect(await stage.client.schedules.get(id)).toMatchObject({ enabled: false })
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No schedules yet').waitFor()
    expect((await stage.client.schedules.list({})).items).toEqual([])
  })

  test('makes, edits, enqueues and archives a template', async () => {
    const stage = await openStage()
    const page = await stage.open('/templates')
    await page.getByRole('button', { name: 'New template' }).click()
    await page.getByLabel('Name').fill('greeting')
    await page.getByLabel('Job type').selectOption('echo')
    await page.getByLabel('Default params (JSON)').fill('{ "who": ')
    await page.getByText('This is not JSON').waitFor()
    await page.getByLabel('Default params (JSON)').fill('{ "who": "you" }')
    await page.getByRole('button', { name: 'Save' }).click()
    const row = page.getByRole('row', { name: /greeting/ })
    await row.getByRole('button', { name: 'Enqueue' }).click()
    await vi.waitFor(async () => {
      expect((await stage.client.jobs.list({})).items).toMatchObject([{ params: { who: 'you' } }])
    }, PATIENCE)
    await row.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Description').fill('says hello')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('says hello').waitFor()
    await row.getByRole('button', { name: 'Archive' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Archive' }).click()
    await page.getByText('No templates yet').waitFor()
    expect((await stage.client.templates.list({ state: 'archived' })).items).toMatchObject([
      { description: 'says hello' },
    ])
  })

  test('shows a group as a graph and cancels it', async () => {
    const stage = await openStage()
    const group = await stage.client.groups.create({
      name: 'batch',
      mode: 'sequential',
      jobs: [
        { type: 'gated', name: 'first' },
        { type: 'echo', name: 'second' },
      ],
    })
    const page = await stage.open(`/groups/${group.group_id}`)
    await page.locator('.graph .edge').waitFor({ state: 'attached' })
    await page.locator('.graph').getByText('first').waitFor()
    await page.getByRole('button', { name: 'Cancel the group' }).click()
    await page.getByLabel('Jobs that run').selectOption('abort')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel the group' }).click()
    await page.locator('.badge', { hasText: 'Cancelled' }).first().waitFor()
    await vi.waitFor(
      async () =>
        expect(await stage.client.groups.get(group.group_id)).toMatchObject({
          status: 'CANCELLED',
          counts: { cancelled: 2 },
        }),
      PATIENCE,
    )
  })

  test('runs a type directly, and shows its result and its failure', async () => {
    const stage = await openStage()
    const page = await stage.open('/direct?type=echo')
    await page.getByLabel('Params (JSON)').fill('{ "loud": true }')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.locator('[data-outcome="done"]').getByText('"loud"').waitFor()
    await page.getByLabel('Type', { exact: true }).selectOption('fails')
    await page.getByRole('button', { name: 'Run', exact: true }).click()
    await page.locator('[data-outcome="failed"]').getByText('direct_failed').waitFor()
    const { items } = await stage.client.reservations.list({})
    expect(items.map(({ job_type, outcome }) => [job_type, outcome])).toEqual([
      ['fails', 'FAILED'],
      ['echo', 'COMPLETED'],
    ])
    await page.locator('[data-row]').nth(1).waitFor()
  })

  test('makes a form of the params of a type', async () => {
    const stage = await openStage()
    const page = await stage.open('/direct?type=typed')
    const form = page.getByRole('form', { name: 'Run a type now' })
    await form.getByLabel('name').fill('Ada')
    await form.getByLabel('count').fill('many')
    await form.getByText('Expected a number').waitFor()
    expect(await form.getByRole('button', { name: 'Run', exact: true }).isDisabled()).toBe(true)
    await form.getByLabel('count').fill('7')
    await form.getByLabel('loud').check()
    await form.getByLabel('mode').selectOption('slow')
    await form.getByRole('button', { name: 'Run', exact: true }).click()
    await page.locator('[data-outcome="done"]').getByText('"greeted"').waitFor()
    const [reservation] = (await stage.client.reservations.list({})).items
    expect(reservation?.params).toEqual({ name: 'Ada', count: 7, loud: true, mode: 'slow' })
  })

  test('makes a webhook, replays a delivery and rotates its secret, each shown once', async () => {
    const heard: string[] = []
    const receiver = createServer((request, response) => {
      heard.push(String(request.headers['webhook-id']))
      response.end()
    })
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
    afterwards(() => receiver.close())
    const stage = await openStage()
    const page = await stage.open('/webhooks')
    await page.getByRole('button', { name: 'New webhook' }).click()
    await page.getByLabel('URL').fill(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`)
    await page.getByLabel('Name').fill('listener')
    for (const event of ['job.run.completed', 'job.run.failed', 'job.run.skipped', 'job.cancelled'])
      await page.getByLabel(event).uncheck()
    await page.getByRole('button', { name: 'Save' }).click()
    const secret = await page.locator('[data-secret]').innerText()
    expect(secret).toMatch(/^whsec_/)
    await page.getByRole('button', { name: 'I have kept it' }).click()
    await stage.client.jobs.enqueue({ type: 'echo', params: {} })
    await vi.waitFor(() => expect(heard).toHaveLength(1), PATIENCE)

    await page.getByRole('link', { name: 'listener' }).click()
    await page.locator('.badge', { hasText: 'Delivered' }).waitFor()
    await page.getByRole('button', { name: 'Replay', exact: true }).click()
    await vi.waitFor(() => expect(heard).toHaveLength(2), PATIENCE)
    expect(heard[1]).toBe(heard[0])
    await page.getByRole('button', { name: 'Rotate secret' }).click()
    await page.getByRole('button', { name: 'Rotate', exact: true }).click()
    const other = await page.locator('[data-secret]').innerText()
    expect(other).not.toBe(secret)
    await page.getByRole('button', { name: 'I have kept it' }).click()
    expect(await page.locator('[data-secret]').count()).toBe(0)
  })

  test('makes a key, asks for it from then on, and revokes it', async () => {
    const stage = await openStage()
    const page = await stage.open('/keys')
    await page.getByText('There are no keys').waitFor()
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByLabel('Name').fill('boss')
    await page.getByLabel('Role').selectOption('admin')
    await page.getByRole('button', { name: 'Make the key' }).click()
    const key = await page.locator('[data-secret]').innerText()
    await page.getByRole('button', { name: 'I have kept it' }).click()

    await page.getByLabel('API key').fill('pawl_wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.locator('.wrong').waitFor()
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('key:boss').waitFor()
    expect(await page.evaluate('document.cookie + JSON.stringify(localStorage)')).not.toContain(key.slice(8))

    await page.getByRole('row', { name: /boss/ }).getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByLabel('API key').waitFor()
  })

  test('is nothing for a viewer: no control that changes anything, and the server refuses it too', async () => {
    const stage = await openStage()
    await stage.newKey('admin')
    const key = await stage.newKey('viewer')
    const job = await stage.client.jobs.enqueue({
      type: 'echo',
      name: 'mine',
      params: {},
      run_at: '2099-01-01T00:00:00Z',
    })
    const template = await stage.client.templates.create({ name: 'template', job_type: 'echo' })
    const schedule = await stage.client.schedules.create({
      name: 'nightly',
      template_id: template.template_id,
      cron: '0 2 * * *',
    })
    const webhook = await stage.client.webhooks.create({ url: 'http://127.0.0.1:9/secret-path', name: 'hook' })
    const group = await stage.client.groups.create({ name: 'batch', jobs: [{ type: 'gated' }] })
    const page = await stage.open('/jobs?tab=queued', { isLive: false })
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('link', { name: 'mine' }).waitFor()
    expect(await page.getByRole('checkbox', { name: /^Select/ }).count()).toBe(0)
    expect(await page.getByRole('button', { name: /^Move/ }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'Keys' }).count()).toBe(0)
    const paths = [
      `/jobs/${job.job_id}`,
      '/schedules',
      `/schedules/${schedule.schedule_id}`,
      '/templates',
      `/groups/${group.group_id}`,
      '/direct',
      '/webhooks',
      `/webhooks/${webhook.webhook_id}`,
      '/nodes',
      '/keys',
      '/operations',
    ]
    for (const path of paths) {
      await page.goto(new URL(path, stage.server.url).href)
      await page.locator('main h1, main .empty').first().waitFor()
      const names = await page.locator('main').getByRole('button').allInnerTexts()
      const changing =
        /cancel|retry|run|move|front|back|edit|trigger|disable|enable|new|remove|replay|rotate|revoke|enqueue|archive|abort|stop|take/i
      expect(
        names.filter((name) => changing.test(name)),
        path,
      ).toEqual([])
    }
    const answer = await page.request.post(`${stage.server.url}/api/jobs/${job.job_id}/cancel`, {
      headers: { origin: stage.server.url },
      data: {},
    })
    expect(answer.status()).toBe(403)
    expect(await stage.client.jobs.get(job.job_id)).toMatchObject({ status: 'QUEUED' })
    gate.current.open()
    expect(violations).toEqual([])
  })
})
