import { passFaultPoint } from '../../store/fault-points.ts'
import type { Driver, DriverHandle, DriverStatement } from './driver.ts'

export type SqlValue = string | number | null

export type SqlRow = Record<string, SqlValue>

/**
 * The small part of a SQLite library that Pawl uses: the API of `node:sqlite`, with each statement prepared once. Values
 * are bound to plain `?` in their order: better-sqlite3 takes numbered ones for named.
 */
export class Connection {
  readonly driver: Driver
  readonly handle: DriverHandle
  readonly #statements = new Map<string, DriverStatement>()
  #rowsChanged = 0

  constructor(driver: Driver, handle: DriverHandle) {
    this.driver = driver
    this.handle = handle
  }

  /** How many rows this connection has written so far. The difference tells whether some work wrote any. */
  get rowsChanged(): number {
    return this.#rowsChanged
  }

  /** Runs a statement for its effect. Returns how many rows it changed. */
  run(sql: string, ...values: SqlValue[]): number {
    passFaultPoint('store:statement')
    const changes = Number(this.#prepare(sql).run(...values).changes)
    this.#rowsChanged += changes
    return changes
  }

  /** Inserts one row and returns its rowid. */
  insert(sql: string, ...values: SqlValue[]): number {
    passFaultPoint('store:statement')
    this.#rowsChanged++
    return Number(this.#prepare(sql).run(...values).lastInsertRowid)
  }

  /** Runs a statement that writes at most one row and returns it. */
  runReturning<Row extends SqlRow>(sql: string, ...values: SqlValue[]): Row | undefined {
    passFaultPoint('store:statement')
    const row = this.#prepare(sql).get(...values) as Row | undefined
    if (row !== undefined) this.#rowsChanged++
    return row
  }

  get<Row extends SqlRow>(sql: string, ...values: SqlValue[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined
  }

  all<Row extends SqlRow>(sql: string, ...values: SqlValue[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[]
  }

  /** Begins or ends a transaction, by a statement that is prepared once. */
  control(sql: string): void {
    this.#prepare(sql).run()
  }

  /** Runs statements that need no values and return nothing: transactions, migrations, pragmas. */
  exec(sql: string): void {
    this.handle.exec(sql)
  }

  close(): void {
    this.#statements.clear()
    this.handle.close()
  }

  #prepare(sql: string): DriverStatement {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.handle.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}
