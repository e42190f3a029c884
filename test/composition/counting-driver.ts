import type { BetterSqlite3 } from '../../src/stores/sqlite/index.ts'

interface Statement {
  run(...values: unknown[]): { changes: number | bigint }
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
export const { DatabaseSync } = (await import(library)) as { DatabaseSync: new (path: string) => Handle }

/** What one transaction, or one read outside of any, has cost. */
export interface Cost {
  readonly statements: number
  /** Rows that were returned. */
  readonly rowsRead: number
  /** Rows that were changed by statements that say so. */
  readonly rowsWritten: number
}

/** A library that counts what is executed through it. */
export class CountingDriver {
  /** The dearest of everything since the last `reset`, each figure for itself. */
  dearest: Cost = NOTHING
  transactions = 0
  #current: Cost = NOTHING
  readonly driver: BetterSqlite3

  constructor() {
    const count = (sql: string, rowsRead: number, rowsWritten: number) => this.#count(sql, rowsRead, rowsWritten)
    class CountingDatabase extends (DatabaseSync as new (path: string) => Handle) {
      override prepare(sql: string): Statement {
        const statement = super.prepare(sql)
        return {
          run(...values) {
            const result = statement.run(...values)
            count(sql, 0, Number(result.changes))
            return result
          },
          get(...values) {
            const row = statement.get(...values)
            count(sql, row === undefined ? 0 : 1, 0)
            return row
          },
          all(...values) {
            const rows = statement.all(...values)
            count(sql, rows.length, 0)
            return rows
          },
        }
      }
      backup(): Promise<never> {
        return Promise.reject(new Error('nobody backs up here'))
      }
    }
    this.driver = CountingDatabase as unknown as BetterSqlite3
  }

  reset(): void {
    this.dearest = NOTHING
    this.#current = NOTHING
    this.transactions = 0
  }

  #count(sql: string, rowsRead: number, rowsWritten: number): void {
    if (sql.startsWith('begin')) this.#current = NOTHING
    else if (sql === 'commit') this.transactions++
    else {
      const { statements, rowsRead: read, rowsWritten: written } = this.#current
      this.#current = { statements: statements + 1, rowsRead: read + rowsRead, rowsWritten: written + rowsWritten }
      this.dearest = {
        statements: Math.max(this.dearest.statements, this.#current.statements),
        rowsRead: Math.max(this.dearest.rowsRead, this.#current.rowsRead),
        rowsWritten: Math.max(this.dearest.rowsWritten, this.#current.rowsWritten),
      }
    }
  }
}

const NOTHING: Cost = { statements: 0, rowsRead: 0, rowsWritten: 0 }
