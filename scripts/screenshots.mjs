// `npm run screenshots`: fills a database with a believable day and makes pictures of every page, light and dark, into docs/images/.
//   node scripts/screenshots.mjs --only jobs,job --theme light --into /tmp/pictures
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
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
const executablePath = chromiumPath()
if (executablePath === null) {
  console.error('No Chromium was found. Install one: apt-get install -y chromium, or name it in PAWL_CHROMIUM.')
  process.exit(1)
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
  const pages = await fillPresent(client, `http://127.0.0.1:${receiver.address().port}`)
  const wanted = values.only?.split(',')
  for (const theme of values.theme ? [values.theme] : ['light', 'dark']) {
    const context = await browser.newContext({
      viewport: { width, height: 800 },
      colorScheme: theme,
      locale: 'en-GB',
      timezoneId: 'Europe/Vienna',
    })
    for (const { name, path, ready, act } of pages) {
      if (wanted && !wanted.includes(name)) continue
      const page = await context.newPage()
      await page.goto(new URL(path, server.url).href)
      await page.locator(ready).first().waitFor()
      await page.locator('.live[data-state="live"]').waitFor()
      while ((await page.locator('main [aria-busy]').count()) > 0) await sleep(50)
      await act?.(page)
      const height = Math.min(HEIGHT_MAX, await page.evaluate(() => document.documentElement.scrollHeight))
      await page.screenshot({
        path: join(into, `${name}-${theme}.png`),
        clip: { x: 0, y: 0, width, height: Math.max(560, height) },
        fullPage: true,
      })
      await page.close()
      console.log(`${name}-${theme}.png`)
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
