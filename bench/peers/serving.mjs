// The side of a system that is measured, in its own process: the clock runs here, so that no message between processes counts.
import { setTimeout as sleep } from 'node:timers/promises'
import { answer, options } from './answering.mjs'

const FILL_LENGTH = 1_000
/** More than this between two bodies means that it hangs, and a figure would be of no use. */
const GIVES_UP_AFTER_MS = 60_000

/** Counts bodies, whatever executes them. */
class Bodies {
  count = 0
  #target = Number.POSITIVE_INFINITY
  #reached = () => {}

  /** What every job does. */
  begin = () => {
    this.count++
    if (this.count >= this.#target) this.#reached(performance.now())
  }

  /** Resolves with the instant at which so many more bodies have begun. */
  async whenMore(count) {
    this.#target = this.count + count
    const reached = new Promise((resolve) => {
      this.#reached = resolve
    })
    let seen = -1
    while (seen < this.count) {
      seen = this.count
      const at = await Promise.race([reached, sleep(GIVES_UP_AFTER_MS, null, { ref: false })])
      if (at !== null) return at
    }
    throw new Error(`No job began within ${GIVES_UP_AFTER_MS / 1_000} s, ${this.#target - this.count} before the end.`)
  }
}

/**
 * `producer(settings)` resolves with `{ enqueue(n), enqueueList(ns) }`; `work(settings, body)` starts to execute and
 * resolves with what stops it, which resolves when every outcome is recorded; `remaining()` counts what is not done.
 */
export async function serve({
  version,
  producer,
  work,
  remaining,
  serverMemory = async () => null,
  forget = async () => {},
}) {
  const bodies = new Bodies()

  async function fill(jobs, settings) {
    const { enqueueList } = await producer(settings)
    for (let done = 0; done < jobs; done += FILL_LENGTH) await enqueueList(numbers(Math.min(FILL_LENGTH, jobs - done)))
  }

  async function execute(jobs, settings) {
    const [before, countBefore] = [await remaining(), bodies.count]
    const startedAt = performance.now()
    const enough = bodies.whenMore(jobs)
    const stop = await work(settings, bodies.begin)
    await enough
    await stop()
    const ms = performance.now() - startedAt
    const executed = bodies.count - countBefore
    const recorded = before - (await remaining())
    // A speed means something only if the work was done.
    if (recorded !== executed)
      throw new Error(`${executed} bodies were executed, but ${recorded} are recorded as done.`)
    return (executed / ms) * 1_000
  }

  async function sampleLatency(samples, settings) {
    const { enqueue } = await producer(settings)
    const stop = await work(settings, bodies.begin)
    const ms = []
    for (let sample = -2; sample < samples; sample++) {
      await sleep(5 + Math.random() * 20)
      const calledAt = performance.now()
      const begun = bodies.whenMore(1)
      await enqueue(sample)
      const begunAt = await begun
      if (sample >= 0) ms.push(begunAt - calledAt)
    }
    await stop()
    return ms
  }

  if (options.tellsFirstJob) {
    const begun = bodies.whenMore(1)
    await work(options.settings, bodies.begin)
    const { enqueue } = await producer(options.settings)
    await enqueue(0)
    await begun
    // This clock is the same in all processes of a machine.
    process.send({ answer: String(process.hrtime.bigint()) })
  }

  answer({
    about: () => ({ version, node: process.versions.node, sqlite: process.versions.sqlite }),

    /** So many callers, each of which awaits its own job before the next. Returns jobs per second. */
    async enqueue(jobs, callers, settings) {
      const { enqueue } = await producer(settings)
      const perCaller = Math.ceil(jobs / callers)
      const startedAt = performance.now()
      await Promise.all(
        Array.from({ length: callers }, async () => {
          for (let n = 0; n < perCaller; n++) await enqueue(n)
        }),
      )
      return ((perCaller * callers) / (performance.now() - startedAt)) * 1_000
    },

    /** Lists, one after the other. Returns jobs per second. */
    async enqueueLists(jobs, length, settings) {
      const { enqueueList } = await producer(settings)
      const lists = Math.ceil(jobs / length)
      const startedAt = performance.now()
      for (let list = 0; list < lists; list++) await enqueueList(numbers(length))
      return ((lists * length) / (performance.now() - startedAt)) * 1_000
    },

    /** From the start of a worker on a full queue until the last outcome is recorded. Returns jobs per second. */
    async drain(jobs, settings) {
      await fill(Math.max(0, jobs - (await remaining())), settings)
      return execute(jobs, settings)
    },

    /** From the call that enqueues to the first line of the body, in milliseconds, with a worker that has nothing to do. */
    latency: sampleLatency,

    /** A long history, then a long backlog. Not measured. */
    async grow(finished, queued, settings) {
      for (let done = 0; done < finished; done += 50_000) {
        const part = Math.min(50_000, finished - done)
        await fill(part, settings)
        await execute(part, settings)
      }
      await fill(queued, settings)
    },

    /** Frees what a server holds in memory. */
    forget,

    memory: async () => ({ process: process.memoryUsage.rss(), server: await serverMemory() }),
  })
}

function numbers(length) {
  return Array.from({ length }, (_, n) => n)
}

/** The same producer for the same settings, so that it connects once. */
export function oncePerSettings(open) {
  const opened = new Map()
  return (settings) => {
    const key = JSON.stringify(settings)
    if (!opened.has(key)) opened.set(key, open(settings))
    return opened.get(key)
  }
}
