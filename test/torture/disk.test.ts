import { expect, test } from 'vitest'
import { shimObstacle } from '../../torture/shim/shim.ts'
import { runShort } from './stage.ts'

const obstacle = shimObstacle()

test.skipIf(obstacle !== null)(
  `whatever a disk does, Pawl is right or refuses clearly, and goes on when it is sound again${obstacle === null ? '' : ` (not here: ${obstacle})`}`,
  async () => {
    const { outcome } = await runShort('disk')

    expect(outcome).toMatchObject({ done: 25, trials: 25, violations: [] })
    const { counts } = outcome
    expect(counts['calls failed']).toBeGreaterThan(10)
    expect(counts['refusals']).toBeGreaterThan(5)
    expect(counts['acknowledgements']).toBeGreaterThan(100)
    expect(counts['damaged files refused']).toBeGreaterThan(0)
    expect(counts['servers killed']).toBe(1)
  },
  180_000,
)
