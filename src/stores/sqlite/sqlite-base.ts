import { rmSync } from 'node:fs'
import { PawlError } from '../../domain/errors.ts'
import type { StoreSignal } from '../../store/events.ts'
import type { Liveness } from '../../store/nodes.ts'
import { CallerTransactions } from './caller-transactions.ts'
import { ChangeWatcher } from './change-watcher.ts'
import type { Connection } from './connection.ts'
import { isBusy, translateError } from './errors.ts'
import { GroupCommitter } from './group-committer.ts'
import { createDatabaseFile, isTaken, openForReading } from './open-database.ts'
import type { Interned, Transaction } from './transaction.ts'

export interface SqliteStoreParts {
  readonly connection: Connection
  /** Null for a database in memory. */
  readonly path: string | null
  readonly liveness: Liveness
}

/** One open SQLite database: how it is read, written, watched, copied and closed. What is read and written is not known here. */
export abstract class SqliteBase {
  readonly description: string
  readonly liveness: Liveness
  readonly logDirectory: string | null
  readonly now = null
  readonly callerTransactions = 'synchronous'
  readonly claimsAtOnce = 1
  protected readonly connection: Connection
  /** Null for a database in memory. */
  protected readonly path: string | null
  readonly #path: string
  readonly #committer: GroupCommitter
  readonly #callers: CallerTransactions
  readonly #listeners = new Set<(signal: StoreSignal) => void>()
  readonly #watcher: ChangeWatcher | null
  /** What reads on a connection of its own: copies and checks. */
  readonly #readers = new Set<Promise<unknown>>()
  #ground: object | null = null
  #closed = false

