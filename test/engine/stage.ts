import type { BetterSqlite3 } from 'pawl/sqlite'
import { type FaultPoint, onFaultPoint } from 'pawl/testing'
import { afterEach } from 'vitest'
import type { Handle } from '../lifecycle/stage.ts'

afterEach(() => onFaultPoint(null))

/** The primary result codes of SQLite that these tests speak of. */
export const SQLITE_FULL = 13

/** An error as the SQLite library throws it. */
export function sqliteError(errcode: number): Error {
  return Object.assign(new Error(`SQLite says ${errcode}`), { errcode })
}

/** Every commit fails with this error, until `repair` is called. */
export function breakCommits(error: Error): { repair(): void } {
  onFaultPoint((point) => {
    if (point === 'store:before-commit') throw error
  })
  return { repair: () => onFaultPoint(null) }
}

/** The next time this point is passed, the error is thrown there. Answers whether that has happened. */
export function failOnce(at: FaultPoint, error: Error): () => boolean {
  let hasFailed = false
  onFaultPoint((point) => {
    if (point !== at || hasFailed) return
    hasFailed = true
    throw error
  })
  return () => hasFailed
}

type Statement = ReturnType<Handle['prepare']>

const library = Number(process.versions.node.split('.')[0]) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'
const { DatabaseSync } = (await import(library)) as { DatabaseSync: new (path: string) => Handle }

/** The library that Pawl uses here, with something between each statement and its execution. */
export function libraryWith(execute: (sql: string, values: readonly unknown[], run: () => unknown) => unknown) {
  class WatchedDatabase extends DatabaseSync {
    override prepare(sql: string): Statement {
      const statement = super.prepare(sql)
      const watch = (method: (...values: unknown[]) => unknown) => {
        return (...values: unknown[]) => execute(sql, values, () => method.apply(statement, values))
      }
      return { run: watch(statement.run), get: watch(statement.get), all: watch(statement.all) } as Statement
    }
  }
  return WatchedDatabase as unknown as BetterSqlite3
}

/** A library that cannot write a value that contains this text, as no driver can write some values. */
export function libraryThatRefuses(text: string): BetterSqlite3 {
  return libraryWith((_sql, values, run) => {
    if (values.some((value) => typeof value === 'string' && value.includes(text))) throw new Error('not a value I know')
    return run()
  })
}

/** Blocks the event loop, as a body that computes does. */
export function compute(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}
