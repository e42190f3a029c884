// `npm run screenshots`: fills a database with a believable day and makes pictures of every page, light and dark, into docs/images/.
//   node scripts/screenshots.mjs --only jobs,job --theme light --into /tmp/pictures
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createClient } from 'pawl/client'
import { serveHttp } from 'pawl/http'
import { chromium } from 'playwright-core'
import { chromiumPath } from './chromium.mjs'
import { withPalette } from './palette-png.mjs'
import { fillPresent, makePast, openPresent } from './screenshots-demo.mjs'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    theme: { type: 'string' },
    into: { type: 'string' },
    width: { type: 'string' },
    'no-past': { type: 'boolean' },
  },
})
const into = values.into ?? fileURLToPath(new URL('../docs/images', import.meta.url))
const width = Number(values.width ?? 1280)
/** Longer pages are cut: a picture shows what it is about in its upper part. */
const HEIGHT_MAX = 760
const HEIGHT_MIN = 600
/** The width of a phone. */
const NARROW = 360
const executablePath = chromiumPath()
if (executablePath === null) {
  console.error('No Chromium was found. Install one: apt-get install -y chromium, or name it in PAWL_CHROMIUM.')
  process.exit(1)
}

async function pictureOf(page, { name, path, ready, act, narrow }, key) {
  const own = narrow ? NARROW : width
  await page.setViewportSize({ width: own, height: 800 })
  await page.goto(new URL(path, server.url).href)
  if (key !== undefined && name !== 'login') {
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Log in' }).click()
  }
  await page.locator(ready).first().waitFor()
  if (name !== 'login') await page.locator('.live[data-state="live"]').waitFor()
  while ((await page.locator('main [aria-busy]').count()) > 0) await sleep(50)
  await act?.(page)
  await page.waitForFunction(() => [...document.images].every((image) => image.complete))
  // As high as what it shows: nobody needs a picture of an empty half.
  const content = await page.evaluate(
    () => document.querySelector('main > :last-child')?.getBoundingClientRect().bottom,
  )
  const height = Math.max(HEIGHT_MIN, Math.min(HEIGHT_MAX, Math.ceil((content ?? HEIGHT_MAX) + 24)))
  if (act === undefined) await page.setViewportSize({ width: own, height })
  return page.screenshot({ clip: { x: 0, y: 0, width: own, height: act === undefined ? height : HEIGHT_MAX } })
}

const folder = mkdtempSync(join(tmpdir(), 'pawl-screenshots-'))
mkdirSync(into, { recursive: true })
const receiver = createServer((request, response) => {
  response.statusCode = request.url === '/broken' ? 500 : 204
  response.end()
})
await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve))
const file = join(folder, 'shop.db')
if (!values['no-past']) await makePast(file, Date.now())
const scheduler = await openPresent(file)
await scheduler.start()
const server = await serveHttp(scheduler, { port: 0, dashboard: true })
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-lcd-text'] })
try {
  const client = createClient({ server: server.url })
  const converter = await browser.newPage()
  const pages = await fillPresent(client, `http://127.0.0.1:${receiver.address().port}`)
  const wanted = values.only?.split(',')
  const themes = values.theme ? [values.theme] : ['light', 'dark']
  const shown = pages.filter(({ name }) => wanted === undefined || wanted.includes(name))
  for (const theme of themes)
    await makePictures(
      theme,
      shown.filter(({ needsKey }) => !needsKey),
    )
  // From the first key on, the page asks for one: so these come last.
  const { key } = await client.keys.create({ name: 'ada', role: 'admin' })
  const admin = createClient({ server: server.url, apiKey: key })
  for (const [name, role] of [
    ['ci', 'operator'],
    ['wall-screen', 'viewer'],
  ])
    await admin.keys.create({ name, role })
  for (const theme of themes)
    await makePictures(
      theme,
      shown.filter(({ needsKey }) => needsKey),
      key,
    )

  async function makePictures(theme, some, key) {
    const context = await browser.newContext({
      viewport: { width, height: 800 },
      colorScheme: theme,
      locale: 'en-GB',
      timezoneId: 'Europe/Vienna',
    })
    for (const one of some) {
      const page = await context.newPage()
      const file = `${one.name}-${theme}.png`
      writeFileSync(join(into, file), await withPalette(converter, await pictureOf(page, one, key)))
      await page.close()
      console.log(file)
    }
    await context.close()
  }
} finally {
  await browser.close()
  await server.close()
  await scheduler.close({ timeoutMs: 100 }).catch(() => {})
  receiver.close()
  rmSync(folder, { recursive: true, force: true })
}
process.exit(0)
