import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Campaign, Conditions, Outcome, Violation } from '../campaign.ts'
import { Chance } from '../chance.ts'
import { compileShim, shimObstacle } from '../shim/shim.ts'
import { makeOriginals, type Originals } from './damage.ts'
import { runDamageTrial } from './damage-trial.ts'
import { runFaultsTrial } from './faults-trial.ts'
import { runServersTrial } from './servers-trial.ts'
import type { TrialResult } from './trial-result.ts'
import { chooseTrial, type Trial } from './trials.ts'

const VIOLATIONS_MAX = 20

export const disk: Campaign = {
  name: 'disk',
  about: 'disks that are full, fail or are read-only, damaged files, and two servers on one file (SQLite)',
  amount: { name: 'count', of: 'trials', usual: 500, short: 25 },
  obstacle: shimObstacle,
  run,
}

interface Surroundings {
  readonly home: string
  readonly keepIn: string
  readonly library: string
  readonly originals: Originals
  readonly hasLimits: boolean
  readonly conditions: Conditions
  readonly violations: Violation[]
  readonly counts: Record<string, number>
  done: number
}

async function run(conditions: Conditions): Promise<Outcome> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'pawl-disk-')))
  try {
    const originals = join(home, 'originals')
    mkdirSync(originals)
    const surroundings: Surroundings = {
      home,
      keepIn: join(tmpdir(), `pawl-disk-violations-${process.pid}`),
      library: compileShim(),
      originals: await makeOriginals(originals),
      hasLimits: spawnSync('prlimit', ['--version'], { stdio: 'ignore' }).status === 0,
      conditions,
      violations: [],
      counts: {},
      done: 0,
    }
    const next = trialNumbers(conditions)
    const lanes = Array.from({ length: Math.max(2, availableParallelism()) }, () => runLane(next, surroundings))
    await Promise.all(lanes)
    return outcomeOf(surroundings)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** The number of each trial, and the seed that decides all of it. A single one begins with the seed that is given. */
function* trialNumbers({ seed, amount }: Conditions): Generator<number> {
  for (let index = 0; index < amount; index++) yield seed + index
}

async function runLane(numbers: Iterator<number>, surroundings: Surroundings): Promise<void> {
  const { conditions, violations } = surroundings
  for (let next = numbers.next(); next.done !== true; next = numbers.next()) {
    if (conditions.signal.aborted || violations.length >= VIOLATIONS_MAX) return
    await runOne(next.value, surroundings)
    surroundings.done++
    conditions.progress.done(surroundings.done)
  }
}

async function runOne(number: number, surroundings: Surroundings): Promise<void> {
  const { home, keepIn, conditions, counts, violations } = surroundings
  const chance = new Chance(number)
  const trial = chooseTrial(chance, number, surroundings.hasLimits)
  const folder = join(home, `${number}`)
  const { wrongs, counts: seen } = await perform(trial, folder, chance, surroundings)
  if (conditions.signal.aborted) return
  for (const [what, count] of Object.entries({ ...seen, [`trials: ${trial.kind}`]: 1 }))
    counts[what] = (counts[what] ?? 0) + count
  if (wrongs.length > 0) {
    mkdirSync(keepIn, { recursive: true })
    const kept = join(keepIn, `${number}`)
    moveAway(folder, kept)
    const about = `${trial.name}${'faults' in trial ? ` ${JSON.stringify(trial.faults)}` : ''}. Left in ${kept}.`
    violations.push({ replay: `disk --count 1 --seed ${number}`, messages: [about, ...wrongs] })
  }
  rmSync(folder, { recursive: true, force: true })
}

/** To where it is not removed with everything else. */
function moveAway(folder: string, kept: string): void {
  rmSync(kept, { recursive: true, force: true })
  renameSync(folder, kept)
}

async function perform(
  trial: Trial,
  folder: string,
  chance: Chance,
  { library, originals, conditions: { signal } }: Surroundings,
): Promise<TrialResult> {
  try {
    switch (trial.kind) {
      case 'faults':
      case 'size-limit':
        return await runFaultsTrial(trial, { folder, library, chance, signal })
      case 'damage':
        return await runDamageTrial(trial.damage, { folder, originals, chance, signal })
      case 'servers':
        return await runServersTrial({ folder, chance, signal })
    }
  } catch (error) {
    mkdirSync(folder, { recursive: true })
    return { wrongs: [error instanceof Error ? `${error.stack}` : String(error)], counts: {} }
  }
}

function outcomeOf({ done, counts, violations, conditions: { seed, signal } }: Surroundings): Outcome {
  // Where no call has failed and nobody was refused, no disk has failed.
  const hasHappened = (counts['calls failed'] ?? 0) > 0 && (counts['refusals'] ?? 0) > 0
  if (done >= 30 && !hasHappened && !signal.aborted) {
    violations.push({
      replay: `disk --seed ${seed}`,
      messages: ['Expected calls that fail, and refusals, found none.'],
    })
  }
  return { done, trials: done, counts, violations }
}
