// How soon the pages of the dashboard stand with a million jobs in the store, in a real Chromium.
//   npm run build && node bench/dashboard.mjs
//   node bench/dashboard.mjs --jobs 100000 --rounds 3 --dir /somewhere
// Ends with 1 if the Jobs page needs a second or more, or a search neither answers nor says that it was limited.
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { defineJob } from 'pawl'
import { serveHttp } from 'pawl/http'
import { chromium } from 'playwright-core'
import { chromiumPath } from '../scripts/chromium.mjs'
import { fillWithHistory } from './big-store.mjs'
import { openPlain } from './driver.mjs'
import { inFolder, Noop, openPawl } from './stage.mjs'

const JOBS_PAGE_MAX_MS = 1_000

const { values } = parseArgs({
  options: { jobs: { type: 'string' }, rounds: { type: 'string' }, dir: { type: 'string' } },
})
const jobs = Number(values.jobs ?? 1_000_000)
const rounds = Number(values.rounds ?? 5)

/** What stands for "it is there": rows, or the words for each kind of nothing. */
const THERE = 'main [data-row], main [data-empty], main [data-limited], main [data-health], main [data-why]'

/** @type {[name: string, path: string | ((jobId: string) => string), isJudged?: boolean][]} */
const PAGES = [
  ['Jobs', '/jobs', true],
  ['Jobs, queued', '/jobs?tab=queued', true],
  ['Jobs, completed', '/jobs?tab=completed', true],
  ['Jobs, failed', '/jobs?tab=failed', true],
  ['Jobs, cancelled (none)', '/jobs?tab=cancelled', true],
  ['Search: type', '/jobs?type=noop'],
  ['Search: tag', '/jobs?tag=batch'],
  ['Search: tag and failed', '/jobs?tab=failed&tag=batch'],
  ['Search: params, none matches', '/jobs?params_path=n&params_value=never'],
  ['Search: error, none matches', '/jobs?error=never'],
  ['Search: error', '/jobs?tab=failed&error=upstream'],
  ['Search: before the first', '/jobs?created_before=2001-01-01T00%3A00%3A00.000Z'],
  ['Overview', '/'],
  ['A job', (id) => `/jobs/${id}`],
  ['Schedules', '/schedules'],
  ['Groups', '/groups'],
  ['Webhooks', '/webhooks'],
  ['Audit', '/audit'],
]

const executablePath = chromiumPath()
if (executablePath === null) {
  console.error('No Chromium was found. Install one: apt-get install -y chromium, or name it in PAWL_CHROMIUM.')
  process.exit(1)
}
process.exitCode = await inFolder(values.dir ?? tmpdir(), measure)

async function measure(parent) {
  const folder = join(parent, 'store')
  mkdirSync(folder)
  const noop = new Noop()
  const types = [noop.type, defineJob({ type: 'busy', run: () => {} })]
  const first = await openPawl(folder, types)
  const { jobId } = await first.enqueue(noop.type, { n: 1 })
  await first.enqueue('busy', { n: 1 })
  await first.close()
  console.log(`building a store with ${jobs.toLocaleString('en')} jobs, a tenth of them queued`)
  fillWithHistory(join(folder, 'pawl.db'), { finished: jobs * 0.9, queued: jobs * 0.1 })
  makeSomeFail(join(folder, 'pawl.db'))
  const scheduler = await openPawl(folder, types)
  const server = await serveHttp(scheduler, { port: 0, dashboard: true })
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  try {
    return await report(browser, server.url, jobId)
  } finally {
    await browser.close()
    await server.close()
    await scheduler.close()
  }
}

/** Every hundredth of what has ended, with an error; every tenth has a tag. */
function makeSomeFail(path) {
  const database = openPlain(path)
  database.exec(`
    pragma synchronous = off;
    update pawl_runs set status = 'FAILED', reason = 'error', error = 'Error: upstream answered 503' where seq % 100 = 0;
    update pawl_jobs set tags = '["batch"]' where seq % 10 = 0;
    insert into pawl_job_tags (tag, seq) select 'batch', seq from pawl_jobs where seq % 10 = 0;
    pragma wal_checkpoint(truncate)`)
  database.close()
}

async function report(browser, url, jobId) {
  let isGood = true
  const rows = []
  for (const [name, path, isJudged = false] of PAGES) {
    const shown = []
    let answer = ''
    for (let round = 0; round < rounds; round++) {
      const seen = await look(browser, new URL(typeof path === 'string' ? path : path(jobId), url).href)
      shown.push(seen)
      answer = seen.answer
    }
    const paintMs = median(shown.map((seen) => seen.paintMs))
    const shownMs = median(shown.map((seen) => seen.shownMs))
    if (isJudged && shownMs >= JOBS_PAGE_MAX_MS) isGood = false
    if (answer === '') isGood = false
    rows.push(`| ${name} | ${Math.round(paintMs)} | ${Math.round(shownMs)} | ${answer} |`)
    console.log(rows.at(-1))
  }
  const head = ['| Page | first paint, ms | what it shows is there, ms | it shows |', '|---|---:|---:|---|']
  console.log(`\n${[...head, ...rows].join('\n')}\n`)
  console.log(isGood ? 'pass: the Jobs pages stand within a second' : 'FAIL')
  return isGood ? 0 : 1
}

/** Opens the address as somebody who has never been there, with nothing cached. */
async function look(browser, address) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  try {
    const page = await context.newPage()
    await page.addInitScript(watchFor, THERE)
    await page.goto(address)
    await page.waitForFunction(() => window.shownAt !== undefined, undefined, { timeout: 60_000 })
    return await page.evaluate(() => ({
      paintMs: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? window.shownAt,
      shownMs: window.shownAt,
      answer: [
        document.querySelectorAll('main [data-row]').length > 0 &&
          `${document.querySelectorAll('main [data-row]').length} rows`,
        document.querySelector('main [data-empty]')?.getAttribute('data-empty'),
        document.querySelector('main [data-limited]') !== null && 'says that it was limited',
        document.querySelector('main [data-why]') !== null && 'why',
        document.querySelector('main [data-health]')?.textContent,
      ]
        .filter(Boolean)
        .join(', '),
    }))
  } finally {
    await context.close()
  }
}

/** Runs in the page, before anything of it: the moment when what is looked for is there and has been drawn. */
function watchFor(selector) {
  const watcher = new MutationObserver(() => {
    if (document.querySelector(selector) === null) return
    watcher.disconnect()
    requestAnimationFrame(() => {
      window.shownAt = performance.now()
    })
  })
  watcher.observe(document, { childList: true, subtree: true })
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1]
}
