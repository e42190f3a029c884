// What the pictures show: a shop on an ordinary day, with an hour behind it and some trouble in it.
import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob, NonRetryableError, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler, SettableClock } from 'pawl/testing'
import { z } from 'zod'

const MINUTE_MS = 60_000

/** A command of somebody else's, with something to say. */
const BACKUP = `
const tables = ['customers', 'orders', 'order_lines', 'invoices', 'payments']
console.log('pg_dump: last built-in OID is 16383')
for (const name of tables) console.log('pg_dump: dumping contents of table "public.' + name + '"')
console.error('pg_dump: warning: there are circular foreign-key constraints on this table: order_lines')
console.log('wrote /srv/backup/shop.dump, 412,118,016 bytes')`

/** In the past, bodies take virtual time; now they run until they are told otherwise. */
function jobTypes(wait) {
  const customer = z.object({ customer: z.string(), order_id: z.number().int().optional() })
  return [
    defineJob({
      type: 'email.send',
      params: z.object({ to: z.string(), subject: z.string(), attempt_limit: z.number().int().default(3) }),
      retry: { maxRetries: 3, backoff: { kind: 'exponential', baseMs: 20_000 } },
      async run({ params, log, signal }) {
        log.info(`connecting to smtp.internal for ${params.to}`)
        await wait(400, signal)
        if (params.to.endsWith('@bounce.example')) throw new Error(`550 5.1.1 mailbox ${params.to} unavailable`)
        return { message_id: `<${params.to.length}.${params.subject.length}@mail.shop.example>`, bytes: 48_213 }
      },
    }),
    defineJob({
      type: 'invoice.render',
      params: customer,
      retry: { maxRetries: 2, backoff: { kind: 'fixed', delayMs: 30_000 } },
      async run({ params, addArtifact, signal, log }) {
        log.info('rendering', { pages: 3, template: 'invoice-2026' })
        await wait(2_600, signal)
        if (params.customer === 'Umbrella GmbH')
          throw new TypeError("Cannot read properties of undefined (reading 'vat_id')")
        addArtifact(`/srv/invoices/${params.order_id}.pdf`)
        return { file: `/srv/invoices/${params.order_id}.pdf`, total_cents: 1_299_00, ledger_entry: 7 }
      },
    }),
    defineJob({
      type: 'video.transcode',
      params: z.object({ file: z.string(), preset: z.enum(['720p', '1080p', '4k']).default('1080p') }),
      timeoutMs: 45 * MINUTE_MS,
      resources: ['gpu'],
      async run({ params, progress, log, signal }) {
        log.info(`probing ${params.file}`)
        for (let frame = 1; frame <= 40; frame++) {
          await wait(4_000, signal)
          progress(frame / 40, `pass 1, frame ${frame * 155} of 6200`)
          log.debug(`frame ${frame * 155} encoded`, { fps: 61.4, bitrate_kbps: 5_810 })
          if (frame === 7) log.warn('keyframe distance is above 250, inserting one')
        }
        return { file: params.file.replace('.mov', '.mp4') }
      },
    }),
    defineJob({
      type: 'search.index',
      params: z.object({ collection: z.string() }),
      async run({ params, skip, signal }) {
        await wait(900, signal)
        if (params.collection === 'archive') return skip('nothing has changed since the last index')
        return { documents: 18_412 }
      },
    }),
    defineJob({
      type: 'report.build',
      params: z.object({ month: z.string() }),
      timeoutMs: 20_000,
      retry: { maxRetries: 1 },
      async run({ params, signal }) {
        if (params.month === '2026-02') await wait(60_000, signal)
        // The close of a month takes its time, so that a picture of it shows some of it under way.
        await wait(params.month === '2026-11' ? 11_000 : 3_400, signal)
        return { rows: 9_007, month: params.month }
      },
    }),
    defineJob({
      type: 'backup.dump',
      command: [process.execPath, '-e', BACKUP],
    }),
    defineJob({
      type: 'payment.capture',
      params: z.object({ order_id: z.number().int(), amount_cents: z.number().int() }),
      async run({ params, signal }) {
        await wait(700, signal)
        if (params.amount_cents > 900_000) throw new NonRetryableError('card_declined: insufficient funds')
        return { captured: true }
      },
    }),
  ]
}

