import { openScheduler, type Scheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import type { Order } from './acts.ts'
import { jobTypes, RESOURCES } from './job-types.ts'
import { QuickClock, sharedNow } from './quick-clock.ts'
import { inText, type Testimony } from './testimony.ts'

const SPEED = 400
const PATIENCE_MS = 60_000
const LOOK_EVERY_MS = 10
const KEYS_MAX = 5

/** Goes on where the power failed: everything that was accepted must come to its end, and keys must mean what they meant. */
export async function drainImage(path: string, testimony: Testimony, now: number): Promise<string[]> {
  const clock = new QuickClock({ epochAt: now, setAt: sharedNow(), speed: SPEED })
  const scheduler = await openScheduler({
    store: sqlite(path),
    clock,
    concurrency: 8,
    resources: RESOURCES,
    logger: { info: () => {}, warn: () => {}, error: () => {} },
    jobs: jobTypes({
      began: () => {},
      asked: (orders: readonly Order[]) => orders.forEach((order) => testimony.asked.set(order.n, inText(order))),
      wait: (ms) => new Promise((resolve) => void clock.after(ms, resolve)),
    }),
  })
  try {
    const told = await repeatKeys(scheduler, testimony)
    await endSchedules(scheduler)
    await scheduler.start()
    const left = await waitForQuiet(scheduler)
    return left === null ? told : [...told, `I15: after ${PATIENCE_MS} ms it had not come to its end: ${left}`]
  } finally {
    await scheduler.close()
  }
}

async function repeatKeys(scheduler: Scheduler, testimony: Testimony): Promise<string[]> {
  const told: string[] = []
  const keyed = [...testimony.accepted].filter(([, { key }]) => key !== null).slice(-KEYS_MAX)
  for (const [jobId, { n, type, key }] of keyed) {
    const order: unknown = JSON.parse(testimony.asked.get(n) ?? 'null')
    const outcome = await scheduler.enqueue(type, order, { idempotencyKey: key as string }).then(
      (handle) => handle.jobId,
      (error: unknown) => String(error),
    )
    if (outcome !== jobId) told.push(`I10: key ${key} meant Job ${jobId}, and is now answered by ${outcome}.`)
  }
  return told
}

/** They would make Jobs for ever. */
async function endSchedules(scheduler: Scheduler): Promise<void> {
  const { items } = await scheduler.schedules.list({ limit: 200 })
  for (const { scheduleId } of items) await scheduler.schedules.disable(scheduleId)
}

/** Null: nothing is left to do. Else what is. */
async function waitForQuiet(scheduler: Scheduler): Promise<string | null> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const queued = (await scheduler.listQueue({ limit: 5 })).map(({ jobId, hold }) => `${jobId} QUEUED ${hold ?? ''}`)
    const running = (await scheduler.listJobs({ status: 'RUNNING', limit: 5 })).items.map(
      ({ jobId }) => `${jobId} RUNNING`,
    )
    const left = [...queued, ...running]
    if (left.length === 0 && scheduler.isQuiet) return null
    if (performance.now() > deadline) return left.join(', ')
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}
