// Pruning events costs one page, however many there are.
import { openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { expect, test } from 'vitest'
import { newDatabasePath, openHandle } from '../lifecycle/stage.ts'

const DAY_MS = 24 * 3_600_000

test('it looks at the oldest page only: one old row behind a page of young ones is not searched for', async () => {
  const path = await databaseWithEvents(`
    select case when i = 11 then 1 else 1000 end from numbers where i <= 12`)
  const store = await sqlite(path).open()
  expect(await store.pruneEvents(500, 10)).toBe(0)
  expect(await store.pruneEvents(500, 11)).toBe(1)
  await store.close()
})

test('a start removes one page of what is old, and no more', async () => {
  const path = await databaseWithEvents(`select ${Date.now() - 2 * DAY_MS} from numbers where i <= 2500`)
  await using scheduler = await openScheduler({ store: sqlite(path) })
  await scheduler.start()
  expect(countEvents(path)).toBe(1500)
})

/** Writes events behind Pawl's back, with the instants that this statement selects. */
async function databaseWithEvents(select: string): Promise<string> {
  const path = newDatabasePath()
  await (await openScheduler({ store: sqlite(path) })).close()
  const handle = openHandle(path)
  handle.exec(`
    with recursive numbers (i) as (select 1 union all select i + 1 from numbers where i < 2500)
    insert into pawl_events (at, transitions)
    select at, '[]' from (${select.replace(' from', ' as at from')})`)
  handle.close()
  return path
}

function countEvents(path: string): number {
  const handle = openHandle(path)
  const { count } = handle.prepare('select count(*) as count from pawl_events').get() as { count: number }
  handle.close()
  return count
}
