import { realpathSync } from 'node:fs'
import { PawlError } from '../../domain/errors.ts'
import { Connection } from './connection.ts'
import type { Driver, DriverHandle } from './driver.ts'
import { translateError } from './errors.ts'
import { Interned, Transaction } from './transaction.ts'

/** Lets Pawl write inside a transaction of the caller's, on the caller's own handle to the same file. */
export class CallerTransactions {
  readonly #driver: Driver
  readonly #path: string | null
  #connections = new WeakMap<DriverHandle, Connection>()

  constructor(driver: Driver, path: string | null) {
    this.#driver = driver
    this.#path = path
  }

  within<T>(handle: unknown, work: (transaction: Transaction) => T): T {
    const connection = this.#connectionOf(handle)
    // Nothing is remembered across calls: the caller may roll back what this one adds.
    const transaction = new Transaction(connection, new Interned())
    try {
      // A refused request must leave nothing behind in a transaction that goes on.
      connection.exec('savepoint pawl_enqueue')
      try {
        const result = work(transaction)
        connection.exec('release pawl_enqueue')
        return result
      } catch (error) {
        undo(connection)
        throw error
      }
    } catch (error) {
      throw translateError(error, this.#path ?? ':memory:')
    }
  }

  forget(): void {
    this.#connections = new WeakMap()
  }

  #connectionOf(handle: unknown): Connection {
    if (!this.#driver.owns(handle)) throw mismatch(this.#driver)
    let connection = this.#connections.get(handle)
    if (connection === undefined) {
      connection = new Connection(this.#driver, handle)
      this.#refuseOtherFile(connection)
      this.#connections.set(handle, connection)
    }
    return connection
  }

  #refuseOtherFile(connection: Connection): void {
    const main = connection
      .all<{ name: string; file: string }>('pragma database_list')
      .find((row) => row.name === 'main')
    const file = main === undefined || main.file === '' ? null : realpathSync(main.file)
    // A database in memory belongs to one connection; no other handle can be to the same one.
    if (file === null || file !== this.#path) {
      throw new PawlError(
        'wrong_database',
        `Expected a handle to ${this.#path ?? 'the same database in memory'}, got one to ${file ?? 'a database in memory'}. ` +
          'A Job can share a transaction only with data in the same file.',
      )
    }
  }
}

function undo(connection: Connection): void {
  try {
    connection.rollback('rollback to pawl_enqueue; release pawl_enqueue')
  } catch {
    // SQLite has rolled back the caller's whole transaction by itself (disk full, I/O error). The first error says why.
  }
}

function mismatch(driver: Driver): PawlError {
  return new PawlError(
    'driver_mismatch',
    `Expected a database handle of ${driver.name}, the SQLite library that Pawl uses in this process, got another value. ` +
      'Two SQLite libraries on one file lose commits. Open your handle with that library, or pass yours as sqlite(path, { driver }).',
  )
}
