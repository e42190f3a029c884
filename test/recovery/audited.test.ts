import { onFaultPoint } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import type { SweptDatabase } from '../../torture/sweep/database.ts'
import { auditedOperations } from '../../torture/sweep/operations/doors.ts'
import { Stage } from '../../torture/sweep/stage.ts'
import { breakAt, breaksOff, mend, withoutNames } from '../stores/breaks.ts'
import { storeAt } from '../stores/package-stores.ts'
import { SharedDatabase } from '../stores/shared-database.ts'

// Each audited change is broken off before its first write, before its second, and so on until it passes whole: at no
// time is there a change without its note, or a note without its change.

afterEach(() => mend(onFaultPoint))

test.for(auditedOperations)('$name: the note is there if and only if the change is', async ({ prepare }) => {
  const database = new SharedDatabase()
  const store = await storeAt(database.address).open()
  // None of these operations does anything behind the store's back.
  const operate = await prepare(await Stage.on({} as SweptDatabase, store))
  const read = async () => {
    const { pawl_audit: notes, sqlite_sequence: _, ...tables } = withoutNames(await database.tables())
    return { notes, tables }
  }
  const { notes: noNotes, tables: unchanged } = await read()
  expect(noNotes).toEqual([])
  let breaks = 0
  for (let isWhole = false; !isWhole; ) {
    breakAt(onFaultPoint, 'store:statement', breaks + 1)
    isWhole = !(await breaksOff(operate))
    mend(onFaultPoint)
    const { notes, tables } = await read()
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
