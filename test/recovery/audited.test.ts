import { sqlite } from 'pawl/sqlite'
import { onFaultPoint } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import { newDatabase, readTables } from './database.ts'
import { auditedOperations } from './door-operations.ts'
import { Stage } from './operations.ts'

// Each audited change is broken off before its first write, before its second, and so on until it passes whole: at no
// time is there a change without its note, or a note without its change.

afterEach(() => onFaultPoint(null))

test.for(auditedOperations)('$name: the note is there if and only if the change is', async ({ prepare }) => {
  const file = newDatabase()
  const store = await sqlite(file).open()
  const stage = new Stage(store)
  await store.registerNode(stage.node)
  const operate = await prepare(stage)
  const { pawl_audit: noNotes, sqlite_sequence: _, ...unchanged } = readTables(file)
  expect(noNotes).toEqual([])
  let breaks = 0
  for (let isWhole = false; !isWhole; ) {
    breakBefore(breaks + 1)
    isWhole = await operate().then(
      () => true,
      () => false,
    )
    onFaultPoint(null)
    const { pawl_audit: notes, sqlite_sequence: __, ...tables } = readTables(file)
    if (isWhole) {
      expect(notes).toHaveLength(1)
      expect(tables).not.toEqual(unchanged)
    } else {
      expect(notes).toEqual([])
      expect(tables).toEqual(unchanged)
      breaks++
    }
  }
  expect(breaks).toBeGreaterThan(1)
  await store.close()
})

/** Right before the n-th write. */
function breakBefore(nth: number): void {
  let passed = 0
  onFaultPoint((point) => {
    if (point === 'store:statement' && ++passed === nth) throw new Error('crash')
  })
}
