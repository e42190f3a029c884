import { postgres } from 'pawl/postgres'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler as open, type TestScheduler, type TestSchedulerOptions } from 'pawl/testing'
import { storesFrom } from './each-store.ts'

export { onlyOnSqlite, plainSql, position, storeKind } from './each-store.ts'

/** For tests that import the package by its name. */
export const { newStore, newSharedStore, storeAt } = storesFrom({ sqlite, postgres })

/** `openTestScheduler` of `pawl/testing`, on the store that the tests are about this time. */
export function openTestScheduler(options: TestSchedulerOptions = {}): Promise<TestScheduler> {
  return open({ store: newStore(), ...options })
}
