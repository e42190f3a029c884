import type { Campaign, Conditions, Outcome, Violation } from '../campaign.ts'
import { Chance } from '../chance.ts'
import { addUp, type Counts } from '../outside/counts.ts'
import { startServer } from '../servers/server.ts'
import type { KillPlace } from './kill-place.ts'
import { filesOfTheirOwn, schemasOn } from './kill-place.ts'
import { KillRound } from './round.ts'

/** After so many the killing stops, everything must come to its end, and all of it is examined. */
const ROUND_KILLS = 40

/** Rounds at once: while one comes to its end and is examined, processes are killed in another one. */
const ROUNDS_AT_ONCE = 2

export const kill: Campaign = {
  name: 'kill',
  about: 'kill -9 of nodes and clients, at random times and at named points, several processes on one store',
  amount: { name: 'count', of: 'kills', usual: 1_000, short: 50 },
  stores: ['sqlite', 'postgres'],
  run: runKill,
}

async function runKill(conditions: Conditions): Promise<Outcome> {
  if (conditions.store === 'sqlite') return await runRounds(conditions, filesOfTheirOwn())
  const server = await startServer()
  try {
    return await runRounds(conditions, schemasOn(server.url))
  } finally {
    await server.remove()
  }
}

async function runRounds(conditions: Conditions, places: KillPlace): Promise<Outcome> {
  const { amount, seed, signal, progress, store } = conditions
  const seeds = seedsOf(seed)
  const violations: Violation[] = []
  let counts: Counts = {}
  let [planned, done] = [0, 0]
  const work = async () => {
    while (planned < amount && !signal.aborted && violations.length === 0) {
      const kills = Math.min(ROUND_KILLS, amount - planned)
      planned += kills
      const roundSeed = seeds.next().value
      let killed = 0
      const count = () => {
        killed++
        progress.done(++done)
      }
      const round = new KillRound({ seed: roundSeed, kills, places, signal, killed: count })
      const { messages, counts: more } = await round.run()
      // Those of a round that nobody looked at show nothing.
      if (signal.aborted) done -= killed
      if (signal.aborted) return
      planned += killed - kills
      counts = addUp(counts, more)
      if (messages.length === 0) continue
      violations.push({ replay: `kill --count ${kills} --store ${store} --seed ${roundSeed}`, messages })
    }
  }
  await Promise.all(Array.from({ length: ROUNDS_AT_ONCE }, work))
  if (violations.length === 0 && !signal.aborted)
    violations.push(...missing(counts, `kill --count ${amount} --seed ${seed}`))
  return { done, trials: done, counts, violations }
}

/** The first is the given one, so that a round alone can be shown again. */
function* seedsOf(seed: number): Generator<number, never> {
  yield seed
  const chance = new Chance(seed)
  for (;;) yield chance.below(0x1_0000_0000)
}

/** Kills that hit nobody show nothing. */
function missing(counts: Counts, replay: string): Violation[] {
  const messages = ['bodies cut off', 'crashes recovered', 'deaths at fault points', 'acknowledged'].flatMap((name) =>
    (counts[name] ?? 0) > 0 ? [] : [`Expected some ${name}, but there were none: this shows nothing.`],
  )
  return messages.length === 0 ? [] : [{ replay, messages }]
}
