import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { inBrowser, openStage, type Stage, violations, visit } from './dashboard-stage.ts'

const PATIENCE = { timeout: 15_000, interval: 20 }

/** Something of everything, and the address of every page. */
async function furnish({ client }: Stage): Promise<string[]> {
  const done = await client.jobs.enqueue({
    type: 'echo',
    name: 'done',
    params: { deep: { list: [1, 'two', null] } },
    tags: ['a', 'b'],
  })
  const failed = await client.jobs.enqueue({ type: 'fails', params: { message: 'a long story\nin two lines' } })
  await client.jobs.enqueue({ type: 'gated', name: 'running', params: {} })
  const parent = await client.jobs.enqueue({ type: 'echo', name: 'parent', params: {}, run_at: '2099-01-01T00:00:00Z' })
  const child = await client.jobs.enqueue({ type: 'echo', name: 'child', params: {}, depends_on: [parent.job_id] })
  const group = await client.groups.create({
    name: 'batch',
    mode: 'sequential',
    jobs: [{ type: 'echo' }, { type: 'echo' }],
  })
  const template = await client.templates.create({ name: 'template', job_type: 'echo', default_params: { a: 1 } })
  const schedule = await client.schedules.create({
    name: 'nightly',
    template_id: template.template_id,
    cron: '30 2 * * *',
    timezone: 'Europe/Vienna',
  })
  await client.schedules.trigger(schedule.schedule_id)
  await client.operations.start({ kind: 'retry', filter: { tag: 'none' } })
  const webhook = await client.webhooks.create({ url: 'http://127.0.0.1:9/hook', name: 'receiver' })
  await client.direct('echo', { params: { now: true } })
  await vi.waitFor(async () => expect((await client.jobs.get(failed.job_id)).outcome).toBe('FAILED'), PATIENCE)
  return [
    '/',
    '/jobs',
    '/jobs?tab=queued',
    `/jobs/${done.job_id}`,
    `/jobs/${failed.job_id}`,
    `/jobs/${child.job_id}`,
    '/groups',
    `/groups/${group.group_id}`,
    '/direct',
    '/schedules',
    `/schedules/${schedule.schedule_id}`,
    '/templates',
    '/webhooks',
    `/webhooks/${webhook.webhook_id}`,
    '/nodes',
    '/operations',
    '/audit',
    '/keys',
  ]
}

/** A phone has no keyboard to say these of. */
const WIDE_ONLY: ReadonlySet<string> = new Set(['Keyboard shortcuts', 'Go to'])

function widthOf(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth') as Promise<number>
}

interface Finding {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

/** What axe finds on the page, as far as it is serious. */
async function seriousFindings(page: Page): Promise<string[]> {
  // By the debugger, which the policy of the page does not bind.
  const session = await page.context().newCDPSession(page)
  await session.send('Runtime.evaluate', { expression: axe.source })
  const { result } = await session.send('Runtime.evaluate', {
    expression: `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }).then(({ violations }) => JSON.stringify(violations))`,
    awaitPromise: true,
    returnByValue: true,
  })
  const found = JSON.parse(String(result.value)) as readonly Finding[]
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary}`)
}

/** Every dialog: where it is, and what opens it. */
function dialogsOf(paths: readonly string[]): readonly (readonly [path: string, button: string])[] {
  const find = (start: string, index = 0) => paths.filter((path) => path.startsWith(start))[index] as string
  return [
    ['/jobs', 'New job'],
    ['/schedules', 'New schedule'],
    [find('/schedules/'), 'Edit'],
    [find('/schedules/'), 'Remove'],
    ['/templates', 'New template'],
    ['/templates', 'Archive'],
    ['/webhooks', 'New webhook'],
    [find('/webhooks/'), 'Edit'],
    [find('/webhooks/'), 'Rotate secret'],
    ['/keys', 'New key'],
    [find('/jobs/'), 'Run again'],
    [find('/jobs/', 1), 'Retry'],
    [find('/jobs/', 2), 'Edit'],
    [find('/jobs/', 2), 'Cancel'],
    ['/', 'Keyboard shortcuts'],
    ['/', 'Go to'],
  ]
}

async function openDialog(page: Page, path: string, button: string): Promise<void> {
  await visit(page, path)
  await page.getByRole('button', { name: button }).first().click()
  await page.getByRole('dialog').waitFor()
}

async function closeDialog(page: Page): Promise<void> {
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
}

const SCHEMES = ['light', 'dark'] as const

inBrowser('every page of the dashboard', () => {
  test('has no serious finding of axe, in light and in dark', { timeout: 180_000 }, async () => {
    const stage = await openStage()
    const paths = await furnish(stage)
    const found: string[] = []
    for (const colorScheme of SCHEMES) {
      const page = await stage.open('/', { colorScheme, reducedMotion: 'reduce' })
      for (const path of paths) {
        await visit(page, path)
        for (const finding of await seriousFindings(page)) found.push(`${path} in ${colorScheme}: ${finding}`)
      }
    }
    expect(found).toEqual([])
    expect(violations).toEqual([])
  })

  test('has dialogs without one, and so has the door', { timeout: 180_000 }, async () => {
    const stage = await openStage()
    const paths = await furnish(stage)
    const found: string[] = []
    for (const colorScheme of SCHEMES) {
      const page = await stage.open('/', { colorScheme, reducedMotion: 'reduce' })
      for (const [path, button] of dialogsOf(paths)) {
        await openDialog(page, path, button)
        for (const finding of await seriousFindings(page)) found.push(`${button} in ${colorScheme}: ${finding}`)
        await closeDialog(page)
      }
    }
    await stage.newKey('admin')
    for (const colorScheme of SCHEMES) {
      const page = await stage.open('/', { colorScheme, isLive: false })
      await page.getByLabel('API key').waitFor()
      for (const finding of await seriousFindings(page)) found.push(`login in ${colorScheme}: ${finding}`)
    }
    expect(found).toEqual([])
    expect(violations).toEqual([])
  })

  test('can be used at 360 px without scrolling sideways', async () => {
    const stage = await openStage()
    const paths = await furnish(stage)
    const page = await stage.open('/', { viewport: { width: 360, height: 740 } })
    for (const path of paths) {
      await visit(page, path)
      expect(await widthOf(page), path).toBeLessThanOrEqual(360)
    }
    for (const [path, button] of dialogsOf(paths).filter(([, name]) => !WIDE_ONLY.has(name))) {
      await openDialog(page, path, button)
      expect(await widthOf(page), button).toBeLessThanOrEqual(360)
      const box = await page.getByRole('dialog').boundingBox()
      expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 999) <= 360, button).toBe(true)
      await closeDialog(page)
    }
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name: 'Nodes', exact: true }).click()
    await page.getByRole('heading', { name: 'Nodes', exact: true }).waitFor()
  })
})
