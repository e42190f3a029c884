import fc from 'fast-check'
import { afterEach, describe, test } from 'vitest'
import { NOW } from '../../src/store/conformance/fixtures.ts'
import { onFaultPoint } from '../../src/store/fault-points.ts'
import { manyChildren, steps } from './commands.ts'
import { Model } from './model.ts'
import { World } from './world.ts'

// Random sequences of what can be done to Jobs that depend on each other and belong together, each step with a chance to
// crash at any of its writes. After every step, everything that can be seen of the store must be as a small model says, and
// the counts of the groups must be those of the committed rows. A failure prints its seed, its path and the shortest
// sequence that still fails; PAWL_MODEL_SEED repeats a run, PAWL_MODEL_RUNS makes it longer.

const runs = Number(process.env['PAWL_MODEL_RUNS'] ?? 300)
const seed = Number(process.env['PAWL_MODEL_SEED'] ?? Date.now() % 1_000_000_000)

afterEach(() => onFaultPoint(null))

describe(`random sequences (seed ${seed})`, () => {
  const timeout = 60_000 + runs * 1_000

  test('a store and its model agree after every step', { timeout }, () => check(steps(), runs))

  test('they agree when a parent has more children than are dealt with at once', { timeout }, () =>
    check([...steps(), manyChildren()], Math.ceil(runs / 20)),
  )
})

function check(possible: ReturnType<typeof steps>, numRuns: number): Promise<void> {
  const sequences = fc.commands(possible, { size: 'large', maxCommands: 40 })
  const property = fc.asyncProperty(sequences, async (sequence) => {
    const world = await World.open()
    try {
      await fc.asyncModelRun(() => ({ model: new Model(NOW), real: world }), sequence)
    } finally {
      onFaultPoint(null)
      await world.close()
    }
  })
  return fc.assert(property, { numRuns, seed, endOnFailure: false })
}
