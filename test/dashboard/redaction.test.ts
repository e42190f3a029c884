import { expect, test, vi } from 'vitest'
import { inBrowser, openStage } from './dashboard-stage.ts'

inBrowser('redaction in the dashboard', () => {
  test('is shown as such: a viewer who may not see payloads sees that there are some, and none of them', async () => {
    const stage = await openStage({ http: { redact: 'viewer' } })
    await stage.newKey('admin')
    const key = await stage.newKey('viewer')
    const job = await stage.client.jobs.enqueue({
      type: 'fails',
      params: { message: 'secret-4711', card: 'secret-4711' },
    })
    await vi.waitFor(async () => expect((await stage.client.jobs.get(job.job_id)).outcome).toBe('FAILED'), {
      timeout: 15_000,
      interval: 20,
    })
    const page = await stage.open(`/jobs/${job.job_id}`, { isLive: false })
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('your key may not see payloads').first().waitFor()
    await page.getByText('your key may not see errors').waitFor()
    expect(await page.content()).not.toContain('secret-4711')
    await page.goto(new URL('/jobs', stage.server.url).href)
    await page.getByRole('combobox', { name: 'Search jobs' }).focus()
    await page.getByRole('option', { name: /^tag:/ }).waitFor()
    expect(await page.getByRole('option', { name: /^(params|error)/ }).count()).toBe(0)
  })
})
