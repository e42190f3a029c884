import { PawlError } from '../../domain/errors.ts'
import type { Clock, Timer } from '../../platform/clock.ts'
import type { Logger } from '../../platform/logger.ts'
import type { EventRow, EventStore, StoreSignal } from '../../store/events.ts'

/** Rows read in one go. */
const ROWS_MAX = 32

/** A row may hold thousands of transitions, and reading blocks the event loop: after so many, fewer rows are read at once. */
const TRANSITIONS_ENOUGH = 2_000

/** How much of the latest is kept for all who follow. Who is further behind reads for itself. */
const KEPT_TRANSITIONS_MAX = 5_000

/** After a read that failed. */
const READ_AGAIN_MS = 1_000

export interface EventTailParts {
  readonly store: EventStore
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * The end of the store's events, read once for everybody who follows them. Whoever follows pulls at its own pace, so that
 * nothing piles up for one that is slow. From `begin` to `end` it misses nothing that any process commits.
 */
export class EventTail {
  readonly #parts: EventTailParts
  readonly #waiters = new Set<() => void>()
  /** All rows after `#from`, up to `#last`. */
  readonly #rows: EventRow[] = []
  #from = 0
  #last = 0
  #kept = 0
  #rowsAtOnce = 4
  #unsubscribe: () => void = () => {}
  #isReading = true
  #isBehind = false
  #isEnded = false
  #again: Timer | null = null
  #isFailing = false

  constructor(parts: EventTailParts) {
    this.#parts = parts
  }

  async begin(): Promise<void> {
    // First: what is committed while the last number is read must not be missed.
    this.#unsubscribe = this.#parts.store.subscribe((signal) => this.#hear(signal))
    this.#last = await this.#parts.store.lastEventSeq()
    this.#from = this.#last
    this.#isReading = false
    if (this.#isBehind) await this.#catchUp()
  }

  end(): void {
    this.#isEnded = true
    this.#again?.cancel()
    this.#unsubscribe()
    this.#wakeAll()
  }

  get lastSeq(): number {
    return this.#last
  }

  /** Some of the rows after this one, oldest first. None: it is the last. */
  async after(seq: number): Promise<readonly EventRow[]> {
    if (seq >= this.#from) return this.#rows.slice(firstAfter(this.#rows, seq))
    return (await this.#read(seq)).rows
  }

  /** Calls back once, when there is something new. Returns the way to stop it. */
  onNews(wake: () => void): () => void {
    this.#waiters.add(wake)
    return () => void this.#waiters.delete(wake)
  }

  #hear(signal: StoreSignal): void {
    if (signal.kind === 'stirred') return
    const isNext = signal.kind === 'committed' && !this.#isReading && signal.row.seq === this.#last + 1
    if (isNext) this.#append([signal.row])
    else void this.#catchUp()
  }

  async #catchUp(): Promise<void> {
    this.#isBehind = true
    if (this.#isReading) return
    this.#isReading = true
    try {
      while (this.#isBehind && !this.#isEnded) {
        this.#isBehind = false
        const { rows, isMoreLikely } = await this.#read(this.#last)
        this.#isFailing = false
        this.#append(rows)
        if (isMoreLikely) this.#isBehind = true
      }
    } catch (error) {
      this.#readAgain(error)
    }
    this.#isReading = false
  }

  /** What it was to tell of may be the last for a long time, and nobody would come back to it. */
  #readAgain(error: unknown): void {
    if (this.#isEnded || isClosed(error)) return
    const { clock, logger } = this.#parts
    if (!this.#isFailing) logger.warn({ error }, 'Events cannot be read; trying again')
    this.#isFailing = true
    this.#again?.cancel()
    this.#again = clock.after(READ_AGAIN_MS, () => void this.#catchUp(), 'poll')
  }

  async #read(seq: number): Promise<{ readonly rows: readonly EventRow[]; readonly isMoreLikely: boolean }> {
    const limit = this.#rowsAtOnce
    const rows = await this.#parts.store.readEvents(seq, limit)
    const count = rows.reduce((sum, { transitions }) => sum + transitions.length, 0)
    this.#rowsAtOnce = count > TRANSITIONS_ENOUGH ? Math.max(1, limit >> 1) : Math.min(ROWS_MAX, limit << 1)
    return { rows, isMoreLikely: rows.length === limit }
  }

  #append(rows: readonly EventRow[]): void {
    if (rows.length === 0) return
    for (const row of rows) {
      this.#rows.push(row)
      this.#kept += row.transitions.length
      this.#last = row.seq
    }
    this.#forgetOldest()
    this.#wakeAll()
  }

  /** Keeps the last row in any case, however long it is. */
  #forgetOldest(): void {
    let count = 0
    while (this.#kept > KEPT_TRANSITIONS_MAX && count < this.#rows.length - 1) {
      const row = this.#rows[count++] as EventRow
      this.#kept -= row.transitions.length
      this.#from = row.seq
    }
    this.#rows.splice(0, count)
  }

  #wakeAll(): void {
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    for (const wake of waiters) wake()
  }
}

/** Then nothing will ever be read again. */
function isClosed(error: unknown): boolean {
  return error instanceof PawlError && error.code === 'closed'
}

/** The index of the first row after this one. Rows are in order. */
function firstAfter(rows: readonly EventRow[], seq: number): number {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((rows[middle] as EventRow).seq <= seq) low = middle + 1
    else high = middle
  }
  return low
}