const CUSTOMERS = ['Hooli', 'Initech', 'Stark & Daughters', 'Wayne Logistics', 'Acme', 'Vandelay Imports', 'Soylent AG']

function minuteOfOrders(minute) {
  const jobs = []
  const busy = 1 + Math.round(1 + Math.sin(minute / 6))
  for (let index = 0; index < busy; index++) {
    const order = 40_000 + minute * 20 + index
    const customer = CUSTOMERS[(order * 7) % CUSTOMERS.length]
    const tags = index % 3 === 0 ? ['eu', 'vip'] : ['eu']
    jobs.push({
      type: 'payment.capture',
      name: `order ${order}`,
      params: { order_id: order, amount_cents: (order * 977) % 240_000 },
      priority: 10,
      tags,
    })
    jobs.push({ type: 'invoice.render', name: `invoice ${order}`, params: { customer, order_id: order }, tags })
    const to = `${customer.split(' ')[0].toLowerCase()}${index}@${(order * 31) % 29 === 0 ? 'bounce' : 'mail'}.example`
    jobs.push({
      type: 'email.send',
      name: `receipt for ${customer}`,
      params: { to, subject: `Your order ${order}` },
      tags: ['receipt'],
    })
  }
  if (minute % 15 === 0)
    jobs.push({ type: 'search.index', params: { collection: minute % 30 === 0 ? 'archive' : 'products' } })
  if (minute % 17 === 3)
    jobs.push({ type: 'payment.capture', name: 'order 51007', params: { order_id: 51_007, amount_cents: 950_000 } })
  if (minute % 19 === 4)
    jobs.push({
      type: 'invoice.render',
      name: 'invoice for Umbrella',
      params: { customer: 'Umbrella GmbH', order_id: 48_000 + minute },
    })
  return jobs
}

async function enqueueAll(scheduler, jobs) {
  await scheduler.enqueueMany(jobs.map(({ type, params, ...options }) => ({ type, params, ...options })))
}

