import { existsSync, lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { PawlError } from '../../domain/errors.ts'
import { Connection } from './connection.ts'
import type { Driver } from './driver.ts'
import { isBusy, isNotDatabase, translateError } from './errors.ts'
import { migrate, refuseForeignDatabase, refuseOtherPrograms } from './migrations/index.ts'
import { createPrivateFile, makeEmptyFilePrivate } from './private-file.ts'
import { isUnfinishedFile } from './unfinished-file.ts'

export type Durability = 'power' | 'process'

/** SQLite would block the event loop while it waits for a lock. We wait ourselves, while other work goes on. */
const BUSY_TIMEOUT_MS = 0

const OPEN_PATIENCE_MS = 30_000

export const MEMORY = ':memory:'

/** Opens and migrates a database. Refuses what is not ours without changing a byte of it. */
export async function openDatabase(driver: Driver, path: string, durability: Durability): Promise<Connection> {
  if (path === MEMORY) return prepare(new Connection(driver, driver.open(path)), path, durability)
  const absolute = resolve(path)
  if (createDatabaseFile(absolute) === 'exists') makeEmptyFilePrivate(absolute)
  peekForForeignDatabase(driver, absolute)
  const patience = performance.now() + OPEN_PATIENCE_MS
  for (;;) {
    let connection: Connection | undefined
    try {
      connection = new Connection(driver, driver.open(absolute))
      return prepare(connection, absolute, durability)
    } catch (error) {
      connection?.close()
      if (!isBusy(error) || performance.now() > patience) throw translateError(error, absolute)
      await new Promise((wake) => setTimeout(wake, 5 + Math.random() * 20))
    }
  }
}

/** One more connection to a database that is open already, for somebody who only reads, and may take long. */
export async function openForReading(driver: Driver, path: string): Promise<Connection> {
  const patience = performance.now() + OPEN_PATIENCE_MS
  for (;;) {
    let connection: Connection | undefined
    try {
      connection = new Connection(driver, driver.open(path))
      connection.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
      connection.exec('pragma query_only = on')
      connection.exec('pragma trusted_schema = off')
      connection.exec('pragma temp_store = memory')
      connection.exec('pragma cache_size = -32768')
      // The first look at the file: readers wait for nobody, but for the moment in which it is recovered or closed.
      connection.get('pragma schema_version')
      return connection
    } catch (error) {
      connection?.close()
      if (!isBusy(error) || performance.now() > patience) throw translateError(error, path)
      await new Promise((wake) => setTimeout(wake, 5 + Math.random() * 20))
    }
  }
}

/**
 * Another program's file is refused without opening it for real, which could leave a log or a lock beside it. The look
 * takes no locks, so it may find a page that is just being written; only what it says for certain counts.
 */
function peekForForeignDatabase(driver: Driver, path: string): void {
  if (statSync(path).size === 0 || isUnfinishedFile(path)) return
  let connection: Connection | null = null
  try {
    const handle = driver.peek(path)
    if (handle === null) return
    connection = new Connection(driver, handle)
    refuseOtherPrograms(connection, path)
  } catch (error) {
    if (connection === null || error instanceof PawlError || isNotDatabase(error)) throw translateError(error, path)
  } finally {
    connection?.close()
  }
}

/** The path by which all processes know this database, whatever links lead to it. */
export function realDatabasePath(path: string): string {
  return realpathSync(resolve(path))
}

/** A path at which no database can be, nor be made. */
export function refuseUnusablePath(path: string): void {
  const folder = dirname(path)
  if (!existsSync(folder)) {
    throw new PawlError(
      'database_unavailable',
      `Expected the folder of the database ${path} to exist, but ${folder} does not. Create it first.`,
      { details: { path } },
    )
  }
  const about = describeObstacle(path)
  if (about === null) return
  throw new PawlError('database_unavailable', `Expected ${path} to be a file, but it is ${about}.`, {
    details: { path },
  })
}

/** What is at a path at which a file could not be. Null: a file, or nothing. */
function describeObstacle(path: string): string | null {
  // The link first: what another process makes between the two looks must not be taken for a link that leads nowhere.
  const link = lookAt(path, lstatSync)?.isSymbolicLink() ?? false
  const found = lookAt(path, statSync)
  if (found?.isDirectory()) return 'a folder. Name a file in it'
  if (found !== null) return found.isFile() ? null : 'a device, a pipe or a socket. Name another one'
  // SQLite would follow the link and make a file there that everybody may read.
  return link ? 'a link to a file that does not exist. Name that file itself, or remove the link' : null
}

/** Whether there is anything of this name, also a link that leads nowhere. */
export function isTaken(path: string): boolean {
  return lookAt(path, lstatSync) !== null
}

/** Null also for a path at which nothing can be: making the file says what is wrong with it. */
function lookAt(path: string, look: (path: string) => Stats): Stats | null {
  try {
    return look(path)
  } catch {
    return null
  }
}

/** Makes the file, private, unless it is there; or says why it cannot be made. */
export function createDatabaseFile(path: string): 'created' | 'exists' {
  refuseUnusablePath(path)
  try {
    return createPrivateFile(path)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new PawlError(
      reason === 'ENOSPC' ? 'storage_full' : 'database_unavailable',
      `The database ${path} cannot be created (${reason}). Check that ${dirname(path)} is writable for this user.`,
      { cause: error, details: { path } },
    )
  }
}

function prepare(connection: Connection, path: string, durability: Durability): Connection {
  connection.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
  refuseForeignDatabase(connection, path)
  connection.exec('pragma foreign_keys = on')
  connection.exec('pragma trusted_schema = off')
  connection.exec('pragma temp_store = memory')
  connection.exec('pragma cache_size = -32768')
  if (path !== MEMORY) {
    const mode = connection.get<{ journal_mode: string }>('pragma journal_mode = wal')?.journal_mode
    if (mode !== 'wal') {
      throw new PawlError(
        'database_unavailable',
        `The database ${path} cannot use write-ahead logging (journal mode is ${mode}). Network file systems cannot; use a local disk.`,
        { details: { path } },
      )
    }
    // Libraries differ in their defaults, and NORMAL would lose acknowledged commits when the power fails.
    connection.exec(`pragma synchronous = ${durability === 'power' ? 'full' : 'normal'}`)
    connection.exec('pragma fullfsync = on')
    connection.exec('pragma checkpoint_fullfsync = on')
    connection.exec('pragma journal_size_limit = 67108864')
    // A checkpoint syncs the database file as well; four times as rarely as by default, the log stays below 20 MB.
    connection.exec('pragma wal_autocheckpoint = 4000')
  }
  migrate(connection, path, Date.now())
  return connection
}
