import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BetterSqlite3 } from 'pawl/sqlite'
import { afterEach } from 'vitest'

const folders: string[] = []

export function newDatabasePath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-sqlite-'))
  folders.push(folder)
  return join(folder, 'pawl.db')
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

interface Statement {
  run(...values: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  get(...values: unknown[]): unknown
  all(...values: unknown[]): unknown[]
}

export interface Handle {
  prepare(sql: string): Statement
  exec(sql: string): unknown
  close(): void
}

/** The library that Pawl uses here: two copies of SQLite in one process must not share a file. */
const library = Number(process.versions.node.split('.')[0]) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'

export const { DatabaseSync, backup } = (await import(library)) as {
  DatabaseSync: new (path: string) => Handle
  backup(handle: Handle, path: string): Promise<unknown>
}

export function withHandle<Answer>(path: string, work: (handle: Handle) => Answer): Answer {
  const handle = new DatabaseSync(path)
  try {
    return work(handle)
  } finally {
    handle.close()
  }
}

export interface Recording {
  /** The caller's own library, to be given as `sqlite(path, { driver })`. */
  readonly driver: BetterSqlite3
  /** Every statement that was executed, with the values of its last execution. */
  readonly executed: Map<string, readonly unknown[]>
  /** Called before each statement is prepared. */
  beforePrepare: (sql: string) => void
}

/** A library that writes down every statement that is executed through it. */
export function recordStatements(): Recording {
  const executed = new Map<string, readonly unknown[]>()
  class RecordingDatabase extends (DatabaseSync as new (path: string) => Handle) {
    override prepare(sql: string): Statement {
      recording.beforePrepare(sql)
      const statement = super.prepare(sql)
      const note = <Answer>(execute: (...values: unknown[]) => Answer) => {
        return (...values: unknown[]): Answer => {
          executed.set(sql, values)
          return execute.apply(statement, values)
        }
      }
      return { run: note(statement.run), get: note(statement.get), all: note(statement.all) }
    }
    backup(path: string): Promise<unknown> {
      return backup(this, path)
    }
  }
  const recording: Recording = {
    driver: RecordingDatabase as unknown as BetterSqlite3,
    executed,
    beforePrepare: () => {},
  }
  return recording
}
