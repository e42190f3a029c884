import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { defineJob } from 'pawl'
import { fillWithHistory } from '../big-store.mjs'
import { alternate, compareSpeeds, line, median, milliseconds, speedOf, withinMemory } from '../figures.mjs'
import { startChild } from '../processes.mjs'
import { fill, inFolder, Noop, openPawl } from '../stage.mjs'
import { enqueueConcurrently, enqueueOneByOne } from './enqueue.mjs'

/** "Cost what they cost on an empty store", with room for the noise and for indexes that are two levels deeper. */
export const AS_FAST_AS_EMPTY = 0.85
/** So much later than on an empty store the first Job may begin. */
const LATER_MS = 100

/**
 * The same work on a store with a long history and a long backlog, and on an empty one. Half of the backlog is delayed;
 * a third stands ahead in the order, but waits for a resource that is taken.
 */
export async function growth({ folder: parent, scale, say }) {
  const { finished, queued, concurrent, oneByOne, starts } = scale.growth
  return inFolder(parent, async (folder) => {
    const full = new Side(join(folder, 'full'))
    const empty = new Side(join(folder, 'empty'))
    say(`building a store with ${count(finished)} finished and ${count(queued)} queued jobs`)
    await full.seed()
    fillWithHistory(full.path, { finished, queued })
    await empty.seed()

    const lines = []
    const compare = async (name, rounds, work) => {
      const speeds = await alternate(rounds, { ours: () => work(full), reference: () => work(empty) })
      lines.push(compareSpeeds({ name, ...speeds, referenceName: 'on an empty store', atLeast: AS_FAST_AS_EMPTY }))
    }
    await Promise.all([full.open(100), empty.open(100)])
    await compare('full store: drain, concurrency 100', concurrent.portions, (side) => side.drain(concurrent.jobs))
    await compare('full store: enqueue, 100 concurrent callers', concurrent.portions, ({ scheduler, noop }) =>
      speedOf(concurrent.jobs, () => enqueueConcurrently(scheduler, noop.type, concurrent.jobs)),
    )
    await compare('full store: enqueue, one by one', oneByOne.portions, ({ scheduler, noop }) =>
      speedOf(oneByOne.jobs, () => enqueueOneByOne(scheduler, noop.type, oneByOne.jobs)),
    )
    // The holder of the resource has one place, so the others pass one at a time.
    await Promise.all([full.reopen(2), empty.reopen(2)])
    await compare('full store: drain, one by one', oneByOne.portions, (side) => side.drain(oneByOne.jobs))
    lines.push(await compareStarts(starts, { full: () => full.restart(), empty: () => empty.restart() }))
    await Promise.all([full.close(), empty.close()])
    lines.push(await memoryOnFullStore({ folder: full.folder }, concurrent.jobs))
    return lines
  })
}

/** From opening to the first body, in turns. Each side resolves with the milliseconds that it took. */
export async function compareStarts(starts, sides) {
  const ms = await alternate(starts, sides)
  const [full, empty] = [median(ms.full), median(ms.empty)]
  return line({
    name: 'full store: from opening to the first job',
    ours: milliseconds(full),
    reference: `${milliseconds(empty)} on an empty store, ${LATER_MS} ms more allowed`,
    ratio: (empty + LATER_MS) / full,
    needs: { kind: 'at-least', value: 1 },
  })
}

/** The most memory of a process that enqueues and executes there. */
export async function memoryOnFullStore(place, jobs) {
  const child = await startChild('full-store', JSON.stringify(place), String(jobs))
  return withinMemory('full store: memory of a process', child.told.bytes)
}

function count(jobs) {
  return jobs.toLocaleString('en')
}

/** One store, with a body that holds the resource for as long as the scheduler lives. */
class Side {
  noop = new Noop()
  scheduler = null
  folder
  #isHeld = false
  #busy = defineJob({
    type: 'busy',
    resources: ['gpu'],
    retry: { maxRetries: 0 },
    run: ({ signal }) => this.#hold(signal),
  })

  constructor(folder) {
    this.folder = folder
    mkdirSync(folder)
  }

  get path() {
    return join(this.folder, 'pawl.db')
  }

  /** Makes the schema, and one Job of each type. */
  async seed() {
    await this.open(1)
    await this.scheduler.enqueue(this.noop.type, { n: 1 })
    await this.scheduler.enqueue(this.#busy, { n: 1 }, { priority: 20 })
    await this.close()
  }

  async open(concurrency) {
    const options = { concurrency, resources: { gpu: 1 }, shutdownTimeoutMs: 0 }
    this.scheduler = await openPawl(this.folder, [this.noop.type, this.#busy], options)
  }

  async reopen(concurrency) {
    await this.close()
    await this.open(concurrency)
  }

  async close() {
    await this.scheduler.close()
  }

  /** The speed from the first body to the last, without what starting costs. */
  async drain(jobs) {
    await fill(this.scheduler, this.noop.type, jobs + 200)
    if (!this.#isHeld) await this.#enqueueHolder()
    const before = this.noop.count
    const begun = this.noop.whenNext()
    const enough = this.noop.whenMore(jobs)
    await this.scheduler.start()
    const speed = await begun.then(() => speedOf(jobs, () => enough.then(() => this.noop.count - before)))
    await this.scheduler.stop(0)
    if (!this.#isHeld) throw new Error('Nobody held the resource, so nothing had to wait for it.')
    return speed
  }

  /** How long it took from opening to the first body. */
  async restart() {
    await this.#enqueueHolder()
    await this.close()
    const begun = this.noop.whenNext()
    const startedAt = performance.now()
    await this.open(2)
    await this.scheduler.start()
    return (await begun) - startedAt
  }

  /** The body that holds the resource ends with each closing. The next start must find another one ahead of all. */
  async #enqueueHolder() {
    await this.scheduler.enqueue(this.#busy, { n: 1 }, { priority: 20 })
  }

  #hold(signal) {
    this.#isHeld = true
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        this.#isHeld = false
        reject(signal.reason)
      })
    })
  }
}
