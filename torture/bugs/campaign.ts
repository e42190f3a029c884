import type { Campaign, Conditions, Outcome, Violation } from '../campaign.ts'
import type { Summary } from '../run-campaign.ts'
import type { Bug } from './bug.ts'
import { BUGS } from './bugs.ts'
import { PlantedPackage } from './planted-package.ts'
import { type Catch, writeTable } from './write-table.ts'

export const bugs: Campaign = {
  name: 'bugs',
  about: 'plants one mistake after the other, and sees whether the campaigns find it',
  amount: { name: 'bugs', usual: BUGS.length, short: BUGS.length },
  parts: BUGS.map(({ name }) => name),
  run,
}

/** A mistake that nothing finds is the violation here. */
async function run({ seed, amount, only, progress, signal, writesDocs }: Conditions): Promise<Outcome> {
  const chosen = BUGS.filter(({ name }) => only === null || name === only).slice(0, amount)
  const violations: Violation[] = []
  const catches: Catch[] = []
  for (const bug of chosen) {
    if (signal.aborted) break
    const found = await hunt(bug, seed, signal)
    // What was cut short has not had its time.
    if (signal.aborted && found.trials === null) break
    catches.push(found)
    if (found.trials === null) {
      const messages = [`Nothing found ${bug.name}: ${bug.mistake}`, found.told]
      violations.push({ replay: `bugs --only ${bug.name} --seed ${seed}`, messages })
    }
    progress.tell(`${bug.name}: ${found.trials === null ? 'NOT FOUND' : `found after ${found.trials}`} ${found.told}`)
    progress.done(catches.length)
  }
  if (writesDocs && only === null) writeTable(catches)
  return {
    done: catches.length,
    trials: catches.length,
    counts: { found: catches.length - violations.length },
    violations,
  }
}

async function hunt(bug: Bug, seed: number, signal: AbortSignal): Promise<Catch> {
  const planted = await PlantedPackage.plant(bug).catch((error: unknown) => String(error))
  if (typeof planted === 'string') return { bug, trials: null, unit: '', told: planted }
  try {
    const { code, output } = await planted.torture(argumentsOf(bug, seed), signal)
    const summary = readSummary(output)
    if (summary === null) return { bug, trials: null, unit: '', told: `it ended with ${code}: ${output.slice(-2_000)}` }
    const { outcome, amount: unit } = summary
    const [first] = outcome.violations
    if (first === undefined) return { bug, trials: null, unit, told: `in ${outcome.done} ${unit}` }
    return { bug, trials: outcome.done, unit, told: `${unit}: ${first.messages[0] ?? ''}` }
  } finally {
    planted.remove()
  }
}

function argumentsOf({ caughtBy }: Bug, seed: number): string[] {
  const { campaign, amount, store, only } = caughtBy
  return [
    campaign,
    `--${AMOUNTS[campaign] ?? 'count'}`,
    `${amount}`,
    ...(store === undefined ? [] : ['--store', store]),
    ...(only === undefined ? [] : ['--only', only]),
    '--seed',
    `${seed}`,
    '--bail',
    '--json',
  ]
}

/** What each campaign counts, where it is not \`count\`. */
const AMOUNTS: Readonly<Record<string, string>> = {
  sim: 'seeds',
  power: 'images',
  pg: 'minutes',
  fuzz: 'requests',
  sweep: 'rounds',
}

/** The summary is the last line; before it a planted bug may have made noise of all kinds. */
function readSummary(output: string): Summary | null {
  for (const line of output.trimEnd().split('\n').reverse()) {
    if (!line.startsWith('{"campaign"')) continue
    try {
      return JSON.parse(line) as Summary
    } catch {
      return null
    }
  }
  return null
}
