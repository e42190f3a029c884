import { passFaultPoint } from '../../store/fault-points.ts'
import type { Driver, DriverHandle, DriverStatement } from './driver.ts'

export type SqlValue = string | number | null

export type SqlRow = Record<string, SqlValue>

/**
 * SQLite looks at the value of a plain `limit ?` when it plans, and so plans the statement anew each time that one is bound: about
 * 15 microseconds, many times what a page of a few rows costs. It does not look into an expression.
 */
const BOUND_LIMIT = /\blimit \?/g

/** From so many rows on, one statement that reads them as JSON costs less than one statement for each. */
export const MANY = 8

/** Rows that one statement inserts, if there are so many: to call a statement costs about as much as to write a row. */
const ROWS_PER_INSERT = [25, 5, 1] as const

/** An insert of one row: all before its values, and those. */
const ONE_ROW = /^([\s\S]*\bvalues )(\([?, \d]+\))$/

/**
 * The small part of a SQLite library that Pawl uses: the API of `node:sqlite`, with each statement prepared once. Values
 * are bound to plain `?` in their order: better-sqlite3 takes numbered ones for named.
 */
export class Connection {
  readonly driver: Driver
  readonly handle: DriverHandle
  readonly #statements = new Map<string, DriverStatement>()
  /** Those whose rows are arrays. */
  readonly #tupleStatements = new Map<string, DriverStatement>()
  /** Rows that are to be inserted with the next statement, whatever that is, by the statements for one of them. */
  readonly #later = new Map<string, { readonly width: number; readonly values: SqlValue[] }>()
  /** Inserts of several rows, by the statement for one and by how many they insert. */
  readonly #manyRowStatements = new Map<string, Map<number, DriverStatement>>()
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

  /**
   * Inserts a row by a statement for one, before anything else is read or written: as many as come together are inserted
   * together. What is wrong with one of them is told by what comes next, at the latest by the commit.
   */
  insertLater(sql: string, ...values: SqlValue[]): void {
    this.#rowsChanged++
    const rows = this.#later.get(sql)
    if (rows === undefined) this.#later.set(sql, { width: values.length, values })
    else rows.values.push(...values)
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

  /** Rows as arrays, in the order of their columns: to make objects of many rows costs more than to read them. */
  tuples<Tuple extends readonly SqlValue[]>(sql: string, ...values: SqlValue[]): Tuple[] {
    if (this.#later.size > 0) this.#insertLate()
    let statement = this.#tupleStatements.get(sql)
    if (statement === undefined) {
      statement = this.#prepareAnew(sql)
      statement.setReturnArrays?.(true)
      statement.raw?.(true)
      this.#tupleStatements.set(sql, statement)
    }
    const rows = statement.all(...values)
    // A library, or something around it, may know neither.
    if (rows.length === 0 || Array.isArray(rows[0])) return rows as Tuple[]
    return (rows as SqlRow[]).map((row) => Object.values(row) as unknown as Tuple)
  }

  /** Begins or ends a transaction, by a statement that is prepared once. */
  control(sql: string): void {
    this.#prepare(sql).run()
  }

  /** Runs statements that need no values and return nothing: transactions, migrations, pragmas. */
  exec(sql: string): void {
    if (this.#later.size > 0) this.#insertLate()
    this.handle.exec(sql)
  }

  /** Takes back a transaction, or what came after a savepoint. */
  rollback(sql: string): void {
    this.#later.clear()
    this.handle.exec(sql)
  }

  close(): void {
    this.#statements.clear()
    this.#tupleStatements.clear()
    this.#manyRowStatements.clear()
    this.handle.close()
  }

  #insertLate(): void {
    const inserts = [...this.#later]
    this.#later.clear()
    for (const [sql, { width, values }] of inserts) {
      let next = 0
      for (const count of ROWS_PER_INSERT) {
        const length = count * width
        for (; values.length - next >= length; next += length) {
          passFaultPoint('store:statement')
          this.#prepareInsert(sql, count).run(...values.slice(next, next + length))
        }
      }
    }
  }

  #prepareInsert(sql: string, count: number): DriverStatement {
    if (count === 1) return this.#prepare(sql)
    let statements = this.#manyRowStatements.get(sql)
    if (statements === undefined) {
      statements = new Map()
      this.#manyRowStatements.set(sql, statements)
    }
    let statement = statements.get(count)
    if (statement === undefined) {
      statement = this.#prepareAnew(sql.replace(ONE_ROW, (_, head: string, row: string) => head + repeat(row, count)))
      statements.set(count, statement)
    }
    return statement
  }

  #prepare(sql: string): DriverStatement {
    if (this.#later.size > 0) this.#insertLate()
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#prepareAnew(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #prepareAnew(sql: string): DriverStatement {
    return this.handle.prepare(sql.replace(BOUND_LIMIT, 'limit ? + 0'))
  }
}

function repeat(row: string, count: number): string {
  return Array(count).fill(row).join(', ')
}
