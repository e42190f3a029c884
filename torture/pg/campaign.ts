import type { Campaign, Conditions, Outcome, Violation } from '../campaign.ts'
import { Chance } from '../chance.ts'
import { addUp, type Counts } from '../outside/counts.ts'
import { hasWebhook } from '../outside/scene.ts'
import { startServer } from '../servers/server.ts'
import { PgRound } from './round.ts'

const MINUTE_MS = 60_000
/** For so long things go wrong in a round. The rest of a minute it takes until all has come to its end. */
const FAULTS_MS = 25_000
/** A round that is given less time than a minute leaves so much of it for its end. */
const END_MS = 25_000
const FAULTS_MIN_MS = 6_000

export const pg: Campaign = {
  name: 'pg',
  about: 'connections to PostgreSQL cut, delayed, half-open; replies lost after COMMIT; server restarts; zombies',
  amount: { name: 'minutes', usual: 30, short: 0.6 },
  run: runPg,
}

async function runPg(conditions: Conditions): Promise<Outcome> {
  const { amount, seed, isShort, signal, progress } = conditions
  const chance = new Chance(seed)
  await using server = await startServer()
  const startedAt = performance.now()
  const minutes = () => (performance.now() - startedAt) / MINUTE_MS
  const violations: Violation[] = []
  let counts: Counts = {}
  let trials = 0
  for (let round = 1; minutes() < amount && !signal.aborted && violations.length === 0; round++) {
    const roundSeed = round === 1 ? seed : chance.below(0x1_0000_0000)
    const leftMs = (amount - minutes()) * MINUTE_MS
    const faultsMs = Math.max(FAULTS_MIN_MS, Math.min(FAULTS_MS, leftMs - END_MS))
    const ticking = setInterval(() => progress.done(Math.min(amount, minutes())), 1_000)
    try {
      // By its own seed, so that a round that is shown again does the same.
      const computes = !isShort && roundSeed % 2 === 0
      const oversleeps = !isShort && !hasWebhook(roundSeed)
      const schema = `round_${round}`
      const options = { seed: roundSeed, server, schema, faultsMs, computes, oversleeps, signal }
      const done = await new PgRound(options).run()
      // A round that nobody looked at shows nothing.
      if (signal.aborted) break
      counts = addUp(counts, { rounds: 1, ...done.counts })
      trials += done.faults
      const replay = `pg --minutes ${((faultsMs + END_MS) / MINUTE_MS).toFixed(2)} --seed ${roundSeed}`
      if (done.messages.length > 0) violations.push({ replay, messages: done.messages })
    } finally {
      clearInterval(ticking)
    }
    // A round that hardly fits any more would show nothing.
    if ((amount - minutes()) * MINUTE_MS < FAULTS_MIN_MS) break
  }
  if (violations.length === 0 && !signal.aborted)
    violations.push(...missing(counts, `pg --minutes ${amount} --seed ${seed}`))
  return { done: Math.round(minutes() * 100) / 100, trials, counts, violations }
}

/** Faults that hit nobody show nothing. */
function missing(counts: Counts, replay: string): Violation[] {
  const messages = ['zombies', 'nodes registered anew', 'crashes recovered', 'acknowledged'].flatMap((name) =>
    (counts[name] ?? 0) > 0 ? [] : [`Expected some ${name}, but there were none: this shows nothing.`],
  )
  return messages.length === 0 ? [] : [{ replay, messages }]
}
