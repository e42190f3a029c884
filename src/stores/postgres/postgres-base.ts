import { PawlError } from '../../domain/errors.ts'
import type { AuditNote } from '../../store/audit.ts'
import type { EventRow, StoreSignal } from '../../store/events.ts'
import { passFaultPoint } from '../../store/fault-points.ts'
import type { NewJob } from '../../store/jobs.ts'
import type { Liveness } from '../../store/nodes.ts'
import { CallerTransactions } from './caller-transactions.ts'
import { Connection, type Dialect, type Queryable, TextCache } from './connection.ts'
import type { DatabaseClock } from './database-clock.ts'
import { isConflict, isDuplicate, translateError } from './errors.ts'
import { HotWrites } from './hot-writes.ts'
import { onClient, type PgPool, type PoolClient, placesIn } from './pool.ts'
import type { QueueVacuum } from './queue-vacuum.ts'
import { commitWithEventRow, insertEventRow, lastEventSeq } from './statements/events.ts'
import { internAll } from './statements/interned.ts'
import { writeTallies } from './statements/tallies.ts'
import { Interned, Transaction } from './transaction.ts'
import { Turns } from './turns.ts'
import { waitAtMost } from './wait-at-most.ts'
import type { WakeUps } from './wake-ups.ts'

/** `thorough`: its statements look at everything, and take the time that needs. */
type Pace = 'brisk' | 'thorough'

export interface PostgresStoreParts {
  readonly pool: PgPool
  /** Whether the pool is ours to close. */
  readonly ownsPool: boolean
  readonly dialect: Dialect
  readonly description: string
  readonly logDirectory: string | null
  readonly clock: DatabaseClock
  readonly liveness: Liveness
  readonly wakeUps: WakeUps
  readonly vacuum: QueueVacuum
}

/** What makes a Job, as far as it decides its lane and its policy. */
export type Plan = Pick<NewJob, 'type' | 'policy'>

const LOOK_EVERY_MS = 1_000
const ENDS_PATIENCE_MS = 1_000

/** One is on its way while the bodies of the other execute. */
const CLAIMS_AT_ONCE = 2

/** How often a transaction that met a deadlock or a key that another one just wrote is begun anew. */
const TRIES_MAX = 10

/** One PostgreSQL database: how it is read, written, watched and closed. What is read and written is not known here. */
export abstract class PostgresBase {
  readonly description: string
  readonly liveness: Liveness
  readonly logDirectory: string | null
  readonly now: () => number
  readonly callerTransactions = 'asynchronous'
  readonly claimsAtOnce = CLAIMS_AT_ONCE
  protected readonly interned = new Interned()
  protected readonly hot: HotWrites
  /** Ends on their way to the server, for which claims wait. */
  protected readonly ends = new Set<Promise<unknown>>()
  /** What was so the last time, and mostly is again. Nothing is decided by it. */
  protected readonly habits = { claimsAreLimited: false }
  /** Claims that look at limits: each waits for the one before it. */
  protected readonly limitedClaims: { last: Promise<unknown> } = { last: Promise.resolve() }
  /** Left in the transaction of each write. Null but in a view. */
  protected readonly note: AuditNote | null = null
  readonly #parts: PostgresStoreParts
  readonly #callers: CallerTransactions
  readonly #texts = new TextCache()
  readonly #turns: Turns
  readonly #listeners = new Set<(signal: StoreSignal) => void>()
  /** What is under way: the pool is closed only when it is over. */
  readonly #underWay = new Set<Promise<unknown>>()
  /** Of that, what writes. */
  readonly #writes = new Set<Promise<unknown>>()
  #ground: object | null = null
  #floor: NodeJS.Timeout | null = null
  #isLooking = false
  /** The newest event at the last look. */
  #lastEventSeq: number | null = null
  #closed = false

