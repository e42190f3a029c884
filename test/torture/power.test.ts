import { expect, test } from 'vitest'
import { shimObstacle } from '../../torture/shim/shim.ts'
import { runShort } from './stage.ts'

const obstacle = shimObstacle()

test.skipIf(obstacle !== null)(
  `whatever a power cut leaves of unsynced writes, nothing that was acknowledged is lost${obstacle === null ? '' : ` (not here: ${obstacle})`}`,
  async () => {
    const { outcome } = await runShort('power')

    expect(outcome).toMatchObject({ done: 300, trials: 300, violations: [] })
    const { counts } = outcome
    expect(counts['traces']).toBe(3)
    expect(counts['things said outside']).toBeGreaterThan(300)
    expect(counts['checkpoints']).toBeGreaterThan(3)
    expect(counts['images with losses']).toBeGreaterThan(50)
    expect(counts['writes lost']).toBeGreaterThan(100)
    expect(counts['writes torn']).toBeGreaterThan(10)
    expect(counts['images drained']).toBeGreaterThan(0)
  },
  240_000,
)
