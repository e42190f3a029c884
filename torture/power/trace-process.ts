// Takes one trace after the other and examines its images, as its parent tells it.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Chance } from '../chance.ts'
import { isNaturalSeed, makePlan } from './acts.ts'
import { type Examined, examineTrace } from './examine-trace.ts'
import { takeTrace } from './take-trace.ts'

/** What the parent says. */
export interface TraceOrder {
  readonly seed: number
  readonly images: number
  readonly folder: string
  readonly keepIn: string
  readonly library: string
}

/** What it is answered. */
export type TraceReport =
  | { readonly kind: 'done'; readonly images: number }
  | { readonly kind: 'examined'; readonly examined: Examined }
  | { readonly kind: 'failed'; readonly message: string }

const ending = new AbortController()
process.once('SIGTERM', () => ending.abort())
// The parent has died: nobody wants to know any more.
process.once('disconnect', () => ending.abort())
process.on('message', (order: TraceOrder) => void perform(order))

async function perform(order: TraceOrder): Promise<void> {
  const { seed, images, folder, keepIn, library } = order
  const report = (what: TraceReport) => void process.send?.(what)
  const chance = new Chance(seed)
  try {
    mkdirSync(folder, { recursive: true })
    const plan = makePlan(chance, isNaturalSeed(seed))
    const records = await takeTrace({ plan, folder: join(folder, 'trace'), library, signal: ending.signal })
    const examined = await examineTrace({
      records,
      images,
      chance,
      folder: join(folder, 'image'),
      keepIn,
      replay: `power --images ${images} --seed ${seed}`,
      signal: ending.signal,
      done: (count) => report({ kind: 'done', images: count }),
    })
    report({ kind: 'examined', examined })
  } catch (error) {
    report({ kind: 'failed', message: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  } finally {
    rmSync(folder, { recursive: true, force: true })
    if (ending.signal.aborted) process.disconnect?.()
  }
}