  constructor(parts: PostgresStoreParts) {
    this.#parts = parts
    this.description = parts.description
    this.#turns = new Turns(placesIn(parts.pool))
    this.liveness = parts.liveness
    this.logDirectory = parts.logDirectory
    this.now = parts.clock.now
    this.hot = new HotWrites({
      pipelines: parts.dialect.pipelines,
      translated: (error) => this.#translated(error),
      onConnection: (work) => this.#withClient((client) => work(this.connectionOn(client))),
      committed: (row) => {
        this.#parts.wakeUps.send()
        this.#signal({ kind: 'committed', row })
      },
    })
    this.#callers = new CallerTransactions({
      connectionOn: (client) => this.connectionOn(client),
      onConnection: (work) => this.#withClient((client) => work(this.connectionOn(client))),
      description: parts.description,
    })
    parts.pool.on('error', () => {
      // A connection that nobody used broke. Whoever needs one gets another, or is told why not.
    })
    parts.wakeUps.onWakeUp(() => this.#signal({ kind: 'changed-elsewhere' }))
  }

  #signal(what: StoreSignal): void {
    for (const listener of this.#listeners) listener(what)
  }

  protected connectionOn(client: Queryable, pace: Pace = 'brisk'): Connection {
    const { dialect } = this.#parts
    return new Connection(client, pace === 'brisk' ? dialect : { ...dialect, patienceMs: null }, this.#texts)
  }

  /**
   * Does the work in a transaction of its own. A victim of a deadlock is begun anew, so the work must not change anything but
   * the database. `plans`: what Jobs it may make; their lanes and policies are written before.
   */
  protected write<T>(work: (transaction: Transaction) => Promise<T>, plans: readonly Plan[] = []): Promise<T> {
    return this.#writing(this.#write(work, plans))
  }

  async #write<T>(work: (transaction: Transaction) => Promise<T>, plans: readonly Plan[]): Promise<T> {
    this.#refuseClosed()
    await this.#intern(plans)
    for (let tries = 1; ; tries++) {
      try {
        return await this.#withClient((client) => this.#transact(client, work))
      } catch (error) {
        if (tries === TRIES_MAX || !(isConflict(error) || isDuplicate(error))) throw this.#translated(error)
      }
    }
  }

  async #transact<T>(client: PoolClient, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    const connection = this.connectionOn(client)
    const transaction = new Transaction(connection, this.interned)
    await this.#begin(connection, 'begin')
    const { pipelines } = this.#parts.dialect
    let row: EventRow | null = null
    let result: T
    try {
      result = await work(transaction)
      await writeTallies(transaction)
      if (pipelines) passFaultPoint('store:statement')
      else row = await insertEventRow(transaction)
      passFaultPoint('store:before-commit')
    } catch (error) {
      await connection.exec('rollback').catch(() => {
        // The connection is gone, and its transaction with it. The first error says why.
      })
      throw error
    }
    if (pipelines) row = await commitWithEventRow(transaction)
    else await connection.exec('commit')
    passFaultPoint('store:after-commit')
    this.#tell(transaction, row)
    return result
  }

  #tell({ stirs, settledGroups, changedReservations }: Transaction, row: EventRow | null): void {
    if (row === null && stirs.size === 0) return
    this.#parts.wakeUps.send()
    if (row !== null) this.#signal({ kind: 'committed', row })
    if (stirs.size > 0) {
      this.#signal({ kind: 'stirred', what: stirs, groupIds: settledGroups, reservationIds: changedReservations })
    }
  }

  async #begin(connection: Connection, sql: string): Promise<void> {
    const begun = connection.exec(sql)
    // If it fails, so does the first statement behind it, and for the same reason.
    if (this.#parts.dialect.pipelines) begun.catch(() => {})
    else await begun
  }

  /** Ends a transaction that has only read: nobody waits for it, because whatever comes next on this connection comes behind it. */
  async #end(connection: Connection): Promise<void> {
    const ended = connection.exec('commit')
    if (this.#parts.dialect.pipelines) ended.catch(() => {})
    else await ended
  }

  async #withClient<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    await this.#turns.take()
    try {
      return await onClient(this.#parts.pool, work)
    } finally {
      this.#turns.leave()
    }
  }

  /** Plain work, which needs no transaction of its own. Lanes and policies of `plans` are written before. */
  protected async writeHot<T>(plans: readonly Plan[], work: () => Promise<T>): Promise<T> {
    this.#refuseClosed()
    return this.#writing(this.#writeHot(plans, work))
  }

  /** The same where nothing is to be written before. Nobody notes each call: what was asked is known to `hot`. */
  protected writeHotAtOnce<T>(work: () => Promise<T>): Promise<T> {
    try {
      this.#refuseClosed()
      return work()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  async #writeHot<T>(plans: readonly Plan[], work: () => Promise<T>): Promise<T> {
    await this.#intern(plans)
    try {
      return await work()
    } catch (error) {
      throw this.#translated(error)
    }
  }

  /** So many Jobs have left the queue. */
  protected noteClaimed(jobs: number): void {
    this.#parts.vacuum.note(jobs)
  }

  /** An end that may let something start: a retry, or what waits for its permits. */
  protected endingBefore<T>(matters: boolean, work: Promise<T>): Promise<T> {
    if (!matters) return work
    this.ends.add(work)
    const forget = () => this.ends.delete(work)
    work.then(forget, forget)
    return work
  }

  /**
   * A claim that is asked for after an end finds what it left: a retry in its predecessor's place, and free permits. But one
   * end that hangs, because a caller keeps a row locked, does not keep a node from working.
   */
  protected async behindEnds<T>(claim: () => Promise<T>): Promise<T> {
    if (this.ends.size > 0) await waitAtMost(ENDS_PATIENCE_MS, Promise.allSettled(this.ends))
    return claim()
  }

  async #intern(plans: readonly Plan[]): Promise<void> {
    if (plans.length === 0) return
    try {
      await internAll(this.interned, plans, (work) => this.#withClient((client) => work(this.connectionOn(client))))
    } catch (error) {
      throw this.#translated(error)
    }
  }

  /** The same store, whose writes are done by `around` and leave the note. It shares everything with this one. */
  protected viewWith(
    note: AuditNote,
    around: <T>(transaction: Transaction, work: (transaction: Transaction) => Promise<T>) => Promise<T>,
  ): this {
    this.#ground ??= this.#layGround()
    const view = Object.create(this.#ground, { note: { value: note } }) as this
    view.write = (work, plans) => this.write((transaction) => around(transaction, work), plans)
    view.writeWithin = (client, work, plans) =>
      this.writeWithin(client, (transaction) => around(transaction, work), plans)
    return view
  }

  /** What all views stand on: whatever may use private fields is bound to this store, because a view has none. */
  #layGround(): object {
    const ground = Object.create(this) as object
    for (const name of Object.getOwnPropertyNames(PostgresBase.prototype)) {
      const member: unknown = Reflect.get(this, name)
      const value: unknown = typeof member === 'function' && name !== 'constructor' ? member.bind(this) : member
      Object.defineProperty(ground, name, { value, writable: true })
    }
    return ground
  }

  /** Inside the caller's own transaction. What fails leaves nothing behind in it. */
  protected writeWithin<T>(
    tx: unknown,
    work: (transaction: Transaction) => Promise<T>,
    plans: readonly Plan[] = [],
  ): Promise<T> {
    return this.#writing(this.#writeWithin(tx, work, plans))
  }

  async #writeWithin<T>(
    tx: unknown,
    work: (transaction: Transaction) => Promise<T>,
    plans: readonly Plan[],
  ): Promise<T> {
    this.#refuseClosed()
    await this.#intern(plans)
    try {
      return await this.#callers.within(tx, async (connection) => {
        const transaction = new Transaction(connection, this.interned)
        const result = await work(transaction)
        await writeTallies(transaction)
        await insertEventRow(transaction)
        await this.#parts.wakeUps.sendWithin(connection)
        return result
      })
    } catch (error) {
      // Only who began a transaction can begin it anew: a conflict must reach it as it is.
      throw isConflict(error) ? error : this.#translated(error)
    }
  }

  /** Reads one state of the database, however many statements that takes. */
  protected read<T>(work: (connection: Connection) => Promise<T>, pace: Pace = 'brisk'): Promise<T> {
    return this.#awaited(this.#read(work, pace))
  }

  async #read<T>(work: (connection: Connection) => Promise<T>, pace: Pace): Promise<T> {
    this.#refuseClosed()
    try {
      return await this.#withClient(async (client) => {
        const connection = this.connectionOn(client, pace)
        await this.#begin(connection, 'begin isolation level repeatable read read only')
        try {
          return await work(connection)
        } finally {
          await this.#end(connection)
        }
      })
    } catch (error) {
      throw this.#translated(error)
    }
  }

  subscribe(listener: (signal: StoreSignal) => void): () => void {
    this.#refuseClosed()
    this.#listeners.add(listener)
    this.#parts.wakeUps.listen()
    if (this.#floor === null) {
      this.#floor = setInterval(() => void this.#lookForEvents(), LOOK_EVERY_MS).unref()
      void this.#lookForEvents()
    }
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#stopLooking()
    }
  }

  /**
   * A wake-up may get lost, or come while an older transaction still hides what it tells of (see `readEvents`): so often it is
   * looked whether there is something new.
   */
  async #lookForEvents(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const seq = await this.read((connection) => lastEventSeq(connection))
      // The first look may be late, and what it finds may have been hidden from whoever looked before it.
      if (seq > (this.#lastEventSeq ?? -1)) this.#signal({ kind: 'changed-elsewhere' })
      this.#lastEventSeq = seq
    } catch {
      // The server is away. Whoever needs it is told.
    }
    this.#isLooking = false
  }

  /**
   * The newest event. Whoever is told has heard of all commits from here that are not newer: the answer to one of them may be
   * on its way while this one has arrived.
   */
  async lastEventSeq(): Promise<number> {
    const seq = await this.read((connection) => lastEventSeq(connection))
    await Promise.all([Promise.allSettled(this.#writes), this.hot.settled()])
    return seq
  }

  #stopLooking(): void {
    if (this.#floor !== null) clearInterval(this.#floor)
    this.#floor = null
    this.#lastEventSeq = null
  }

  backup(_path: string): Promise<void> {
    return Promise.reject(
      new PawlError(
        'invalid_option',
        'A PostgreSQL database is copied by its own tools: use `pg_dump`, or your base backups. See docs/postgres.md.',
      ),
    )
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#listeners.clear()
    this.#stopLooking()
    this.#parts.clock.stop()
    await Promise.all([Promise.allSettled(this.#underWay), this.hot.settled()])
    await Promise.all([this.#parts.wakeUps.close(), this.#parts.vacuum.close()])
    if (this.#parts.ownsPool) await this.#parts.pool.end()
  }

  #writing<T>(work: Promise<T>): Promise<T> {
    this.#writes.add(work)
    const forget = () => this.#writes.delete(work)
    work.then(forget, forget)
    return this.#awaited(work)
  }

  #awaited<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work)
    const forget = () => this.#underWay.delete(work)
    work.then(forget, forget)
    return work
  }

  #translated(error: unknown): unknown {
    return translateError(error, this.description)
  }

  #refuseClosed(): void {
    if (this.#closed) throw new PawlError('closed', `The store ${this.description} is closed. Open a new one.`)
  }
}
