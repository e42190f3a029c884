import { expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { gate, inBrowser, openStage, violations } from './dashboard-stage.ts'

/** A POST that stores nothing. */
const READS: ReadonlySet<string> = new Set(['/api/schedules/preview'])

inBrowser('who may do what in the dashboard', () => {
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
    await expect(createClient({ server: stage.server.url, apiKey: key }).jobs.list({})).rejects.toMatchObject({
      status: 401,
    })
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
      '/',
      '/jobs?tab=failed',
      '/groups',
      '/audit',
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
    // Whatever the API can change, with the session that the page has.
    const { paths: all } = (await (await page.request.get(`${stage.server.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, unknown>>
    }
    const changing = Object.entries(all).flatMap(([path, methods]) =>
      ['post', 'put', 'patch', 'delete'].filter((method) => method in methods).map((method) => ({ method, path })),
    )
    expect(changing.length).toBeGreaterThan(30)
    for (const { method, path } of changing) {
      if (path === '/api/session' || READS.has(path)) continue
      const answer = await page.request.fetch(`${stage.server.url}${path.replace(/\{\w+\}/g, job.job_id)}`, {
        method,
        headers: { origin: stage.server.url },
        data: {},
      })
      expect(answer.status(), `${method} ${path}`).toBe(403)
    }
    expect(await stage.client.jobs.get(job.job_id)).toMatchObject({ status: 'QUEUED' })
    gate.current.open()
    expect(violations).toEqual([])
  })
})
