import type { Campaign, Conditions, Outcome, Violation } from '../campaign.ts'
import { Chance } from '../chance.ts'
import { checkTrial } from './check.ts'
import { runTrial } from './trial.ts'

/** Trials that run at once: they mostly wait. */
const AT_ONCE = 4

/** Long enough for all four attempts at receivers that fail at once, or for the second of them. */
const LASTS_MS = 24_000
const LASTS_SHORT_MS = 5_000

export const webhooks: Campaign = {
  name: 'webhooks',
  about: 'hostile receivers, forbidden addresses and turning names, beside receivers that must hear of everything',
  amount: { name: 'count', of: 'trials', usual: 200, short: 4 },
  obstacle: () => (process.platform === 'linux' ? null : 'it needs the address 127.0.0.2, which Linux has by itself'),
  run: runWebhooks,
}

async function runWebhooks({ seed, amount, isShort, progress, signal }: Conditions): Promise<Outcome> {
  const violations: Violation[] = []
  const counts: Record<string, number> = {}
  let [begun, done] = [0, 0]
  const goOn = async () => {
    while (begun < amount && !signal.aborted) {
      const trialSeed = seed + begun++
      const messages = await oneTrial(trialSeed, isShort, signal, counts)
      // What was cut short has not had its time, and is no trial.
      if (signal.aborted) return
      if (messages.length > 0) {
        violations.push({ replay: `webhooks --count 1 --seed ${trialSeed}${isShort ? ' --short' : ''}`, messages })
      }
      progress.done(++done)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, goOn))
  if (!signal.aborted && done > 0 && (counts['attempts'] ?? 0) < 10 * done) {
    violations.push({ replay: `webhooks --seed ${seed}`, messages: ['hardly anything was sent'] })
  }
  return { done, trials: done, counts, violations }
}

async function oneTrial(
  seed: number,
  isShort: boolean,
  signal: AbortSignal,
  counts: Record<string, number>,
): Promise<readonly string[]> {
  let faults: readonly string[] = []
  try {
    await runTrial(new Chance(seed), isShort ? LASTS_SHORT_MS : LASTS_MS, signal, async (seen) => {
      const checked = await checkTrial(seen)
      faults = checked.faults
      for (const [what, count] of Object.entries(checked.counts)) counts[what] = (counts[what] ?? 0) + count
    })
    return faults
  } catch (error) {
    return [`failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`]
  }
}
