import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { NOW } from '../../src/store/conformance/fixtures.ts'
import { onFaultPoint } from '../../src/store/fault-points.ts'
import { mend } from '../stores/breaks.ts'
import { storeKind } from '../stores/source-stores.ts'
import { ApplyCascade, Claim, Finish, manyChildren, Release, steps, Wait } from './commands.ts'
import { Model } from './model.ts'
import { isWaiting, lastOf, type ModelJob, outcomeOf } from './model-state.ts'
import { World } from './world.ts'

// Random sequences of what can be done to Jobs that depend on each other and belong together, each step with a chance to
// crash at any of its writes. After every step, everything that can be seen of the store must be as a small model says, and
// the counts of the groups must be those of the committed rows. A failure prints its seed, its path and the shortest
// sequence that still fails; PAWL_MODEL_SEED repeats a run, PAWL_MODEL_RUNS makes it longer.

const runs = Number(process.env['PAWL_MODEL_RUNS'] ?? (storeKind === 'sqlite' ? 200 : 8))
const seed = Number(process.env['PAWL_MODEL_SEED'] ?? Date.now() % 1_000_000_000)

afterEach(() => mend(onFaultPoint))

describe(`random sequences (seed ${seed})`, () => {
  const timeout = 120_000 + runs * 1_000

  test('a store and its model agree after every step, and in the end nothing waits in vain', { timeout }, () =>
    check(steps(), runs),
  )

  test('so they do when a parent has more children than are dealt with at once', { timeout }, () =>
    check([...steps(), manyChildren()], Math.ceil(runs / 20)),
  )
})

function check(possible: ReturnType<typeof steps>, numRuns: number): Promise<void> {
  const sequences = fc.commands(possible, { size: 'large', maxCommands: 60 })
  const property = fc.asyncProperty(sequences, async (sequence) => {
    const world = await World.open()
    const model = new Model(NOW)
    try {
      await fc.asyncModelRun(() => ({ model, real: world }), sequence)
      await drain(model, world)
    } finally {
      mend(onFaultPoint)
      await world.close()
    }
  })
  return fc.assert(property, { numRuns, seed })
}

const ROUNDS_MAX = 500

/** Everything that can come to its end does. What is left waits for a parent that has failed, because it was told to. */
async function drain(model: Model, world: World): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const all = [new ApplyCascade(1_000, null), new Release(0, null), new Finish(0, 'COMPLETED', true, 0, null)]
    const next = [...all, new Claim(1_000, null), new Wait(1_000)].find(
      (step) => step.check(model) && (!(step instanceof Claim) || hasReady(model)),
    )
    expect.assert(next !== undefined)
    if (next instanceof Wait && !model.queue().some((job) => model.holdOf(job) === 'delayed')) break
    await next.run(model, world)
  }
  for (const job of model.queue()) expect.assert(waitsWithReason(job), `Job ${job.id} waits in vain`)
}

/** A parent has failed, and it was told to wait for a retry of that one; or one of its parents has such a reason. */
function waitsWithReason(job: ModelJob, above: ReadonlySet<ModelJob> = new Set()): boolean {
  return job.chain.edges.filter(isWaiting).some(({ parent, onFailure, ofGroup }) => {
    const outcome = outcomeOf(parent)
    if (outcome !== null) return !ofGroup && onFailure === 'wait' && (outcome === 'FAILED' || outcome === 'CANCELLED')
    return !above.has(job) && waitsWithReason(lastOf(parent), new Set([...above, job]))
  })
}

function hasReady(model: Model): boolean {
  return model.queue().some((job) => model.holdOf(job) === null)
}