  constructor(parts: SqliteStoreParts) {
    const signal = (what: StoreSignal) => {
      for (const listener of this.#listeners) listener(what)
    }
    this.connection = parts.connection
    this.path = parts.path
    this.#path = parts.path ?? ':memory:'
    this.description = `sqlite ${this.#path}`
    this.liveness = parts.liveness
    this.logDirectory = parts.path === null ? null : `${parts.path}-logs`
    this.#committer = new GroupCommitter(parts.connection, this.#path, signal)
    this.#callers = new CallerTransactions(parts.connection.driver, parts.path)
    this.#watcher =
      parts.path === null ? null : new ChangeWatcher(parts.connection, () => signal({ kind: 'changed-elsewhere' }))
  }

  protected get interned(): Interned {
    return this.#committer.interned
  }

  protected write<T>(work: (transaction: Transaction) => T): Promise<T> {
    if (this.#closed) return Promise.reject(closedError(this.#path))
    return this.#committer.write(work)
  }

  /**
   * The same store, whose writes are done by `around`. It shares everything with this one, so that its writes join the same
   * groups.
   */
  protected viewWith(around: <T>(transaction: Transaction, work: (transaction: Transaction) => T) => T): this {
    this.#ground ??= this.#layGround()
    const view = Object.create(this.#ground) as this
    view.write = (work) => this.write((transaction) => around(transaction, work))
    view.writeWithin = (handle, work) => this.writeWithin(handle, (transaction) => around(transaction, work))
    return view
  }

  /** What all views stand on: whatever may use private fields is bound to this store, because a view has none. */
  #layGround(): object {
    const ground = Object.create(this) as object
    for (const name of Object.getOwnPropertyNames(SqliteBase.prototype)) {
      const member: unknown = Reflect.get(this, name)
      const value: unknown = typeof member === 'function' && name !== 'constructor' ? member.bind(this) : member
      Object.defineProperty(ground, name, { value, writable: true })
    }
    return ground
  }

  /** Inside the caller's own transaction, on the caller's handle. */
  protected writeWithin<T>(handle: unknown, work: (transaction: Transaction) => T): T {
    this.#refuseClosed()
    return this.#callers.within(handle, work)
  }

  protected async read<T>(work: (connection: Connection) => T): Promise<T> {
    this.#refuseClosed()
    for (let attempt = 1; ; attempt++) {
      try {
        return work(this.connection)
      } catch (error) {
        if (!isBusy(error) || attempt === READ_ATTEMPTS_MAX) throw translateError(error, this.#path)
      }
      await new Promise((resolve) => setTimeout(resolve, 5 * attempt))
      this.#refuseClosed()
    }
  }

  subscribe(listener: (signal: StoreSignal) => void): () => void {
    this.#refuseClosed()
    this.#listeners.add(listener)
    this.#watcher?.start()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#watcher?.stop()
    }
  }

  /**
   * Reads one state of the database, however long it takes and whatever is written meanwhile, on a connection of its own.
   * After each step others have their turn. A database in memory has one connection only: there it is all one step.
   */
  protected readSnapshot<T>(steps: (connection: Connection) => Generator<undefined, T>): Promise<T> {
    return this.#awaited(this.#watcher === null ? this.read((own) => takeAll(steps(own))) : this.#readApart(steps))
  }

  async #readApart<T>(steps: (connection: Connection) => Generator<undefined, T>): Promise<T> {
    this.#refuseClosed()
    const connection = await openForReading(this.connection.driver, this.#path)
    try {
      connection.exec('begin')
      const under = steps(connection)
      for (let step = under.next(); ; step = under.next()) {
        if (step.done === true) return step.value
        await new Promise<void>((resolve) => setImmediate(resolve))
      }
    } catch (error) {
      throw translateError(error, this.#path)
    } finally {
      connection.close()
    }
  }

  /** The database is closed only when this is over. */
  #awaited<T>(reading: Promise<T>): Promise<T> {
    this.#readers.add(reading)
    const forget = () => this.#readers.delete(reading)
    reading.then(forget, forget)
    return reading
  }

  /** One file with all that is in the database. The output of commands and child processes, in `logDirectory`, is not in it. */
  backup(path: string): Promise<void> {
    return this.#awaited(this.#backUp(path))
  }

  async #backUp(path: string): Promise<void> {
    this.#refuseClosed()
    // A link counts also when it leads nowhere: the copy, which holds secrets, would be made wherever it points.
    if (isTaken(path) || createDatabaseFile(path) === 'exists') {
      const message = `Expected the backup's path to be a new file, but ${path} exists already.`
      throw new PawlError('invalid_option', message, { details: { path } })
    }
    try {
      await this.#writeBackup(path)
    } catch (error) {
      rmSync(path, { force: true })
      throw translateError(error, path)
    }
  }

  /** From a connection of its own: the library copies in another thread, while this one goes on writing here. */
  async #writeBackup(path: string): Promise<void> {
    if (this.#watcher === null) {
      this.connection.run('vacuum into ?', path)
      return
    }
    const { driver } = this.connection
    const source = driver.open(this.#path)
    try {
      await driver.backup(source, path)
    } finally {
      source.close()
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#watcher?.stop()
    this.#listeners.clear()
    await this.#committer.close()
    await Promise.allSettled(this.#readers)
    this.#callers.forget()
    try {
      // Leaves everything in the one file, also where the library does not tidy up by itself when it closes.
      if (this.#watcher !== null) this.connection.exec('pragma wal_checkpoint(truncate)')
    } catch {
      // Whoever opens it next finds all of it in the log.
    }
    this.connection.close()
  }

  #refuseClosed(): void {
    if (this.#closed) throw closedError(this.#path)
  }
}

function takeAll<T>(steps: Generator<undefined, T>): T {
  for (let step = steps.next(); ; step = steps.next()) if (step.done === true) return step.value
}

/** Readers wait for nobody in WAL mode, but for the moment in which a file is recovered or closed by its last user. */
const READ_ATTEMPTS_MAX = 20

function closedError(path: string): PawlError {
  return new PawlError('closed', `The store ${path} is closed. Open a new one.`)
}
