import { PawlError } from '../../domain/errors.ts'
import type { EventRow, StoreSignal } from '../../store/events.ts'
import { passFaultPoint } from '../../store/fault-points.ts'
import type { Connection } from './connection.ts'
import { isBusy, translateError } from './errors.ts'
import { writeLast } from './statements/last-writes.ts'
import { Interned, Transaction } from './transaction.ts'

interface PendingWrite {
  readonly work: (transaction: Transaction) => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

// Prepared once, unlike what `exec` runs: they are needed for every commit.
const BEGIN = 'begin immediate'
const COMMIT = 'commit'

/** Writes that share one commit. More would block the event loop for too long. */
const GROUP_MAX = 512

/** How long a write waits for other processes before it gives up. */
const BUSY_PATIENCE_MS = 60_000
const BUSY_PAUSE_MAX_MS = 20
const TRIES_AT_ONCE = 50
/** Who was kept waiting within this time shares the database with a process that writes as busily. */
const CONTENDED_FOR_MS = 100
const GIVE_WAY_MS = 1
const CLOSING_PATIENCE_MS = 2_000

/**
 * Groups the writes of one turn of the event loop into one commit: a power-safe commit costs the same for one write as
 * for a hundred. Each write is answered only after the commit. A write that throws is left out and fails alone.
 */
export class GroupCommitter {
  readonly #connection: Connection
  readonly #path: string
  readonly #signal: (signal: StoreSignal) => void
  readonly #interned = new Interned()
  #pending: PendingWrite[] = []
  /** How many of the first pending writes must not share a commit, because one of them broke their group. */
  #alone = 0
  #flushing = false
  /** When the lock was last found with somebody else. */
  #lastBusyAt = Number.NEGATIVE_INFINITY
  #patienceMs = BUSY_PATIENCE_MS
  #idleWaiters: (() => void)[] = []

  constructor(connection: Connection, path: string, signal: (signal: StoreSignal) => void) {
    this.#connection = connection
    this.#path = path
    this.#signal = signal
  }

  get interned(): Interned {
    return this.#interned
  }

  write<T>(work: (transaction: Transaction) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ work, resolve: resolve as (value: unknown) => void, reject })
      if (!this.#flushing) {
        this.#flushing = true
        setImmediate(() => void this.#flush())
      }
    })
  }

  /** Nobody will write any more: waits for what is pending, but not long for others. */
  async close(): Promise<void> {
    this.#patienceMs = CLOSING_PATIENCE_MS
    await this.#drained()
  }

  /** Resolves when nothing is pending. */
  async #drained(): Promise<void> {
    if (!this.#flushing) return
    await new Promise<void>((resolve) => this.#idleWaiters.push(resolve))
  }

  async #flush(): Promise<void> {
    let busySince: number | null = null
    let tries = 0
    while (this.#pending.length > 0) {
      const group = this.#pending.slice(0, this.#alone > 0 ? 1 : GROUP_MAX)
      const result = this.#tryCommit(group)
      if (result === 'busy') {
        this.#lastBusyAt = performance.now()
        busySince ??= this.#lastBusyAt
        if (this.#lastBusyAt - busySince < this.#patienceMs) {
          await pauseBefore(++tries)
          continue
        }
        this.#take(group)
        for (const write of group) write.reject(busyError(this.#path))
      }
      busySince = null
      tries = 0
      const pause = this.#pauseAfter()
      // Not even a microtask without a reason: whoever is answered would write again in this same turn, and so for ever.
      if (pause !== null) await pause
    }
    this.#flushing = false
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }

  /**
   * Lets timers and I/O in between two commits, and lets the answered callers add to the next group. SQLite knows no
   * queue for its lock: of two busy processes the one that has it gets it again. So it gives way for a moment.
   */
  #pauseAfter(): Promise<void> | null {
    if (performance.now() - this.#lastBusyAt < CONTENDED_FOR_MS) return delay(GIVE_WAY_MS)
    return this.#pending.length > 0 ? nextTurn() : null
  }

  /** Commits the group and answers it. `busy`: nothing happened, the lock is somebody else's. */
  #tryCommit(group: readonly PendingWrite[]): 'answered' | 'busy' {
    try {
      this.#connection.control(BEGIN)
    } catch (error) {
      if (isBusy(error)) return 'busy'
      this.#take(group)
      for (const write of group) write.reject(translateError(error, this.#path))
      return 'answered'
    }
    this.#take(group)
    const transaction = new Transaction(this.#connection, this.#interned)
    const values: unknown[] = []
    let row: EventRow | null
    try {
      for (const write of group) values.push(write.work(transaction))
      row = writeLast(transaction)
      passFaultPoint('store:before-commit')
      this.#connection.control(COMMIT)
    } catch (error) {
      this.#rollback()
      if (group.length === 1) group[0]?.reject(translateError(error, this.#path))
      else this.#separate(group)
      return 'answered'
    }
    passFaultPoint('store:after-commit')
    for (let index = 0; index < group.length; index++) group[index]?.resolve(values[index])
    if (row !== null) this.#signal({ kind: 'committed', row })
    const { stirs, settledGroups, changedReservations } = transaction
    if (stirs.size > 0) {
      this.#signal({ kind: 'stirred', what: stirs, groupIds: settledGroups, reservationIds: changedReservations })
    }
    return 'answered'
  }

  #take(group: readonly PendingWrite[]): void {
    this.#pending.splice(0, group.length)
    this.#alone = Math.max(0, this.#alone - group.length)
  }

  /** One of them cannot be written: back to the front, each in a commit of its own, so that it fails alone. */
  #separate(group: readonly PendingWrite[]): void {
    this.#pending.unshift(...group)
    this.#alone = group.length
  }

  #rollback(): void {
    this.#interned.forget()
    try {
      this.#connection.rollback('rollback')
    } catch {
      // SQLite has rolled back by itself (disk full, I/O error); there is nothing left to undo.
    }
  }
}

function busyError(path: string): PawlError {
  return new PawlError(
    'store_busy',
    `The database ${path} stayed locked by another process for too long. Nothing was stored; try again.`,
    { details: { path } },
  )
}

/**
 * Others hold the lock for the time of a commit, which is less than the shortest timer: so the first tries follow in the next
 * turns of the event loop, while other work goes on. Whoever has waited longer must expect that it takes longer.
 */
function pauseBefore(tries: number): Promise<void> {
  if (tries <= TRIES_AT_ONCE) return nextTurn()
  const longestMs = Math.min(BUSY_PAUSE_MAX_MS, tries - TRIES_AT_ONCE)
  return delay(1 + Math.random() * longestMs)
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
