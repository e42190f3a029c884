// A database in which every table has something to show, and every kind of Job: what the checks must find right.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineJob } from '../../src/library/define-job.ts'
import type { StoreSource } from '../../src/store/store.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { openTestScheduler, SettableClock } from '../../src/testing/index.ts'

const SECOND = 1_000
const HOUR = 3_600_000

export interface LivelyDatabase {
  /** A copy of the database, taken while its node lived and bodies executed. */
  readonly path: string
  /** The instant at which it was taken. */
  readonly now: number
  remove(): void
}

/** All Jobs have names; `ended` and the like say what has become of them when the copy is taken. */
export async function makeLivelyDatabase(): Promise<LivelyDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-doctor-'))
  const path = join(folder, 'copy.db')
  const source = sqlite(join(folder, 'pawl.db'), { durability: 'process' })
  let now = 0
  await liveLively(source, async (store, at) => {
    now = at
    await store.backup(path)
  })
  return { path, now, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

type Store = Awaited<ReturnType<StoreSource['open']>>

/** Lives such a life on a store. `look` is called when everything is there, and its node lives until that is over. */
export async function liveLively(
  source: StoreSource,
  look: (store: Store, now: number) => Promise<void>,
): Promise<void> {
  const receiver = createServer((request, response) => {
    response.statusCode = request.url === '/deaf' ? 500 : 200
    response.end()
  })
  await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening))
  try {
    await live(source, `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`, look)
  } finally {
    receiver.close()
  }
}

async function live(
  source: StoreSource,
  url: string,
  look: (store: Store, now: number) => Promise<void>,
): Promise<void> {
  const clock = new SettableClock()
  const store = await source.open()
  const quick = defineJob({ type: 'quick', run: ({ params }) => params })
  const failing = defineJob({
    type: 'failing',
    run: () => {
      throw new Error('no')
    },
  })
  const picky = defineJob({ type: 'picky', run: ({ skip }) => skip('not hungry') })
  const training = defineJob({
    type: 'training',
    resources: ['gpu'],
    run: ({ signal }) =>
      new Promise<void>((resolve) => {
        clock.after(10 * HOUR, resolve)
        signal.addEventListener('abort', () => resolve())
      }),
  })
  const lingering = defineJob({
    type: 'lingering',
    timeoutMs: SECOND,
    run: () => new Promise<void>((resolve) => clock.after(10 * HOUR, resolve)),
  })
  const stage = await openTestScheduler({
    store: { open: async () => store, inspect: () => source.inspect() },
    clock,
    jobs: [quick, failing, picky, training, lingering],
    concurrency: 10,
    maxRunning: 20,
    resources: { gpu: 1 },
    webhooks: { allowPrivate: ['127.0.0.1'] },
    name: 'lively',
    // It ends while bodies execute, and says so.
    logger: { info() {}, warn() {}, error() {} },
    patienceMs: 100,
  })
  const { scheduler } = stage
  const noRetry = { retry: { maxRetries: 0 } } as const

  await scheduler.webhooks.create({ url: `${url}/all` })
  await scheduler.enqueue(quick, { n: 1 }, { name: 'ended', tags: ['red', 'blue'], idempotencyKey: 'first' })
  await scheduler.enqueue(quick, null, { name: 'told', webhookUrl: `${url}/own` })
  await scheduler.enqueue(picky, null, { name: 'skipped' })
  const failed = await scheduler.enqueue(failing, null, { name: 'failed', businessKey: 'tried' })
  await stage.advance('5m')
  await scheduler.retry((await failed.settled()).jobId)
  await stage.advance('5m')

  // What waits for others.
  const parent = await scheduler.enqueue(training, null, { name: 'parent', businessKey: 'the-model' })
  await stage.runUntilIdle()
  const dependsOn = [parent.jobId]
  const child = await scheduler.enqueue(quick, null, { name: 'child', dependsOn, tags: ['red'] })
  await scheduler.enqueue(quick, null, { name: 'grandchild', dependsOn: [child.jobId] })
  const lost = await scheduler.enqueue(failing, null, { name: 'lost', ...noRetry })
  await scheduler.enqueue(quick, null, { name: 'bereft', dependsOn: [lost.jobId] })
  await scheduler.enqueue(quick, null, { name: 'patient', dependsOn: [lost.jobId], onParentFailure: 'wait' })
  await scheduler.enqueue(quick, null, { name: 'released', dependsOn: [lost.jobId], onParentFailure: 'run' })
  await scheduler.enqueue(training, null, { name: 'ready', priority: 5 })
  await scheduler.enqueue(quick, null, { name: 'delayed', delayMs: HOUR, businessKey: 'later' })
  const unwanted = await scheduler.enqueue(quick, null, { name: 'unwanted', delayMs: HOUR, webhookUrl: `${url}/deaf` })
  await unwanted.cancel()
  await scheduler.operations.start({ kind: 'cancel', jobIds: [unwanted.jobId] })
  const aborted = await scheduler.enqueue(lingering, null, { name: 'aborted', timeoutMs: HOUR, ...noRetry })
  await stage.runUntilIdle()
  await aborted.cancel({ mode: 'abort' })

  const member = (type: string, name: string) => ({ type, params: null, name, ...noRetry })
  await scheduler.groups.create({ name: 'over', jobs: [member('quick', 'over 1'), member('failing', 'over 2')] })
  await scheduler.groups.create({
    name: 'in order',
    mode: 'sequential',
    jobs: [member('quick', 'order 1'), member('training', 'order 2'), member('quick', 'order 3')],
  })
  await scheduler.schedules.create({ name: 'often', type: 'training', everyMs: 60_000, overlap: 'skip' })
  await scheduler.schedules.create({ name: 'yearly', type: 'quick', cron: '0 0 1 1 *' })
  await stage.advance('2m')

  // A retry that waits for the body before it, and direct executions that are over, execute, and wait.
  await scheduler.enqueue(lingering, null, { name: 'timed out', retry: { maxRetries: 1 } })
  await scheduler.runDirect(quick, null)
  await scheduler.setLimit('type:lingering', 3)
  const executing = scheduler.runDirect(lingering, null).catch(() => {})
  const waiting = scheduler.runDirect(training, null).catch(() => {})
  await stage.advance('2s')
  await store.createKey(
    {
      keyId: 'key_1',
      name: 'someone',
      role: 'viewer',
      prefix: 'pk_1',
      createdBy: null,
      createdAt: clock.now(),
      expiresAt: null,
      revokedAt: null,
    },
    'a'.repeat(64),
  )
  await look(store, clock.now())
  await stage.close()
  await Promise.all([executing, waiting])
}
