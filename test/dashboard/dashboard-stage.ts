import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { chromiumPath } from '../../scripts/chromium.mjs'
import { createClient } from '../../src/client/index.ts'
import type { Role } from '../../src/domain/role.ts'
import { type HttpOptions, type HttpServer, serveHttp } from '../../src/http/index.ts'
import { defineJob } from '../../src/library/define-job.ts'
import { openScheduler } from '../../src/library/open-scheduler.ts'
import type { Scheduler } from '../../src/library/scheduler.ts'
import type { SchedulerOptions } from '../../src/library/scheduler-options.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { ROOT } from '../docs/markdown.ts'

const executablePath = chromiumPath()
const NO_BROWSER =
  'No Chromium was found, so the tests of the dashboard were NOT run. Install one (apt-get install -y chromium), or name it in PAWL_CHROMIUM.'

let browser: Browser
const closings: (() => unknown)[] = []

export function afterwards(work: () => unknown): void {
  closings.push(work)
}

afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close()
})

/** Tests in a real browser, one for the file. Without one, it says that they were not run. */
export function inBrowser(name: string, tests: () => void): void {
  if (executablePath === null) {
    console.warn(NO_BROWSER)
    describe(name, () => {
      test('in a real browser', (context) => context.skip(NO_BROWSER))
    })
    return
  }
  describe(name, () => {
    beforeAll(async () => {
      browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
    })
    afterAll(() => browser.close())
    tests()
  })
}

/** Bodies that run until a test lets them end. */
export class Gate {
  #open: () => void = () => {}
  readonly passed = new Promise<void>((resolve) => {
    this.#open = resolve
  })

  open(): void {
    this.#open()
  }

  wait(signal: AbortSignal): Promise<void> {
    return Promise.race([
      this.passed,
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    ])
  }
}

export const gate = { current: new Gate() }

const echo = defineJob({
  type: 'echo',
  run: ({ params, log }) => {
    log.info('echoing', { given: params })
    return params
  },
})
const fails = defineJob({
  type: 'fails',
  retry: { maxRetries: 0 },
  run: ({ params }) => {
    throw new Error((params as { message?: string } | null)?.message ?? 'it broke')
  },
})
const gated = defineJob({
  type: 'gated',
  async run({ signal, progress, log }) {
    log.info('waiting at the gate')
    progress(0.4, 'two of five')
    await gate.current.wait(signal)
    return 'through'
  },
})

const typed = defineJob({
  type: 'typed',
  params: z.object({
    name: z.string(),
    count: z.number().int().default(2),
    loud: z.boolean().optional(),
    mode: z.enum(['fast', 'slow']).optional(),
  }),
  run: ({ params }) => ({ greeted: params }),
})

export const TYPES = [echo, fails, gated, typed]

export interface Stage {
  readonly scheduler: Scheduler
  readonly server: HttpServer
  readonly client: ReturnType<typeof createClient>
  /** A page of the dashboard, loaded and live. */
  open(path: string, options?: OpenOptions): Promise<Page>
  newKey(role: Role): Promise<string>
}

export interface OpenOptions extends BrowserContextOptions {
  /** Waits for the page to be live. @default true */
  readonly isLive?: boolean
}

/** What the policy of the page refused, and what went wrong in it: nothing may. */
export const violations: string[] = []

export interface StageOptions {
  readonly isStarted?: boolean
  readonly scheduler?: Partial<SchedulerOptions>
  readonly http?: HttpOptions
}

export async function openStage({
  isStarted = true,
  scheduler: rest = {},
  http = {},
}: StageOptions = {}): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-dashboard-'))
  gate.current = new Gate()
  const scheduler = await openScheduler({
    store: sqlite(join(folder, 'pawl.db')),
    jobs: TYPES,
    concurrency: 2,
    webhooks: { allowPrivate: ['127.0.0.1'] },
    ...rest,
  })
  if (isStarted) await scheduler.start()
  const server = await serveHttp(scheduler, {
    port: 0,
    dashboard: join(ROOT, 'dist', 'dashboard'),
    ...http,
  })
  afterwards(async () => {
    gate.current.open()
    await server.close()
    await scheduler.close()
    rmSync(folder, { recursive: true, force: true })
  })
  let client = createClient({ server: server.url })
  return {
    scheduler,
    server,
    get client() {
      return client
    },
    open: (path, options) => openPage(server.url, path, options),
    async newKey(role) {
      const { key } = await client.keys.create({ name: role, role })
      if (role === 'admin') client = createClient({ server: server.url, apiKey: key })
      return key
    },
  }
}

export async function openPage(server: string, path: string, options: OpenOptions = {}): Promise<Page> {
  const { isLive = true, ...rest } = options
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...rest })
  afterwards(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(20_000)
  watch(page)
  await page.goto(new URL(path, server).href)
  if (isLive) await page.locator('.live[data-state="live"]').waitFor()
  return page
}

function watch(page: Page): void {
  page.on('console', (message) => {
    if (/content security policy|trusted ?types/i.test(message.text())) violations.push(message.text())
  })
  page.on('pageerror', (error) => violations.push(error.message))
  page.on('dialog', (dialog) => {
    violations.push(`a dialog opened: ${dialog.message()}`)
    void dialog.dismiss()
  })
}

/** Goes to another page of the dashboard as a link does, without loading all of it anew. */
export async function visit(page: Page, path: string): Promise<void> {
  await page.evaluate(
    `new Promise((resolve) => {
      history.pushState(null, '', ${JSON.stringify(path)})
      dispatchEvent(new PopStateEvent('popstate'))
      // Drawn, and what it lacks is asked for.
      requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)))
    })`,
  )
  await loaded(page)
}

/** Waits until nothing on the page is loading for the first time. */
export async function loaded(page: Page): Promise<void> {
  await page.locator('main').waitFor()
  const loading = page.locator('main [aria-busy="true"]')
  await vi.waitFor(async () => expect(await loading.count()).toBe(0), { timeout: 20_000, interval: 20 })
}
