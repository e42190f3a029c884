import { expect, test, vi } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { startPawl } from '../cli/serve-process.ts'
import { Workspace } from '../docs/workspace.ts'
import { afterwards, gate, inBrowser, openPage, openStage, visit } from './dashboard-stage.ts'

const PATIENCE = { timeout: 20_000, interval: 20 }

inBrowser('the dashboard', () => {
  test('says so while the server is away, keeps what it knew, and goes on when it is back', async () => {
    const workspace = new Workspace()
    afterwards(() => workspace.remove())
    workspace.write(
      'pawl.config.mjs',
      `import { defineConfig, defineJob } from 'pawl'
       export default defineConfig({ store: 'sqlite:pawl.db', jobs: [defineJob({ type: 'echo', run: ({ params }) => params })] })`,
    )
    const first = startPawl(['serve', '--port', '0'], workspace.folder)
    const url = (await first.prints(/^Pawl is ready at (\S+)/))[1] as string
    const page = await openPage(url, '/jobs')
    await createClient({ server: url }).jobs.enqueue({ type: 'echo', name: 'before', params: {} })
    await page.getByRole('link', { name: 'before' }).waitFor()
    first.kill('SIGTERM')
    await first.exited
    await page.locator('.live[data-state="reconnecting"]').waitFor()
    expect(await page.getByRole('link', { name: 'before' }).count()).toBe(1)

    const port = new URL(url).port
    // It goes on after the last event that it has heard.
    const resumed = page.waitForRequest((request) => request.url().includes('/api/events?last_event_id='))
    const second = startPawl(['serve', '--port', port], workspace.folder)
    await second.prints(/^Pawl is ready at (\S+)/)
    await createClient({ server: url }).jobs.enqueue({ type: 'echo', name: 'after', params: {} })
    await page.getByRole('link', { name: 'after' }).waitFor()
    await resumed
    await page.locator('.live[data-state="live"]').waitFor()
    second.kill('SIGTERM')
    await second.exited
  })

  test('shows what is new within a second, on every page that tells of jobs', async () => {
    const stage = await openStage({ isStarted: false })
    const schedule = await stage.client.schedules.create({ name: 'yearly', type: 'echo', cron: '0 0 1 1 *' })
    const page = await stage.open('/')
    let queued = 0
    const seen: readonly (readonly [path: string, (id: string) => string])[] = [
      ['/', () => `.figure dd:text-is("${queued}")`],
      ['/jobs', (id) => `[data-row="${id}"]`],
      ['/jobs?tab=queued', (id) => `[data-row="${id}"]`],
      ['/schedules', (id) => `.strip a[href$="${id}"]`],
      [`/schedules/${schedule.schedule_id}`, (id) => `[data-row="${id}"]`],
    ]
    const medians: [string, number][] = []
    for (const [path, selector] of seen) {
      await visit(page, path)
      const took: number[] = []
      for (let count = 0; count < 5; count++) {
        const { job_id: id } = await stage.client.schedules.trigger(schedule.schedule_id)
        queued++
        const askedAt = performance.now()
        await page.locator(selector(id)).first().waitFor()
        took.push(performance.now() - askedAt)
      }
      // The median: a busy machine may be late once.
      medians.push([path, took.toSorted((a, b) => a - b)[2] as number])
    }
    expect(medians.filter(([, ms]) => ms > 1_000)).toEqual([])
  })

  test('follows progress and the end of a job without being touched', async () => {
    const stage = await openStage()
    const job = await stage.client.jobs.enqueue({ type: 'gated', name: 'watched', params: {} })
    const page = await stage.open(`/jobs/${job.job_id}`)
    await page.getByText('two of five').first().waitFor()
    await page.getByRole('progressbar', { name: 'Progress' }).waitFor()
    gate.current.open()
    await page.locator('.page-head .badge', { hasText: 'Completed' }).waitFor()
    await page.getByRole('region', { name: 'result', exact: true }).getByText('through').waitFor()
  })

  test('waits while a dialog is open, or while somebody has paused it', async () => {
    const stage = await openStage({ isStarted: false })
    const page = await stage.open('/jobs')
    await page.getByText('No jobs yet').waitFor()
    await page.keyboard.press('?')
    await page.locator('.live[data-state="paused"]').waitFor()
    await stage.client.jobs.enqueue({ type: 'echo', name: 'one', params: {} })
    await page.getByText('1 new').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'one' }).waitFor()
    await page.getByRole('button', { name: 'Live' }).click()
    await stage.client.jobs.enqueue({ type: 'echo', name: 'two', params: {} })
    await page.getByText('1 new').waitFor()
    expect(await page.getByRole('link', { name: 'two' }).count()).toBe(0)
    await page.getByRole('button', { name: /Paused/ }).click()
    await page.getByRole('link', { name: 'two' }).waitFor()
  })

  test('has a word for each kind of nothing', async () => {
    const stage = await openStage({ isStarted: false })
    const page = await stage.open('/jobs')
    await page.locator('[data-empty="nothing-yet"]').getByText('pawl enqueue').waitFor()
    await page.goto(new URL('/jobs?tag=none', stage.server.url).href)
    await page.locator('[data-empty="nothing-matches"]').waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.locator('[data-empty="nothing-yet"]').waitFor()

    await stage.scheduler.enqueueMany(Array.from({ length: 2_100 }, (_, n) => ({ type: 'echo', params: { n } })))
    await page.goto(new URL('/jobs?params_path=n&params_value=never', stage.server.url).href)
    await page.locator('[data-empty="window-limited"]').waitFor()
    await page.getByRole('button', { name: 'Search further back' }).click()
    await vi.waitFor(() => expect(page.url()).toContain('cursor='), PATIENCE)

    await page.route('**/api/jobs?*', (route) => route.abort())
    await page.goto(new URL('/jobs?tag=kept', stage.server.url).href)
    await page.locator('[data-empty="cannot-load"]').waitFor()
    await page.getByText('tag: kept').waitFor()
    await page.unroute('**/api/jobs?*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('[data-empty="nothing-matches"]').waitFor()
  })

  test('works under a path, and keeps the theme that was chosen', async () => {
    const stage = await openStage({ http: { basePath: '/tools/pawl' } })
    await stage.client.jobs.enqueue({ type: 'echo', name: 'below', params: {} })
    const page = await stage.open('/tools/pawl/jobs')
    await page.getByRole('link', { name: 'below' }).click()
    await page.getByRole('heading', { name: 'below' }).waitFor()
    expect(new URL(page.url()).pathname).toMatch(/^\/tools\/pawl\/jobs\//)
    await page.getByRole('button', { name: 'Theme: system' }).click()
    await page.getByRole('button', { name: 'Theme: light' }).click()
    await page.reload()
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor()
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
  })
})
