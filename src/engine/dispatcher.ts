import type { Clock, Timer } from '../platform/clock.ts'
import type { IdSource } from '../platform/ids.ts'
import type { Logger } from '../platform/logger.ts'
import type { StoreSignal } from '../store/events.ts'
import { passFaultPoint } from '../store/fault-points.ts'
import type { ClaimedTicket } from '../store/reservations.ts'
import type { Claimed, ClaimedJob, RunStore } from '../store/runs.ts'
import type { ConcurrencyPolicy } from './concurrency-policy.ts'
import type { Standing } from './node-life.ts'

export interface DispatcherParts {
  readonly store: Pick<RunStore, 'claimJobs' | 'nextDueAt'>
  readonly clock: Clock
  readonly logger: Logger
  readonly newId: IdSource
  readonly nodeId: string
  readonly concurrency: number
  readonly types: readonly string[]
  readonly policy: ConcurrencyPolicy
  /** How sure others can be that this node lives. One that is not sound claims nothing. */
  readonly standing: () => Standing
  readonly execute: (job: ClaimedJob) => void
  readonly executeDirect: (ticket: ClaimedTicket) => void
}

/** Wakes that get lost, and a computer that slept, must not stop the queue: so often it is looked at in any case. */
const LOOK_AT_LEAST_EVERY_MS = 5_000

/** After a failed claim, and while this node may not claim, wait this long before the next. */
const RETRY_CLAIM_MS = 500

/** Fills the free places of this node with waiting tickets, then from the head of the queue, whenever there is reason to look. */
export class Dispatcher {
  readonly #parts: DispatcherParts
  readonly #executing = new Map<string, number>()
  #bodies = 0
  #isClaiming = false
  #isWoken = false
  #isRunning = false
  #failure: Error | null = null
  #hasLeft = false
  #dueTimer: Timer | null = null
  #floorTimer: Timer | null = null
  #freed: string[] = []
  #quietWaiters: (() => void)[] = []

