import { sqlite } from 'pawl/sqlite'
import { type FaultPoint, onFaultPoint } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import { isSound, newDatabase, readTables } from './database.ts'
import { operations, Stage } from './operations.ts'

// Each operation is broken off before its first write, before its second, and so on until it passes whole, and once more
// right before its commit. A broken one must leave every row as it was, and must not keep the next try from succeeding.

afterEach(() => onFaultPoint(null))

test.for(operations)(
  '$name: broken off at any write, nothing of it is stored, and the next try succeeds',
  async (operation) => {
    const file = newDatabase()
    const store = await sqlite(file).open()
    const stage = new Stage(store)
    await store.registerNode(stage.node)
    const operate = await operation.prepare(stage)
    const before = readTables(file)
    const breaks = async (at: FaultPoint, nth: number): Promise<boolean> => {
      breakAt(at, nth)
      const error = await operate().then(
        () => null,
        (thrown: unknown) => thrown,
      )
      onFaultPoint(null)
      if (error === null) return false
      expect(error).toEqual(new Error('crash'))
      expect(readTables(file)).toEqual(before)
      return true
    }
    expect(await breaks('store:before-commit', 1)).toBe(true)
    let writes = 0
    while (await breaks('store:statement', writes + 1)) writes++
    expect(writes).toBeGreaterThan(0)
    expect(readTables(file)).not.toEqual(before)
    await store.close()
    isSound(file)
  },
)

function breakAt(at: FaultPoint, nth: number): void {
  let passed = 0
  onFaultPoint((point) => {
    if (point === at && ++passed === nth) throw new Error('crash')
  })
}
