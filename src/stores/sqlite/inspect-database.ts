import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Connection } from './connection.ts'
import type { Driver, DriverHandle } from './driver.ts'
import { isBusy, isNotDatabase, translateError } from './errors.ts'
import { FOREIGN_SCHEMA, NO_SCHEMA, readSchemaState, type SchemaState } from './migrations/index.ts'
import { MEMORY, realDatabasePath, refuseUnusablePath } from './open-database.ts'
import { isUnfinishedFile } from './unfinished-file.ts'

const INSPECT_PATIENCE_MS = 5_000

/** Whether others may have the file open, and whether its log holds what the file does not. */
type Company = 'others' | 'left-log' | 'nobody'

/**
 * Looks at a database from outside. Neither it nor its log changes, and no file comes or goes, whatever state it is in: used
 * by others, closed in good order, or left with a log by a process that died.
 */
export async function inspectDatabase(driver: Driver, path: string): Promise<SchemaState> {
  if (path === MEMORY) return NO_SCHEMA
  refuseUnusablePath(resolve(path))
  if (!existsSync(path)) return NO_SCHEMA
  // A link may lead to it, and its log lies beside the file itself.
  const absolute = realDatabasePath(path)
  const patience = performance.now() + INSPECT_PATIENCE_MS
  for (;;) {
    if (sizeOf(absolute) === 0 || isUnfinishedFile(absolute)) return NO_SCHEMA
    const company = companyOf(absolute)
    const isLate = performance.now() > patience
    try {
      const state = look(driver, absolute, company)
      if (companyOf(absolute) === company || isLate) return state
    } catch (error) {
      if (isNotDatabase(error)) return FOREIGN_SCHEMA
      // Somebody came or went during the look, and what it found may be half of the old and half of the new.
      const isDisturbed = isBusy(error) || companyOf(absolute) !== company
      if (!isDisturbed || isLate) throw translateError(error, absolute)
    }
    await new Promise((wake) => setTimeout(wake, 5 + Math.random() * 20))
  }
}

function look(driver: Driver, path: string, company: Company): SchemaState {
  switch (company) {
    case 'others':
      return readThrough(driver, driver.openReadOnly(path), path)
    case 'left-log':
      return lookAtCopy(driver, path)
    case 'nobody': {
      const handle = driver.peek(path)
      return handle === null ? lookAtCopy(driver, path) : readThrough(driver, handle, path)
    }
  }
}

function readThrough(driver: Driver, handle: DriverHandle, path: string): SchemaState {
  const connection = new Connection(driver, handle)
  try {
    return readSchemaState(connection, path)
  } finally {
    connection.close()
  }
}

/**
 * To read a log, SQLite makes an index of it beside it, and a reader cannot remove that again without harm to whoever
 * comes meanwhile. Nobody has the file open, so reading it as plain bytes drops nobody's locks.
 */
function lookAtCopy(driver: Driver, path: string): SchemaState {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-inspect-'))
  try {
    const copy = join(folder, 'copy.db')
    copyFileSync(path, copy)
    if (sizeOf(`${path}-wal`) > 0) copyFileSync(`${path}-wal`, `${copy}-wal`)
    return readThrough(driver, driver.open(copy), path)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Who has a database of ours open has both files beside it; they go when the last one closes in good order. */
function companyOf(path: string): Company {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  if (log === undefined) return 'nobody'
  if (statSync(`${path}-shm`, { throwIfNoEntry: false }) !== undefined) return 'others'
  return log.size > 0 ? 'left-log' : 'nobody'
}

/** 0 also for a file that is not there. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
