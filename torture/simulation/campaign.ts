import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Campaign, Conditions, Outcome, Violation } from '../campaign.ts'
import type { Examined } from './examine.ts'
import { REGRESSIONS } from './regressions.ts'

export const simulation: Campaign = {
  name: 'sim',
  about: 'whole lives of several nodes on a virtual clock, with crashes, pauses and lost answers',
  amount: { name: 'seeds', usual: 10_000, short: 500 },
  run,
}

/** Seeds follow each other, so that a run that was ended can be taken up where it was. */
async function run({ seed, amount, isShort, endsWithFirst, progress, signal }: Conditions): Promise<Outcome> {
  const counts = new Map<string, number>()
  const violations: Violation[] = []
  let [done, trace] = [0, 0n]
  await examineAll({
    seeds: isShort ? [...REGRESSIONS, ...range(seed, amount)] : range(seed, amount),
    isEnough: () => signal.aborted || (endsWithFirst && violations.length > 0),
    examined({ seed: each, hash, messages, counts: own }) {
      done++
      // Threads end their seeds in any order: a sum is the same in each.
      trace = BigInt.asUintN(64, trace + BigInt(`0x${hash ?? '0'}`))
      for (const [what, count] of own) counts.set(what, (counts.get(what) ?? 0) + count)
      if (messages.length > 0) {
        violations.push({ replay: `sim --seeds 1 --seed ${each}`, messages })
        progress.tell(`seed ${each}: ${messages[0]}`)
      }
      progress.done(done)
    },
  })
  if (signal.aborted) progress.tell(`Go on with: npm run torture -- sim --seeds ${amount - done} --seed ${seed + done}`)
  return {
    done,
    trials: done,
    counts: Object.fromEntries([...counts].sort(([a], [b]) => a.localeCompare(b))),
    violations,
    trace: trace.toString(16).padStart(16, '0'),
  }
}

interface Examination {
  readonly seeds: Iterable<number>
  readonly isEnough: () => boolean
  readonly examined: (examined: Examined) => void
}

/** In as many threads as there are processors. Each gets the next seed when it is done with one. */
async function examineAll({ seeds, isEnough, examined }: Examination): Promise<void> {
  const rest = seeds[Symbol.iterator]()
  const next = (): number | null => {
    if (isEnough()) return null
    const { done, value } = rest.next()
    return done === true ? null : value
  }
  const work = async (): Promise<void> => {
    const worker = new Worker(new URL('./worker.js', import.meta.url))
    try {
      for (let seed = next(); seed !== null; seed = next()) examined(await ask(worker, seed))
    } finally {
      await worker.terminate()
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
}

function ask(worker: Worker, seed: number): Promise<Examined> {
  return new Promise((resolve, reject) => {
    worker.once('message', (examined: Examined) => {
      worker.off('error', reject)
      resolve(examined)
    })
    worker.once('error', reject)
    worker.postMessage(seed)
  })
}

function* range(first: number, count: number): Iterable<number> {
  for (let index = 0; index < count; index++) yield first + index
}