  constructor(parts: DispatcherParts) {
    this.#parts = parts
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  /** A claim is under way. */
  get isClaiming(): boolean {
    return this.#isClaiming
  }

  /** What the last claim failed with. Null: it did not. */
  get failure(): Error | null {
    return this.#failure
  }

  start(): void {
    this.#isRunning = true
    this.wake()
  }

  /** Claims nothing more. Resolves when no claim is under way. */
  async stop(): Promise<void> {
    this.#isRunning = false
    this.#cancelTimers()
    await this.answered()
  }

  /** Resolves when the claim that is under way now, if one is, has been answered, and what it claimed is known here. */
  async answered(): Promise<void> {
    if (this.#isClaiming) await new Promise<void>((resolve) => this.#quietWaiters.push(resolve))
  }

  /** Nobody waits for the claim any more that may still be under way: what it takes is left to others. */
  leave(): void {
    this.#hasLeft = true
  }

  /** There may be something to start. */
  wake(): void {
    if (!this.#isRunning) return
    if (this.#isClaiming) this.#isWoken = true
    else if (this.#bodies >= this.#parts.concurrency) return
    else if (this.#parts.standing() === 'sound') void this.#claim()
    else this.#setTimers(RETRY_CLAIM_MS)
  }

  /** A body has ended, and its place is free. */
  freePlace(type: string): void {
    this.#freed.push(type)
    if (this.#freed.length === 1) setImmediate(() => this.#takeFreedPlaces())
  }

  hear(signal: StoreSignal): void {
    if (mayLetSomethingStart(signal)) this.wake()
  }

  /**
   * Bodies that end together free their places together. Their finishes are handed to the store at the end of this turn,
   * just before this: where writes follow each other, the claim finds their permits released, and one commit serves both.
   * Where they do not, it may miss them, and the commit of the finishes wakes us again.
   */
  #takeFreedPlaces(): void {
    for (const type of this.#freed.splice(0)) {
      this.#bodies--
      this.#executing.set(type, (this.#executing.get(type) ?? 1) - 1)
    }
    this.wake()
  }

  async #claim(): Promise<void> {
    this.#isClaiming = true
    this.#isWoken = false
    let nextLookMs: number | null = null
    try {
      const limit = this.#parts.concurrency - this.#bodies
      const claimed = this.#startAll(await this.#claimUpTo(limit))
      // Fewer than asked for: nothing else is ready, until somebody wakes us or a delayed Job becomes due.
      if (claimed < limit && !this.#isWoken) nextLookMs = await this.#untilNextDueMs()
      // Something became due meanwhile. There is nothing to wait for, and a virtual clock may not move.
      if (nextLookMs === 0) this.#isWoken = true
      this.#failure = null
    } catch (error) {
      if (this.#failure === null) this.#parts.logger.error({ error }, 'Jobs could not be claimed; trying again')
      this.#failure = error instanceof Error ? error : new Error(String(error))
      // Whoever woke us meanwhile waits too: the store is not to be asked without end.
      this.#isWoken = false
      nextLookMs = RETRY_CLAIM_MS
    }
    this.#isClaiming = false
    for (const resolve of this.#quietWaiters.splice(0)) resolve()
    if (!this.#isRunning) return
    this.#setTimers(nextLookMs)
    if (this.#isWoken) this.wake()
  }

  #setTimers(nextLookMs: number | null): void {
    this.#cancelTimers()
    const { clock } = this.#parts
    if (nextLookMs !== null) this.#dueTimer = clock.after(nextLookMs, () => this.wake())
    this.#floorTimer = clock.after(LOOK_AT_LEAST_EVERY_MS, () => this.wake(), 'poll')
  }

  #cancelTimers(): void {
    this.#dueTimer?.cancel()
    this.#floorTimer?.cancel()
    this.#dueTimer = null
    this.#floorTimer = null
  }

  #claimUpTo(limit: number): Promise<Claimed> {
    const { store, clock, nodeId, newId, policy, types } = this.#parts
    const decided = policy.decideClaims({ freePlaces: limit, executing: this.#executing, types })
    // A policy can only hold back: never a type without a handler here, never more than there is room for. Tickets are
    // not its business: those of all types named here are served.
    const allowed = new Map(types.map((type) => [type, Math.min(decided.get(type) ?? 0, limit)]))
    return store.claimJobs({ nodeId, now: clock.now(), limit, types: allowed, newRunId: newId })
  }

  /** Answers how many there were. */
  #startAll({ tickets, jobs }: Claimed): number {
    const claimed = tickets.length + jobs.length
    if (claimed === 0) return 0
    passFaultPoint('dispatcher:claimed')
    if (this.#hasLeft || this.#parts.standing() === 'fading') {
      // What nobody here knows is a stray. It is ended as one, unless others have ended it before.
      this.#parts.logger.warn({ claimed }, 'A claim was answered too late to start what it took; it is tried again')
      return claimed
    }
    for (const ticket of tickets) this.#start(ticket.type, () => this.#parts.executeDirect(ticket))
    for (const job of jobs) this.#start(job.type, () => this.#parts.execute(job))
    return claimed
  }

  #start(type: string, execute: () => void): void {
    this.#bodies++
    this.#executing.set(type, (this.#executing.get(type) ?? 0) + 1)
    execute()
  }

  async #untilNextDueMs(): Promise<number | null> {
    const dueAt = await this.#parts.store.nextDueAt()
    return dueAt === null ? null : Math.max(0, dueAt - this.#parts.clock.now())
  }
}

/** Steps of Jobs after which something may be able to start that could not before. */
const WAKING: ReadonlySet<string> = new Set([
  'job.queued',
  'job.edited',
  'job.released',
  'job.finished',
  'job.cancelled',
  'run.released',
])

function mayLetSomethingStart(signal: StoreSignal): boolean {
  switch (signal.kind) {
    case 'changed-elsewhere':
      return true
    case 'committed':
      return signal.row.transitions.some(({ kind }) => WAKING.has(kind))
    case 'stirred':
      // A ticket has come, or what one held back or took is free.
      return signal.what.has('tickets') || signal.what.has('reservations')
  }
}
