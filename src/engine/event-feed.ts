import type { Clock, Timer } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'
import type { EventRow, EventStore, StoreSignal, Transition, TransitionKind } from '../store/events.ts'
import { isClosed } from './insist.ts'

export type TransitionListener = (transition: Transition) => void

const READ_MAX = 200

/** After a read that failed: what it was to tell of may be the last for a long time, and nobody would come back to it. */
const READ_AGAIN_MS = 1_000

/**
 * Tells listeners of every transition that any process commits on this store, each once and in the order of the commits.
 * Nothing is read while nobody listens.
 */
export class EventFeed {
  readonly #store: EventStore
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #listeners = new Map<TransitionKind, Set<TransitionListener>>()
  #lastSeq: number | null = null
  /** The lowest of the commits that were made here while it is not known yet where to begin. */
  #firstHeardSeq: number | null = null
  #isReading = false
  #isBehind = false
  #isFailing = false
  #again: Timer | null = null

  constructor(store: EventStore, clock: Clock, logger: Logger) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
  }

  /** From the moment it returns, the listener misses nothing. */
  listen(kind: TransitionKind, listener: TransitionListener): () => void {
    const listeners = this.#listeners.get(kind) ?? new Set()
    listeners.add(listener)
    this.#listeners.set(kind, listeners)
    if (this.#lastSeq === null) void this.#begin()
    return () => {
      if (!listeners.delete(listener)) return
      if (listeners.size === 0) this.#listeners.delete(kind)
      if (this.#listeners.size === 0) this.#forget()
    }
  }

  hear(signal: StoreSignal): void {
    if (this.#listeners.size === 0 || signal.kind === 'stirred') return
    if (this.#lastSeq === null && signal.kind === 'committed') {
      this.#firstHeardSeq = Math.min(signal.row.seq, this.#firstHeardSeq ?? signal.row.seq)
    }
    if (
      signal.kind === 'committed' &&
      !this.#isReading &&
      this.#lastSeq !== null &&
      signal.row.seq === this.#lastSeq + 1
    ) {
      this.#tell(signal.row)
    } else {
      void this.#catchUp()
    }
  }

  async #begin(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    try {
      const seq = await this.#store.lastEventSeq()
      // What was committed from here while the number was on its way came after the listener.
      this.#lastSeq = Math.min(seq, (this.#firstHeardSeq ?? seq + 1) - 1)
      this.#isFailing = false
    } catch (error) {
      this.#tellFailure(error)
    }
    this.#isReading = false
    if (this.#listeners.size === 0) this.#forget()
    else if (this.#isBehind && this.#lastSeq !== null) await this.#catchUp()
  }

  /** Nobody listens. */
  #forget(): void {
    this.#lastSeq = null
    this.#firstHeardSeq = null
    this.#again?.cancel()
    this.#again = null
  }

  async #catchUp(): Promise<void> {
    this.#isBehind = true
    if (this.#isReading) return
    if (this.#lastSeq === null) return this.#begin()
    this.#isReading = true
    try {
      while (this.#isBehind && this.#lastSeq !== null) {
        this.#isBehind = false
        const rows = await this.#store.readEvents(this.#lastSeq, READ_MAX)
        for (const row of rows) this.#tell(row)
        if (rows.length === READ_MAX) this.#isBehind = true
      }
      this.#isFailing = false
    } catch (error) {
      this.#tellFailure(error)
    }
    this.#isReading = false
    // Somebody began to listen after the last one had gone, and this look was still under way.
    if (this.#lastSeq === null && this.#listeners.size > 0) await this.#begin()
  }

  #tellFailure(error: unknown): void {
    if (isClosed(error)) return
    if (!this.#isFailing) this.#logger.warn({ error }, 'Events cannot be read; trying again')
    this.#isFailing = true
    this.#again?.cancel()
    this.#again = this.#clock.after(READ_AGAIN_MS, () => void this.#catchUp(), 'poll')
  }

  #tell(row: EventRow): void {
    if (this.#lastSeq === null || row.seq <= this.#lastSeq) return
    this.#lastSeq = row.seq
    for (const transition of row.transitions) {
      for (const listener of this.#listeners.get(transition.kind) ?? []) {
        try {
          listener(transition)
        } catch (error) {
          this.#logger.error({ error, event: transition.kind }, 'An event listener threw')
        }
      }
    }
  }
}
