import type { Campaign, Conditions, Outcome, Violation } from '../campaign.ts'
import { type Fuzzing, fuzz, isEnough } from './life.ts'
import { FuzzedServer } from './server.ts'

/** After so many requests servers begin anew: what is there would only grow. */
const REQUESTS_OF_LIFE = 50_000

export const fuzzing: Campaign = {
  name: 'fuzz',
  about: 'requests made of the OpenAPI document, most of them wrong, and raw bytes, at a real server',
  amount: { name: 'requests', usual: 100_000, short: 5_000 },
  run: runFuzz,
}

async function runFuzz({ seed, amount, progress, signal }: Conditions): Promise<Outcome> {
  const counts = new Map<string, number>([['servers', 0]])
  const violations: Violation[] = []
  let made = 0
  const violate = (index: number | null, message: string) => {
    // What happened depends on what was there: all that came before may be needed. The request itself is told, too.
    const replay = `fuzz --seed ${seed} --requests ${Math.min(amount, (index ?? made) + 1)}`
    violations.push({ replay, messages: [index === null ? message : `request ${index}: ${message}`] })
  }
  while (made < amount && !signal.aborted && !isEnough(violations.length)) {
    const begin = made
    const end = Math.min(amount, made + REQUESTS_OF_LIFE)
    const isOver = () => made >= end || signal.aborted || isEnough(violations.length)
    const next = () => {
      if (isOver()) return null
      progress.done(made)
      return made++
    }
    try {
      await liveOnce({ seed, next, isOver, made: () => made - begin, counts, violate })
    } catch (error) {
      // Ctrl-C reaches what is just being started, too.
      if (!signal.aborted) throw error
      break
    }
    counts.set('servers', (counts.get('servers') ?? 0) + 1)
  }
  const seen = [200, 201, 204, 400, 401, 403, 404, 409, 415, 422].filter((status) => !counts.has(`${status}`))
  // It is worth nothing if it only ever met the first check.
  if (!signal.aborted && amount >= 5_000 && seen.length > 0) violate(null, `nothing was answered with ${seen.join()}`)
  return { done: made, trials: made, counts: inOrder(counts), violations }
}

async function liveOnce(fuzzing: Fuzzing): Promise<void> {
  const starting = [false, true].map((isPaused) => FuzzedServer.start({ isPaused }))
  try {
    const [busy, quiet] = (await Promise.all(starting)) as [FuzzedServer, FuzzedServer]
    await fuzz(fuzzing, busy, quiet)
    const living = [busy, quiet].filter(({ death }) => death === null)
    for (const fault of (await Promise.all(living.map((server) => server.examine()))).flat()) {
      fuzzing.violate(null, `the doctor finds ${fault}`)
    }
    for (const line of living.flatMap(({ complaints }) => complaints)) fuzzing.violate(null, `a server said: ${line}`)
  } finally {
    const started = (await Promise.allSettled(starting)).flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
    const ends = await Promise.all(started.map((server) => server.end()))
    for (const wrong of ends.flat()) fuzzing.violate(null, wrong)
  }
}

function inOrder(counts: ReadonlyMap<string, number>): Record<string, number> {
  const statuses = [...counts].filter(([what]) => /^\d+$/.test(what)).toSorted(([a], [b]) => Number(a) - Number(b))
  const others = [...counts].filter(([what]) => !/^\d+$/.test(what))
  return Object.fromEntries([...others, ...statuses.map(([status, count]) => [`answered ${status}`, count])])
}
