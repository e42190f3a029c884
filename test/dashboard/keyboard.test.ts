import { expect, test, vi } from 'vitest'
import { inBrowser, loaded, openStage } from './dashboard-stage.ts'

const PATIENCE = { timeout: 15_000, interval: 20 }

const JUMPS: readonly (readonly [key: string, heading: string])[] = [
  ['j', 'Jobs'],
  ['g', 'Groups'],
  ['d', 'Direct'],
  ['s', 'Schedules'],
  ['t', 'Templates'],
  ['w', 'Webhooks'],
  ['n', 'Nodes'],
  ['p', 'Operations'],
  ['a', 'Audit'],
  ['k', 'Keys'],
  ['o', 'Overview'],
]

inBrowser('the keyboard in the dashboard', () => {
  test('jumps to every page, and says how', async () => {
    const stage = await openStage()
    const page = await stage.open('/')
    for (const [key, heading] of JUMPS) {
      await page.keyboard.press('g')
      await page.keyboard.press(key)
      await page.getByRole('heading', { name: heading, exact: true, level: 1 }).waitFor()
    }
    await page.keyboard.press('?')
    const help = page.getByRole('dialog')
    for (const [, heading] of JUMPS) await help.getByText(heading, { exact: true }).waitFor()
    // In a dialog, letters are letters.
    await page.keyboard.press('g')
    await page.keyboard.press('j')
    expect(new URL(page.url()).pathname).toBe('/')
    await page.keyboard.press('Escape')
    await help.waitFor({ state: 'detached' })
  })

  test('goes through rows, selects, opens and searches', async () => {
    const stage = await openStage({ isStarted: false })
    for (const name of ['one', 'two', 'three']) await stage.client.jobs.enqueue({ type: 'echo', name, params: {} })
    const page = await stage.open('/jobs?tab=queued')
    await page.locator('[data-row]').nth(2).waitFor()
    const at = () => page.locator('tr.at .lead a').innerText()
    for (const [key, name] of [
      ['j', 'one'],
      ['j', 'two'],
      ['j', 'three'],
      ['j', 'three'],
      ['k', 'two'],
    ] as const) {
      await page.keyboard.press(key)
      await vi.waitFor(async () => expect(await at()).toBe(name), PATIENCE)
    }
    await page.keyboard.press('x')
    await page.getByText('1 selected').waitFor()
    await page.keyboard.press('x')
    await page.getByText('1 selected').waitFor({ state: 'detached' })
    await page.keyboard.press('/')
    await page.locator('[data-search]:focus').waitFor()
    // Typed, not done.
    await page.keyboard.type('jkx?')
    expect(await page.locator('[data-search]').inputValue()).toBe('jkx?')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'two' }).waitFor()
    await page.goBack()
    await page.locator('[data-row]').nth(2).waitFor()
  })

  test('opens the palette, which goes to pages, jobs, types and tags', async () => {
    const stage = await openStage()
    await stage.client.jobs.enqueue({ type: 'echo', name: 'tagged', params: {}, tags: ['vip'] })
    const page = await stage.open('/')
    await loaded(page)
    const choose = async (text: string) => {
      await page.keyboard.press('Control+k')
      await page.locator('.palette input:focus').waitFor()
      await page.keyboard.type(text)
      await page
        .getByRole('option', { name: new RegExp(text, 'i') })
        .first()
        .waitFor()
    }
    await choose('schedu')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Schedules', exact: true }).waitFor()
    await choose('vip')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'tagged' }).waitFor()
    await page.waitForURL('**tag=vip*')
    // A part of its name is enough.
    await choose('ech')
    await page.getByRole('option', { name: 'Jobs of type echo' }).waitFor()
    await page.keyboard.press('Enter')
    await vi.waitFor(() => expect(page.url()).toMatch(/type=echo$/), PATIENCE)
    await choose('dark theme')
    await page.keyboard.press('Enter')
    await vi.waitFor(
      async () => expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark'),
      PATIENCE,
    )
  })

  test('reaches what is on the page by Tab, and sees where it is', async () => {
    const stage = await openStage()
    const page = await stage.open('/')
    await loaded(page)
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toContain('Skip to content')
    await page.keyboard.press('Enter')
    await page.locator('#content:focus').waitFor()
    await page.keyboard.press('Tab')
    const outline = await page.evaluate(
      "(({ outlineStyle, outlineWidth }) => outlineStyle + ' ' + outlineWidth)(getComputedStyle(document.activeElement))",
    )
    expect(outline).toMatch(/^solid [1-9]/)
  })
})
