import { resolve } from 'node:path'
import { PawlError } from '../../domain/errors.ts'
import { invalid } from '../../domain/options.ts'
import type { Store, StoreSource, StoreState } from '../../store/store.ts'
import { Connection } from './connection.ts'
import { adaptBetterSqlite3, type BetterSqlite3, type Driver, type DriverHandle, loadDefaultDriver } from './driver.ts'
import { inspectDatabase } from './inspect-database.ts'
import { MemoryLiveness } from './memory-liveness.ts'
import { type Durability, MEMORY, openDatabase, realDatabasePath } from './open-database.ts'
import { SidecarLiveness } from './sidecar-liveness.ts'
import { SqliteStore } from './sqlite-store.ts'

export type { BetterSqlite3 }

export interface SqliteOptions {
  /**
   * Your better-sqlite3 class, when your process uses that library on the same file.
   * @default node:sqlite on Node 24 and newer, @photostructure/sqlite below
   */
  readonly driver?: BetterSqlite3
  /**
   * What an acknowledged write survives: `power` loss, or only the end of the `process`, which is faster.
   * @default 'power'
   */
  readonly durability?: Durability
}

/**
 * A store in one SQLite file, made when it is not there. `':memory:'` lives as long as the scheduler. A database handle
 * stands for its file: Pawl opens connections of its own to it, with the same library.
 */
export function sqlite(pathOrDatabase: string | DriverHandle, options: SqliteOptions = {}): StoreSource {
  for (const name of Object.keys(options)) {
    if (name !== 'driver' && name !== 'durability') {
      throw new PawlError(
        'invalid_option',
        `Expected the options of sqlite() to be driver or durability, got \`${name}\`.`,
      )
    }
  }
  if (options.driver !== undefined && typeof options.driver !== 'function') {
    throw invalid('driver', 'the class that better-sqlite3 exports', options.driver)
  }
  const durability = options.durability ?? 'power'
  if (durability !== 'power' && durability !== 'process') {
    throw new PawlError(
      'invalid_option',
      `Expected \`durability\` to be 'power' or 'process', got \`${String(durability)}\`.`,
    )
  }
  if (pathOrDatabase === '' || (typeof pathOrDatabase !== 'string' && typeof pathOrDatabase?.prepare !== 'function')) {
    throw invalid('sqlite()', 'called with a path or a database handle', pathOrDatabase)
  }
  return {
    open: () => openStore(pathOrDatabase, durability, options.driver),
    inspect: () => inspectStore(pathOrDatabase, options.driver),
  }
}

async function inspectStore(
  pathOrDatabase: string | DriverHandle,
  brought: BetterSqlite3 | undefined,
): Promise<StoreState> {
  const driver = await chooseDriver(pathOrDatabase, brought)
  const path = typeof pathOrDatabase === 'string' ? pathOrDatabase : fileOf(driver, pathOrDatabase)
  const state = await inspectDatabase(driver, path)
  return { description: `sqlite ${path === MEMORY ? MEMORY : resolve(path)}`, ...state }
}

async function openStore(
  pathOrDatabase: string | DriverHandle,
  durability: Durability,
  brought: BetterSqlite3 | undefined,
): Promise<Store> {
  const driver = await chooseDriver(pathOrDatabase, brought)
  const path = typeof pathOrDatabase === 'string' ? pathOrDatabase : fileOf(driver, pathOrDatabase)
  const connection = await openDatabase(driver, path, durability)
  if (path === MEMORY) return new SqliteStore({ connection, path: null, liveness: new MemoryLiveness() })
  const realPath = realDatabasePath(path)
  return new SqliteStore({ connection, path: realPath, liveness: new SidecarLiveness(driver, realPath) })
}

async function chooseDriver(
  pathOrDatabase: string | DriverHandle,
  brought: BetterSqlite3 | undefined,
): Promise<Driver> {
  if (brought !== undefined) return adaptBetterSqlite3(brought)
  const driver = await loadDefaultDriver()
  if (typeof pathOrDatabase === 'string' || driver.owns(pathOrDatabase)) return driver
  throw new PawlError(
    'driver_mismatch',
    `Expected a database handle of ${driver.name}, got one of another library. Pass its class as sqlite(database, { driver }).`,
  )
}

function fileOf(driver: Driver, handle: DriverHandle): string {
  const rows = new Connection(driver, handle).all<{ name: string; file: string }>('pragma database_list')
  const file = rows.find((row) => row.name === 'main')?.file ?? ''
  if (file === '') {
    throw new PawlError(
      'invalid_option',
      "Expected a handle to a database file, got one to a database in memory. Use sqlite(':memory:') instead.",
    )
  }
  return file
}
