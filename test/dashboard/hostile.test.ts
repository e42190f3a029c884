import { expect, test, vi } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { inBrowser, loaded, openStage, TYPES, violations } from './dashboard-stage.ts'

const PATIENCE = { timeout: 15_000, interval: 20 }

/** Each would call `hit` if the page read it as anything but text. */
const CORPUS = [
  `<script>window.hit = 1</script>`,
  `<img src=x onerror="window.hit=1">`,
  `"><svg onload=window.hit=1>`,
  `'-window.hit=1-'`,
  `javascript:window.hit=1`,
  `</textarea><iframe srcdoc="<script>parent.hit=1</script>">`,
  `{{constructor.constructor('window.hit=1')()}}`,
  `<a href="javascript:window.hit=1" style="position:fixed;inset:0">click</a>`,
  `<base href="https://evil.example/">\u202e\u0007`,
]
const ALL = CORPUS.join('\n')

const hostile = defineJob({
  type: 'hostile',
  retry: { maxRetries: 0 },
  run: ({ log, progress }) => {
    for (const text of CORPUS) log.error(text, { [text]: text })
    progress(0.5, ALL.slice(0, 500))
    const error = new Error(ALL)
    error.stack = `Error: ${ALL}\n    at ${ALL} (${ALL}:1:1)`
    throw error
  },
})

inBrowser('hostile text in the dashboard', () => {
  test('is text, wherever it is stored, and the policy of the page has nothing to refuse', async () => {
    const stage = await openStage({ scheduler: { jobs: [...TYPES, hostile], name: CORPUS[1] as string } })
    const { client } = stage
    const params = Object.fromEntries(CORPUS.map((text) => [text, { [text]: [text] }]))
    const tags = CORPUS.map((text) => text.slice(0, 60))
    const failed = await client.jobs.enqueue({
      type: 'hostile',
      name: CORPUS[0] as string,
      params,
      tags,
      business_key: CORPUS[2] as string,
    })
    const done = await client.jobs.enqueue({ type: 'echo', name: CORPUS[1] as string, params, tags })
    const template = await client.templates.create({
      name: CORPUS[2] as string,
      job_type: 'echo',
      default_params: params,
      description: ALL,
    })
    const schedule = await client.schedules.create({
      name: CORPUS[1] as string,
      template_id: template.template_id,
      cron: '0 0 1 1 *',
      param_overrides: params,
      tags,
    })
    await client.schedules.trigger(schedule.schedule_id)
    const group = await client.groups.create({
      name: CORPUS[7] as string,
      jobs: [{ type: 'echo', name: CORPUS[5] as string, params }],
    })
    const webhook = await client.webhooks.create({
      url: `http://127.0.0.1:9/${encodeURI(CORPUS[1] as string)}?<script>window.hit=1</script>`,
      name: CORPUS[1] as string,
    })
    const late = await client.jobs.enqueue({ type: 'echo', name: 'late', params: {}, run_at: '2099-01-01T00:00:00Z' })
    await client.jobs.cancel(late.job_id, { reason: ALL })
    await client.direct('hostile', { params }).catch(() => {})
    await vi.waitFor(async () => expect((await client.jobs.get(failed.job_id)).outcome).toBe('FAILED'), PATIENCE)

    const page = await stage.open('/')
    const paths = [
      '/',
      '/jobs',
      `/jobs/${failed.job_id}`,
      `/jobs/${done.job_id}`,
      `/jobs/${late.job_id}`,
      '/templates',
      '/schedules',
      `/schedules/${schedule.schedule_id}`,
      '/groups',
      `/groups/${group.group_id}`,
      '/webhooks',
      `/webhooks/${webhook.webhook_id}`,
      '/direct',
      '/nodes',
      '/audit',
      `/jobs?tag=${encodeURIComponent(CORPUS[0] as string)}&error=${encodeURIComponent(CORPUS[1] as string)}`,
      `/jobs/${encodeURIComponent('<img src=x onerror=hit=1>')}`,
    ]
    for (const path of paths) {
      await page.goto(new URL(path, stage.server.url).href)
      await loaded(page)
      expect(await page.evaluate('window.hit'), path).toBeUndefined()
      expect(
        await page
          .locator('main script, main iframe, main base, main [onerror], main [onload], main a[href^="javascript"]')
          .count(),
        path,
      ).toBe(0)
    }
    await page.goto(new URL(`/jobs/${failed.job_id}`, stage.server.url).href)
    await page.getByRole('region', { name: 'params', exact: true }).waitFor()
    expect(await page.getByRole('region', { name: 'params', exact: true }).innerText()).toContain(
      'window.hit = 1</script>',
    )
    expect(await page.getByRole('region', { name: 'error', exact: true }).innerText()).toContain(CORPUS[1])
    expect(violations).toEqual([])
  })
})
