import { type ChildProcess, fork } from 'node:child_process'
import { accessSync, constants, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Campaign, Conditions, Outcome, Violation } from '../campaign.ts'
import { compileShim, shimObstacle } from '../shim/shim.ts'
import { isNaturalSeed } from './acts.ts'
import type { Examined } from './examine-trace.ts'
import type { TraceOrder, TraceReport } from './trace-process.ts'

const HERE = fileURLToPath(import.meta.url)
const TRACE_PROCESS = join(dirname(HERE), `trace-process${extname(HERE)}`)

const IMAGES_PER_TRACE = 500
const IMAGES_PER_SHORT_TRACE = 100
const SEED_END = 0x1_0000_0000
/** More would fill the disk of whoever runs this with images that say the same. */
const VIOLATIONS_MAX = 20

export const power: Campaign = {
  name: 'power',
  about: 'power cuts: databases as they could be left, with unsynced writes kept, lost or torn (SQLite)',
  amount: { name: 'images', usual: 20_000, short: 300 },
  obstacle: shimObstacle,
  run,
}

async function run(conditions: Conditions): Promise<Outcome> {
  const library = compileShim()
  const home = realpathSync(mkdtempSync(join(memoryFolder(), 'pawl-power-')))
  const keepIn = join(tmpdir(), `pawl-power-violations-${process.pid}`)
  const total = new Total(conditions)
  const orders = makeOrders(conditions, home, keepIn, library)
  const lanes = Math.min(availableParallelism(), orders.length)
  try {
    await Promise.all(Array.from({ length: lanes }, () => runLane(orders, total, conditions.signal)))
    return total.outcome()
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

function makeOrders(
  { seed, amount, isShort }: Conditions,
  home: string,
  keepIn: string,
  library: string,
): TraceOrder[] {
  const perTrace = isShort ? IMAGES_PER_SHORT_TRACE : IMAGES_PER_TRACE
  const orders: TraceOrder[] = []
  for (let images = amount, next = seed % SEED_END; images > 0; next = (next + 1) % SEED_END) {
    if (isShort && isNaturalSeed(next)) continue
    const place = `${next}`
    const about = { folder: join(home, place), keepIn: join(keepIn, place), library }
    orders.push({ seed: next, images: Math.min(perTrace, images), ...about })
    images -= perTrace
  }
  return orders
}

/** Files that are in memory anyway: what a disk does is played by the trace. */
function memoryFolder(): string {
  try {
    accessSync('/dev/shm', constants.W_OK)
    return '/dev/shm'
  } catch {
    return tmpdir()
  }
}

/** One process at a time does the next order; should it die, that is told, and another one goes on. */
async function runLane(orders: TraceOrder[], total: Total, signal: AbortSignal): Promise<void> {
  let child: ChildProcess | null = null
  try {
    for (;;) {
      const order = orders.shift()
      if (order === undefined || signal.aborted || total.isFull) return
      if (child === null || !child.connected)
        child = fork(TRACE_PROCESS, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
      await runOrder(child, order, total, signal)
    }
  } finally {
    child?.kill()
  }
}

function runOrder(child: ChildProcess, order: TraceOrder, total: Total, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => child.kill('SIGTERM')
    const settle = () => {
      child.off('message', hear).off('exit', exit)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const fail = (message: string) => {
      total.add({ replay: `power --images ${order.images} --seed ${order.seed}`, messages: [message] })
      settle()
    }
    const hear = (report: TraceReport) => {
      if (report.kind === 'done') return total.count(report.images)
      if (report.kind === 'failed') return fail(report.message)
      total.addTrace(report.examined)
      settle()
    }
    const exit = (exitCode: number | null, killedBy: string | null) =>
      signal.aborted ? settle() : fail(`The process that opened the images died with ${exitCode ?? killedBy}.`)
    child.on('message', hear).once('exit', exit)
    signal.addEventListener('abort', end, { once: true })
    // One that has died meanwhile is heard of by its exit.
    child.send(order, () => {})
  })
}

const SUMMED = [
  'images',
  'damaged',
  'lost',
  'torn',
  'drained',
  'writes',
  'syncs',
  'checkpoints',
  'acknowledgements',
] as const

/** What was seen of all traces. */
class Total {
  readonly #conditions: Conditions
  readonly #violations: Violation[] = []
  readonly #sums = {
    images: 0,
    damaged: 0,
    lost: 0,
    torn: 0,
    drained: 0,
    writes: 0,
    syncs: 0,
    checkpoints: 0,
    acknowledgements: 0,
  }
  #traces = 0
  #done = 0

  constructor(conditions: Conditions) {
    this.#conditions = conditions
  }

  get isFull(): boolean {
    return this.#violations.length >= VIOLATIONS_MAX
  }

  count(images: number): void {
    this.#done += images
    this.#conditions.progress.done(this.#done)
  }

  add(violation: Violation): void {
    this.#violations.push(violation)
  }

  addTrace(examined: Examined): void {
    this.#traces++
    for (const name of SUMMED) this.#sums[name] += examined[name]
    for (const violation of examined.violations) this.add(violation)
  }

  outcome(): Outcome {
    const { images, damaged, lost, torn, drained, writes, syncs, checkpoints, acknowledgements } = this.#sums
    // Where no write was ever lost, no power has failed.
    if (images > 50 && (damaged === 0 || torn === 0)) {
      this.add({
        replay: `power --seed ${this.#conditions.seed}`,
        messages: ['Expected images in which writes are lost and torn, found none.'],
      })
    }
    const counts = {
      traces: this.#traces,
      'writes traced': writes,
      'syncs traced': syncs,
      checkpoints,
      'things said outside': acknowledgements,
      'images with losses': damaged,
      'writes lost': lost,
      'writes torn': torn,
      'images drained': drained,
    }
    return { done: images, trials: images, counts, violations: this.#violations }
  }
}
