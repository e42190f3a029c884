import { postgres } from '../../src/stores/postgres/index.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { storesFrom } from './each-store.ts'

export { onlyOnSqlite, plainSql, position, storeKind } from './each-store.ts'

/** For tests that import the sources. */
export const { newStore, newSharedStore, storeAt } = storesFrom({ sqlite, postgres })