/** An hour and a bit, in virtual time. */
export async function makePast(file, untilMs) {
  const minutes = 64
  const clock = new SettableClock(untilMs - minutes * MINUTE_MS)
  const wait = (ms, signal) =>
    new Promise((resolve, reject) => {
      clock.after(Math.round(ms * (0.6 + Math.random() * 0.9)), resolve)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  const test = await openTestScheduler({
    store: sqlite(file),
    clock,
    jobs: jobTypes(wait),
    concurrency: 8,
    resources: { gpu: 1 },
    patienceMs: 2,
  })
  await test.scheduler.schedules.create({
    name: 'product search',
    type: 'search.index',
    everyMs: 5 * MINUTE_MS,
    paramOverrides: { collection: 'products' },
  })
  for (let minute = 0; minute < minutes - 1; minute++) {
    await enqueueAll(test.scheduler, minuteOfOrders(minute))
    if (minute === 40)
      await enqueueAll(test.scheduler, [{ type: 'report.build', name: 'February', params: { month: '2026-02' } }])
    await test.advance(MINUTE_MS)
  }
  await test.close()
}

/** And now: things run, wait, and are late. */
export async function openPresent(file) {
  const wait = (ms, signal) => sleep(ms, undefined, { signal })
  const scheduler = await openScheduler({
    store: sqlite(file),
    name: 'shop-1',
    jobs: jobTypes(wait),
    concurrency: 4,
    resources: { gpu: 1 },
    webhooks: { allowPrivate: ['127.0.0.1'] },
  })
  return scheduler
}

/** Enqueues what is to be seen, and says which pages to look at. */
export async function fillPresent(client, receiver) {
  await client.webhooks.create({ url: `${receiver}/orders`, name: 'order service', events: ['job.settled'] })
  await client.webhooks.create({
    url: `${receiver}/broken`,
    name: 'legacy CRM',
    events: ['job.run.failed'],
    job_types: ['payment.capture'],
  })
  const template = await client.templates.create({
    name: 'monthly report',
    job_type: 'report.build',
    default_params: { month: '2026-10' },
    description: 'What the board wants to see',
  })
  await client.templates.create({
    name: 'trailer',
    job_type: 'video.transcode',
    default_params: { file: 'trailer.mov', preset: '4k' },
  })
  const nightly = await client.schedules.create({
    name: 'nightly report',
    template_id: template.template_id,
    cron: '30 2 * * *',
    timezone: 'Europe/Vienna',
    overlap: 'skip',
  })
  const weekly = await client.schedules.create({
    name: 'archive index',
    type: 'search.index',
    cron: '0 6 * * 1-5',
    timezone: 'America/New_York',
    param_overrides: { collection: 'archive' },
  })
  await client.schedules.disable(weekly.schedule_id)
  await client.schedules.trigger(weekly.schedule_id)

  const film = await client.jobs.enqueue({
    type: 'video.transcode',
    name: 'keynote.mov',
    params: { file: 'keynote.mov', preset: '4k' },
    priority: 5,
    tags: ['media', 'vip'],
  })
  await client.jobs.enqueue({
    type: 'video.transcode',
    name: 'interview.mov',
    params: { file: 'interview.mov' },
    tags: ['media'],
  })
  const failing = await client.jobs
    .enqueue({
      type: 'email.send',
      name: 'receipt for Globex',
      params: { to: 'ap@bounce.example', subject: 'Your order 41337', ledger: 1 },
      tags: ['receipt'],
      retry_policy: { max_retries: 3, backoff: { kind: 'fixed', delay_ms: 200 } },
    })
    .catch(() => null)
  const mail =
    failing ??
    (await client.jobs.enqueue({
      type: 'email.send',
      name: 'receipt for Globex',
      params: { to: 'ap@bounce.example', subject: 'Your order 41337' },
      tags: ['receipt'],
      retry_policy: { max_retries: 3, backoff: { kind: 'fixed', delay_ms: 400 } },
    }))
  const backup = await client.jobs.enqueue({
    type: 'backup.dump',
    name: 'nightly backup',
    params: null,
    priority: 6,
    tags: ['ops'],
  })
  const group = await client.groups.create({
    name: 'November close',
    mode: 'parallel',
    on_failure: 'continue',
    jobs: [
      { ref: 'books', type: 'report.build', name: 'close the books', params: { month: '2026-11' } },
      { ref: 'vat', type: 'report.build', name: 'VAT return', params: { month: '2026-11' }, depends_on: ['#books'] },
      { ref: 'margin', type: 'report.build', name: 'margins', params: { month: '2026-11' }, depends_on: ['#books'] },
      {
        ref: 'board',
        type: 'report.build',
        name: 'board pack',
        params: { month: '2026-11' },
        depends_on: ['#vat', '#margin'],
      },
      {
        type: 'email.send',
        name: 'send to the board',
        params: { to: 'board@mail.example', subject: 'November' },
        depends_on: ['#board'],
      },
      { type: 'search.index', name: 'index the pack', params: { collection: 'reports' }, depends_on: ['#board'] },
    ],
  })
  for (let index = 0; index < 14; index++) {
    await client.jobs.enqueue({
      type: index % 4 === 3 ? 'video.transcode' : 'invoice.render',
      name: index % 4 === 3 ? `clip-${index}.mov` : `invoice ${52_000 + index}`,
      params:
        index % 4 === 3
          ? { file: `clip-${index}.mov` }
          : { customer: CUSTOMERS[index % CUSTOMERS.length], order_id: 52_000 + index },
      tags: index % 4 === 3 ? ['media'] : ['eu'],
      ...(index > 8 && { run_at: new Date(Date.now() + index * 4 * MINUTE_MS).toISOString() }),
    })
  }
  await client.direct('search.index', { params: { collection: 'products' } })
  await client.direct('payment.capture', { params: { order_id: 1, amount_cents: 990_000 } }).catch(() => {})
  await settled(client, mail.job_id)
  await client.operations.start({ kind: 'retry', filter: { type: 'invoice.render', outcome: 'FAILED' } })
  await client.operations.start({
    kind: 'cancel',
    filter: { tag: 'media', status: 'QUEUED' },
    reason: 'the studio is closed',
  })
  await client.operations.start({ kind: 'retry', filter: { tag: 'media', status: 'CANCELLED' } })
  await client.groups.create({
    name: 'welcome series',
    mode: 'sequential',
    jobs: ['Welcome', 'How it works', 'Anything we can do?'].map((subject) => ({
      type: 'email.send',
      name: subject,
      params: { to: 'initech1@mail.example', subject },
      priority: 4,
    })),
  })
  const [schedule] = (await client.schedules.list({})).items.toReversed()
  return [
    { name: 'overview', path: '/', ready: '[data-health]' },
    { name: 'jobs', path: '/jobs', ready: '[data-row]' },
    { name: 'queue', path: '/jobs?tab=queued', ready: '[data-row]' },
    { name: 'job-running', path: `/jobs/${film.job_id}`, ready: '[data-why]' },
    { name: 'job-failed', path: `/jobs/${mail.job_id}`, ready: '[data-why]' },
    { name: 'job-command', path: `/jobs/${backup.job_id}`, ready: '[aria-label=output]' },
    { name: 'group', path: `/groups/${group.group_id}`, ready: '.graph' },
    { name: 'phone', path: `/jobs/${mail.job_id}`, ready: '[data-why]', narrow: true },
    { name: 'schedules', path: '/schedules', ready: '[data-row]' },
    { name: 'schedule', path: `/schedules/${schedule.schedule_id}`, ready: '.slots' },
    {
      name: 'schedule-edit',
      path: `/schedules/${nightly.schedule_id}`,
      ready: '.slots',
      act: async (page) => {
        await page.getByRole('button', { name: 'Edit' }).click()
        await page.getByLabel('Cron').fill(`30 2 ${lastSundayOfMarch()} 3 *`)
        await page.locator('[data-preview] .dst').waitFor()
      },
    },
    { name: 'templates', path: '/templates', ready: '[data-row]' },
    {
      name: 'bulk',
      path: '/jobs?tab=failed&type=email.send',
      ready: '[data-row]',
      act: async (page) => {
        await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
        await page.getByRole('region', { name: 'Selected jobs' }).getByRole('button', { name: 'Retry' }).click()
        await page.locator('[data-dry-run] strong').waitFor()
      },
    },
    { name: 'operations', path: '/operations', ready: '[data-row]' },
    { name: 'groups', path: '/groups', ready: '[data-row]' },
    { name: 'direct', path: '/direct?type=video.transcode', ready: '[data-row]' },
    { name: 'webhooks', path: '/webhooks', ready: '[data-row]' },
    { name: 'nodes', path: '/nodes', ready: '[data-row]' },
    { name: 'audit', path: '/audit', ready: '[data-row]' },
    { name: 'login', path: '/', ready: 'form', needsKey: true },
    { name: 'keys', path: '/keys', ready: '[data-row]', needsKey: true },
  ]
}

/** Of the next March: then clocks are set forward in Vienna, and half past two does not come. */
function lastSundayOfMarch() {
  const now = new Date()
  const year = now.getUTCFullYear() + (now.getUTCMonth() > 1 ? 1 : 0)
  return 31 - new Date(Date.UTC(year, 2, 31)).getUTCDay()
}

async function settled(client, jobId) {
  for (;;) {
    const chain = await client.jobs.chain(jobId)
    if (chain.settled || chain.items.length > 3) return
    await sleep(100)
  }
}
