// No query that the page causes may scan history. The statements are written down while every page is looked at, and explained
// afterwards on the same database. A plan does not depend on how much there is: SQLite counts only when told to. See test/sqlite/query-plans.test.ts for those that
// Pawl causes itself, and `node bench/dashboard.mjs` for the time that they take with a million jobs.
import { expect, test, vi } from 'vitest'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { explain, harmfulScans } from '../sqlite/harmless-scans.ts'
import { newDatabasePath, recordStatements } from '../sqlite/stage.ts'
import { inBrowser, loaded, openStage, visit } from './dashboard-stage.ts'

const PATIENCE = { timeout: 30_000, interval: 50 }

inBrowser('the queries that the dashboard causes', () => {
  test('scan no history, whichever page is looked at', { timeout: 180_000 }, async () => {
    const path = newDatabasePath()
    const recording = recordStatements()
    const stage = await openStage({
      scheduler: { store: sqlite(path, { driver: recording.driver, durability: 'process' }), concurrency: 50 },
    })
    const { client, scheduler } = stage
    const many = (count: number, type: string, more: object = {}) =>
      scheduler.enqueueMany(Array.from({ length: count }, (_, n) => ({ type, params: { n }, ...more })))
    await many(300, 'echo', { tags: ['a'] })
    await many(60, 'fails', { tags: ['b'] })
    await many(100, 'echo', { runAt: new Date('2099-01-01T00:00:00Z') })
    const failed = await client.jobs.enqueue({ type: 'fails', name: 'last', params: {} })
    const template = await client.templates.create({ name: 'template', job_type: 'echo' })
    const schedule = await client.schedules.create({ name: 'nightly', type: 'echo', cron: '0 2 * * *' })
    await client.schedules.trigger(schedule.schedule_id)
    const group = await client.groups.create({
      name: 'batch',
      jobs: Array.from({ length: 50 }, () => ({ type: 'echo' })),
    })
    const webhook = await client.webhooks.create({ url: 'http://127.0.0.1:9/hook', name: 'hook' })
    await client.direct('echo', { params: {} })
    await client.operations.start({ kind: 'retry', filter: { tag: 'none' } })
    await vi.waitFor(async () => expect((await client.statistics()).totals.failed).toBe(61), PATIENCE)
    await vi.waitFor(async () => expect((await client.jobs.counts()).running).toBe(0), PATIENCE)

    recording.executed.clear()
    const page = await stage.open('/')
    for (const address of [
      '/',
      ...['all', 'queued', 'running', 'completed', 'failed', 'skipped', 'cancelled'].map((tab) => `/jobs?tab=${tab}`),
      '/jobs?type=echo',
      '/jobs?tag=a',
      '/jobs?tab=failed&tag=b',
      `/jobs?template_id=${template.template_id}`,
      `/jobs?schedule_id=${schedule.schedule_id}`,
      `/jobs?group_id=${group.group_id}`,
      '/jobs?params_path=n&params_value=7',
      '/jobs?error=broke',
      '/jobs?tab=failed&type=fails&error=broke',
      '/jobs?created_after=2020-01-01T00%3A00%3A00.000Z',
      '/jobs?created_before=2030-01-01T00%3A00%3A00.000Z&tag=a',
      `/jobs/${failed.job_id}`,
      '/groups',
      `/groups/${group.group_id}`,
      '/direct',
      '/operations',
      '/schedules',
      `/schedules/${schedule.schedule_id}`,
      '/templates',
      '/webhooks',
      `/webhooks/${webhook.webhook_id}`,
      `/webhooks/${webhook.webhook_id}?status=FAILED`,
      '/nodes',
      '/audit',
      '/audit?actor=anonymous',
      `/audit?subject=${failed.job_id}`,
      '/keys',
    ]) {
      await visit(page, address)
      const next = page.getByRole('button', { name: 'Next page' })
      if ((await next.count()) > 0) {
        await next.click()
        await page.getByRole('button', { name: 'First page' }).waitFor()
        await loaded(page)
      }
    }
    const asked = [...recording.executed].filter(([sql]) => /^\s*(select|with)\b/i.test(sql))
    expect(asked.length).toBeGreaterThan(40)
    expect(harmfulScans(explain(path, asked))).toEqual([])
  })
})
