// A process that asks for Jobs and executes them while its disk fails. Its argument is a file with a `BusyOrder`. What it hears
// it writes outside of the disk that fails.
import { openSync, readFileSync, writeSync } from 'node:fs'
import { openScheduler, PawlError, type Scheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import type { Act, Order } from '../power/acts.ts'
import { Client } from '../power/client.ts'
import { jobTypes, RESOURCES } from '../power/job-types.ts'
import { QuickClock, type QuickTime } from '../power/quick-clock.ts'
import type { Say } from '../power/said.ts'

export interface BusyOrder {
  /** The database. */
  readonly path: string
  /** For `Said` lines. */
  readonly log: string
  readonly acts: readonly Act[]
  /** What is asked for when the disk is sound again. It must be accepted. */
  readonly lastActs: readonly Act[]
  readonly clients: number
  readonly time: QuickTime
}

/** What it tells its parent. */
export type BusyReport = 'opened' | 'acts done'

const AGAIN_AFTER_MS = 20
const PATIENCE_MS = 40_000

const order = JSON.parse(readFileSync(process.argv[2] as string, 'utf8')) as BusyOrder
const clock = new QuickClock(order.time)
const log = openSync(order.log, 'a')
const say: Say = (line) => void writeSync(log, `${JSON.stringify({ ...line, at: clock.now() })}\n`)
const report = (what: BusyReport) => void process.send?.(what)
const healed = new Promise<void>((resolve) => process.once('message', () => resolve()))
let isHealed = false

/** The disk may refuse, but only in words of Pawl's, and nothing that was begun when it was sound again. */
function troubled(what: string, error: unknown, wasHealed: boolean, numbers: readonly number[] = []): void {
  if (error instanceof PawlError && !wasHealed)
    say({ is: 'refused', code: error.code, message: error.message, numbers })
  else say({ is: 'failed', act: what, message: error instanceof Error ? `${error.stack}` : String(error) })
}

function numbersOf(act: Act): number[] {
  if (act.kind === 'one') return act.key === undefined ? [act.request.order.n] : []
  return act.kind === 'many' || act.kind === 'group' ? act.requests.map((request) => request.order.n) : []
}

async function insist<T>(what: string, work: () => Promise<T>): Promise<T> {
  for (;;) {
    const wasHealed = isHealed
    try {
      return await work()
    } catch (error) {
      troubled(what, error, wasHealed)
      if (wasHealed) throw error
      await Promise.race([healed, new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER_MS))])
    }
  }
}

const open = () =>
  openScheduler({
    store: sqlite(order.path),
    clock,
    concurrency: 3,
    resources: RESOURCES,
    webhooks: { allowPrivate: ['127.0.0.1'] },
    shutdownTimeoutMs: 2_000,
    logger: { info: () => {}, warn: () => {}, error: () => {} },
    jobs: jobTypes({
      began: (jobId, runId) => say({ is: 'began', jobId, runId }),
      asked: (orders: readonly Order[]) => say({ is: 'asked', orders }),
      wait: (ms) => new Promise((resolve) => void clock.after(ms, resolve)),
    }),
  })

/** Null: nothing is left to do. Else what is. */
async function waitForQuiet(scheduler: Scheduler): Promise<string | null> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const queued = (await scheduler.listQueue({ limit: 5 })).map(({ jobId, hold }) => `${jobId} QUEUED ${hold ?? ''}`)
    const { items } = await scheduler.listJobs({ status: 'RUNNING', limit: 5 })
    const left = [...queued, ...items.map(({ jobId }) => `${jobId} RUNNING`)]
    if (left.length === 0 && scheduler.isQuiet) return null
    if (performance.now() > deadline) return left.join(', ')
    await new Promise((resolve) => setTimeout(resolve, AGAIN_AFTER_MS))
  }
}

void healed.then(() => {
  isHealed = true
})
const scheduler = await insist('open', open)
await insist('start', () => scheduler.start())
report('opened')
const client = await Client.open({
  scheduler,
  clock,
  say,
  path: order.path,
  webhookUrl: 'http://127.0.0.1:9/',
  // An outcome may wait for long until the disk takes it, so nothing is pruned that ended here.
  prunesBefore: order.time.epochAt,
  troubled: (act, error) => troubled(act.kind, error, order.lastActs.includes(act), numbersOf(act)),
})
const acts = order.acts[Symbol.iterator]()
await Promise.all(
  Array.from({ length: order.clients }, async () => {
    for (const act of acts) await client.perform(act)
  }),
)
report('acts done')
await healed
for (const act of order.lastActs) await client.perform(act)
const left = await waitForQuiet(scheduler)
if (left !== null) say({ is: 'failed', act: 'drain', message: `I15: it did not come to its end: ${left}` })
client.close()
await scheduler.close()
process.disconnect?.()
