import { expect, test, vi } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { newDatabasePath, withHandle } from '../sqlite/stage.ts'
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

/** No door lets a type of such a name in; a hand in the database could. */
const TYPE = `<img src=x onerror="window.hit=1">`

const prints = defineJob({ type: 'prints', command: [process.execPath, '-e', `console.log(${JSON.stringify(ALL)})`] })

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
    const file = newDatabasePath()
    const stage = await openStage({
      scheduler: { store: sqlite(file), jobs: [...TYPES, hostile, prints], name: CORPUS[1] as string },
    })
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
    const printed = await client.jobs.enqueue({ type: 'prints', params: null })
    await client.operations.start({ kind: 'cancel', filter: { tag: CORPUS[0] as string }, reason: ALL.slice(0, 400) })
    await vi.waitFor(async () => expect((await client.jobs.get(printed.job_id)).outcome).toBe('COMPLETED'), PATIENCE)
    await vi.waitFor(async () => expect((await client.jobs.get(failed.job_id)).outcome).toBe('FAILED'), PATIENCE)
    await expect(client.jobs.enqueue({ type: TYPE, params: {} })).rejects.toMatchObject({ status: 422 })
    withHandle(file, (handle) => {
      handle.exec('pragma foreign_keys = off')
      for (const table of ['pawl_lanes', 'pawl_types'])
        handle.prepare(`update ${table} set type = ? where type = 'hostile'`).run(TYPE)
    })

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
      '/operations',
      `/jobs/${printed.job_id}`,
      `/direct?type=${encodeURIComponent(TYPE)}`,
      `/jobs?tag=${encodeURIComponent(CORPUS[0] as string)}&error=${encodeURIComponent(CORPUS[1] as string)}`,
      `/jobs/${encodeURIComponent('<img src=x onerror=hit=1>')}`,
    ]
    const isInert = async (where: string) => {
      expect(await page.evaluate('window.hit'), where).toBeUndefined()
      expect(
        await page
          .locator(
            '#app :is(script, iframe, base, [onerror], [onload], [onclick], a[href^="javascript"], img[src="x"])',
          )
          .count(),
        where,
      ).toBe(0)
    }
    for (const path of paths) {
      await page.goto(new URL(path, stage.server.url).href)
      await loaded(page)
      await isInert(path)
    }
    // What is stored is also put into forms, suggestions and questions.
    for (const [path, button] of [
      [`/jobs/${failed.job_id}`, 'Run again'],
      [`/schedules/${schedule.schedule_id}`, 'Edit'],
      [`/schedules/${schedule.schedule_id}`, 'Remove'],
      [`/webhooks/${webhook.webhook_id}`, 'Edit'],
      ['/templates', 'Edit'],
      ['/templates', 'Archive'],
    ] as const) {
      await page.goto(new URL(path, stage.server.url).href)
      await page.getByRole('button', { name: button }).first().click()
      await page.getByRole('dialog').waitFor()
      await isInert(`${path} ${button}`)
    }
    await page.goto(new URL('/jobs', stage.server.url).href)
    await loaded(page)
    for (const typed of ['type:<', 'tag:<', 'schedule:<', 'template:<', 'group:<']) {
      await page.locator('[data-search]').fill(typed)
      await page.getByRole('option').first().waitFor()
      await isInert(typed)
    }
    await page.goto(new URL(`/jobs/${failed.job_id}`, stage.server.url).href)
    await page.getByRole('region', { name: 'params', exact: true }).waitFor()
    expect(await page.getByRole('region', { name: 'params', exact: true }).innerText()).toContain(
      'window.hit = 1</script>',
    )
    expect(await page.getByRole('region', { name: 'error', exact: true }).innerText()).toContain(CORPUS[1])
    await page.goto(new URL(`/jobs/${printed.job_id}`, stage.server.url).href)
    await page.getByRole('region', { name: 'output', exact: true }).getByText('window.hit = 1').waitFor()
    expect(violations).toEqual([])
  })
})
