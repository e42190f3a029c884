import { pathToFileURL } from 'node:url'
import { PawlError } from '../../domain/errors.ts'

export interface DriverStatement {
  run(...values: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  get(...values: unknown[]): unknown
  all(...values: unknown[]): unknown[]
  /** Rows as arrays from now on: of node:sqlite. */
  setReturnArrays?(isArray: boolean): void
  /** The same of better-sqlite3. */
  raw?(isArray: boolean): unknown
}

/** What `DatabaseSync` of node:sqlite and `Database` of better-sqlite3 have in common. */
export interface DriverHandle {
  prepare(sql: string): DriverStatement
  exec(sql: string): unknown
  close(): unknown
}

/** One SQLite library. A process must use the same one for all its connections to a file. */
export interface Driver {
  readonly name: string
  open(path: string): DriverHandle
  /** Opens a file to read what stands in it, without locks and without leaving a trace; null where that cannot be done. */
  peek(path: string): DriverHandle | null
  /**
   * Opens a file that has a log and the index of the log beside it, only to read. Neither the file nor its log changes; the
   * index does, as with every reader. It is not opened read-only itself: this process could not write afterwards, because a
   * library has one handle to the index for all connections of a process.
   */
  openReadOnly(path: string): DriverHandle
  /** Whether this handle was made by this very library. */
  owns(handle: unknown): handle is DriverHandle
  backup(handle: DriverHandle, path: string): Promise<void>
}

/** The class of better-sqlite3, structurally, so that Pawl needs no dependency on it. */
export interface BetterSqlite3 {
  new (
    path: string,
    options?: { timeout?: number; readonly?: boolean },
  ): DriverHandle & {
    backup(path: string, options: { progress: () => number }): Promise<unknown>
  }
}

interface NodeSqlite {
  DatabaseSync: new (path: string) => DriverHandle
  backup(handle: DriverHandle, path: string, options: { rate: number }): Promise<unknown>
}

const BACKUP_PAGES_MAX = 2_147_483_647

/** Node's own SQLite carries the flags Pawl needs from Node 24 on; older ones get the same API from a package. */
const BUILT_IN_SINCE_NODE = 24

let defaultDriver: Promise<Driver> | undefined

/** The library Pawl uses when the caller brings none: built in on Node 24 and newer, else @photostructure/sqlite. */
export function loadDefaultDriver(): Promise<Driver> {
  defaultDriver ??= loadNodeSqlite()
  return defaultDriver
}

async function loadNodeSqlite(): Promise<Driver> {
  const nodeMajor = Number(process.versions.node.split('.')[0])
  const specifier = nodeMajor >= BUILT_IN_SINCE_NODE ? 'node:sqlite' : '@photostructure/sqlite'
  let library: NodeSqlite
  try {
    library = (await import(specifier)) as NodeSqlite
  } catch (error) {
    throw new PawlError(
      'driver_missing',
      `Expected the package ${specifier}, which Node ${process.versions.node} needs for SQLite, but it cannot be loaded. ` +
        'Install Pawl without --omit=optional, use Node 24 or newer, or pass sqlite(path, { driver }).',
      { cause: error },
    )
  }
  const { DatabaseSync } = library
  return {
    name: specifier,
    open: (path) => new DatabaseSync(path),
    peek: (path) => new DatabaseSync(`${pathToFileURL(path).href}?immutable=1`),
    openReadOnly: (path) => new DatabaseSync(`${pathToFileURL(path).href}?mode=ro`),
    owns: (handle): handle is DriverHandle => handle instanceof DatabaseSync,
    // All pages in one step: a copy in several would begin anew whenever somebody writes meanwhile.
    backup: async (handle, path) => void (await library.backup(handle, path, { rate: BACKUP_PAGES_MAX })),
  }
}

const broughtDrivers = new WeakMap<BetterSqlite3, Driver>()

/** Makes Pawl use the caller's better-sqlite3. */
export function adaptBetterSqlite3(library: BetterSqlite3): Driver {
  let driver = broughtDrivers.get(library)
  if (driver === undefined) {
    driver = {
      name: 'better-sqlite3',
      open: (path) => new library(path, { timeout: 0 }),
      // It takes no URIs.
      peek: () => null,
      openReadOnly: (path) => new library(path, { timeout: 0, readonly: true }),
      owns: (handle): handle is DriverHandle => handle instanceof library,
      backup: async (handle, path) =>
        void (await (handle as InstanceType<BetterSqlite3>).backup(path, { progress: () => BACKUP_PAGES_MAX })),
    }
    broughtDrivers.set(library, driver)
  }
  return driver
}
