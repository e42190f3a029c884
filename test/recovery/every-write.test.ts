import { type FaultPoint, onFaultPoint } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import { breakAt, breaksOff, mend, withoutNames } from '../stores/breaks.ts'
import { storeAt } from '../stores/package-stores.ts'
import { SharedDatabase } from '../stores/shared-database.ts'
import { operations, Stage } from './operations.ts'

// Each operation is broken off before its first write, before its second, and so on until it passes whole, and once more
// right before its commit. A broken one must leave every row as it was, and must not keep the next try from succeeding.

afterEach(() => mend(onFaultPoint))

test.for(operations)(
  '$name: broken off at any write, nothing of it is stored, and the next try succeeds',
  async (operation) => {
    const database = new SharedDatabase()
    const store = await storeAt(database.address).open()
    const stage = new Stage(store)
    await store.registerNode(stage.node)
    const operate = await operation.prepare(stage)
    const before = withoutNames(await database.tables())
    const breaks = async (at: FaultPoint, nth: number): Promise<boolean> => {
      breakAt(onFaultPoint, at, nth)
      const isBroken = await breaksOff(operate)
      mend(onFaultPoint)
      if (isBroken) expect(withoutNames(await database.tables())).toEqual(before)
      return isBroken
    }
    expect(await breaks('store:before-commit', 1)).toBe(true)
    let writes = 0
    while (await breaks('store:statement', writes + 1)) writes++
    expect(writes).toBeGreaterThan(0)
    expect(withoutNames(await database.tables())).not.toEqual(before)
    await store.close()
    await database.isSound()
  },
)
