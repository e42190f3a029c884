import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'

/** A folder that exists while the work does. */
export async function inFolder(parent, work) {
  const folder = mkdtempSync(join(parent, 'pawl-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A job type that does nothing and counts its bodies. */
export class Noop {
  /** Bodies so far. */
  count = 0
  #target = Number.POSITIVE_INFINITY
  #reached = () => {}
  #first = () => {}

  constructor() {
    this.type = defineJob({ type: 'noop', run: () => this.#run() })
  }

  #run() {
    this.count++
    this.#first()
    if (this.count >= this.#target) this.#reached()
  }

  /** Resolves when so many more bodies have begun. */
  whenMore(count) {
    this.#target = this.count + count
    return new Promise((resolve) => {
      this.#reached = resolve
    })
  }

  /** Resolves with the instant at which the next body begins. */
  whenNext() {
    return new Promise((resolve) => {
      this.#first = () => {
        this.#first = () => {}
        resolve(performance.now())
      }
    })
  }
}

export function openPawl(folder, jobs, options = {}) {
  const { driver, ...others } = options
  const store = sqlite(join(folder, 'pawl.db'), driver === undefined ? {} : { driver })
  return openScheduler({ store, jobs, ...others })
}

const LIST_LENGTH = 10_000

/** Fills the queue. Not measured. */
export async function fill(scheduler, type, count) {
  for (let done = 0; done < count; done += LIST_LENGTH) {
    const length = Math.min(LIST_LENGTH, count - done)
    await scheduler.enqueueMany(Array.from({ length }, (_, n) => ({ type, params: { n } })))
  }
}

/** Drains at least so many Jobs of a filled queue, from the start until the outcome of the last one is committed. */
export async function drainPortion(scheduler, noop, count) {
  const before = noop.count
  const enough = noop.whenMore(count)
  await scheduler.start()
  await enough
  await scheduler.stop()
  return noop.count - before
}
