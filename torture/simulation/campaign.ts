import type { Campaign, Conditions, Outcome, Violation } from '../campaign.ts'
import { REGRESSIONS } from './regressions.ts'
import { type Simulated, simulate } from './simulate.ts'

export const simulation: Campaign = {
  name: 'sim',
  about: 'whole lives of several nodes on a virtual clock, with crashes, pauses and lost answers',
  amount: { name: 'seeds', usual: 10_000, short: 500 },
  run,
}

/** Seeds follow each other, so that a run that was ended can be taken up where it was. */
async function run({ seed, amount, isShort, progress, signal }: Conditions): Promise<Outcome> {
  const counts = new Map<string, number>()
  const violations: Violation[] = []
  const seeds = isShort ? [...REGRESSIONS, ...range(seed, amount)] : range(seed, amount)
  let done = 0
  for (const each of seeds) {
    if (signal.aborted) break
    const { messages, simulated } = await examine(each)
    done++
    for (const [what, count] of simulated?.counts ?? []) counts.set(what, (counts.get(what) ?? 0) + count)
    counts.set('steps', (counts.get('steps') ?? 0) + (simulated?.steps ?? 0))
    if (messages.length > 0) {
      violations.push({ replay: `sim --seeds 1 --seed ${each}`, messages })
      progress.tell(`seed ${each}: ${messages[0]}`)
    }
    progress.done(done)
  }
  if (signal.aborted) progress.tell(`Go on with: npm run torture -- sim --seeds ${amount - done} --seed ${seed + done}`)
  return { done, trials: done, counts: Object.fromEntries([...counts].sort()), violations }
}

/** Runs it twice: what cannot be repeated could not be examined either. */
async function examine(
  seed: number,
): Promise<{ readonly messages: readonly string[]; readonly simulated: Simulated | null }> {
  try {
    const simulated = await simulate(seed)
    const again = await simulate(seed, { isExamined: false })
    const isSame = simulated.hash === again.hash
    const messages = [...simulated.contradictions, ...(isSame ? [] : ['The same seed gave another run.'])]
    return { messages, simulated }
  } catch (error) {
    return { messages: [error instanceof Error ? (error.stack ?? error.message) : String(error)], simulated: null }
  }
}

function* range(first: number, count: number): Iterable<number> {
  for (let index = 0; index < count; index++) yield first + index
}
