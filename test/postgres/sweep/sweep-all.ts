import { afterAll, expect, test } from 'vitest'
import { openSchemas } from '../../../torture/sweep/postgres-place.ts'
import type { Operation } from '../../../torture/sweep/stage.ts'
import { sweepOperation } from '../../../torture/sweep/sweep-operation.ts'
import { keepConnections } from '../kept-connections.ts'
import { newSchema, postgresUrl } from '../schemas.ts'

/**
 * Sweeps these operations as `npm run torture -- sweep --store postgres` does, but where they have many statements, not at each
 * of them. On SQLite test/torture/sweep.test.ts does it.
 */
export function sweepAll(operations: readonly Operation[]): void {
  keepConnections()
  const place = openSchemas(postgresUrl(), `${newSchema()}_`)
  afterAll(() => place.remove())
  const possible = operations.filter(({ only = 'postgres' }) => only === 'postgres')
  test.for(possible)(
    '$name: broken off, nothing of it is stored; with its answer lost, all of it is, once',
    { timeout: 120_000 },
    async (operation) => {
      const { faults, breakOffs, lostAnswers } = await sweepOperation(operation, place, { pace: 'fewer' })
      expect(faults).toEqual([])
      expect(breakOffs).toBeGreaterThan(0)
      expect(lostAnswers).toBe(1)
    },
  )
}
