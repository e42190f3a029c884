import type { Clock, Timer } from '../platform/clock.ts'
import type { IdSource } from '../platform/ids.ts'
import type { Logger } from '../platform/logger.ts'
import type { StoreSignal } from '../store/events.ts'
import { passFaultPoint } from '../store/fault-points.ts'
import type { ClaimedJob, RunStore } from '../store/runs.ts'
import type { ConcurrencyPolicy } from './concurrency-policy.ts'

export interface DispatcherParts {
  readonly store: Pick<RunStore, 'claimJobs' | 'nextDueAt'>
  readonly clock: Clock
  readonly logger: Logger
  readonly newId: IdSource
  readonly nodeId: string
  readonly concurrency: number
  readonly types: readonly string[]
  readonly policy: ConcurrencyPolicy
  readonly execute: (job: ClaimedJob) => void
}

/** Wakes that get lost, and a computer that slept, must not stop the queue: so often it is looked at in any case. */
const LOOK_AT_LEAST_EVERY_MS = 5_000

/** After a failed claim, wait this long before the next. */
const RETRY_CLAIM_MS = 500

/** Fills the free places of this node from the head of the queue, whenever there is reason to look. */
export class Dispatcher {
  readonly #parts: DispatcherParts
  readonly #executing = new Map<string, number>()
  #bodies = 0
  #isClaiming = false
  #isWoken = false
  #isRunning = false
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

  start(): void {
    this.#isRunning = true
    this.wake()
  }

  /** Claims nothing more. Resolves when no claim is under way. */
  async stop(): Promise<void> {
    this.#isRunning = false
    this.#cancelTimers()
    if (this.#isClaiming) await new Promise<void>((resolve) => this.#quietWaiters.push(resolve))
  }

  /** There may be something to start. */
  wake(): void {
    if (!this.#isRunning) return
    if (this.#isClaiming) this.#isWoken = true
    else if (this.#bodies < this.#parts.concurrency) void this.#claim()
  }

  /** A body has ended, and its place is free. */
  freePlace(type: string): void {
    this.#freed.push(type)
    if (this.#freed.length === 1) setImmediate(() => this.#takeFreedPlaces())
  }

  hear(signal: StoreSignal): void {
    if (signal.kind === 'changed-elsewhere' || signal.row.transitions.some(({ kind }) => WAKING.has(kind))) this.wake()
  }

  /**
   * Bodies that end together free their places together. Their finishes are handed to the store at the end of this turn,
   * just before this: the claim follows them there, finds their permits released, and one commit serves both.
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
      const claimed = await this.#claimUpTo(limit)
      if (claimed.length > 0) passFaultPoint('dispatcher:claimed')
      for (const job of claimed) this.#start(job)
      // Fewer than asked for: nothing else is ready, until somebody wakes us or a delayed Job becomes due.
      if (claimed.length < limit) nextLookMs = await this.#untilNextDueMs()
    } catch (error) {
      this.#parts.logger.error({ error }, 'Jobs could not be claimed; trying again')
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

  #claimUpTo(limit: number): Promise<readonly ClaimedJob[]> {
    const { store, clock, nodeId, newId, policy, types } = this.#parts
    const decided = policy.decideClaims({ freePlaces: limit, executing: this.#executing, types })
    // A policy can only hold back: never a type without a handler here, never more than there is room for.
    const allowed = new Map(types.map((type) => [type, Math.min(decided.get(type) ?? 0, limit)]))
    return store.claimJobs({ nodeId, now: clock.now(), limit, types: allowed, newRunId: newId })
  }

  #start(job: ClaimedJob): void {
    this.#bodies++
    this.#executing.set(job.type, (this.#executing.get(job.type) ?? 0) + 1)
    this.#parts.execute(job)
  }

  async #untilNextDueMs(): Promise<number | null> {
    const dueAt = await this.#parts.store.nextDueAt()
    return dueAt === null ? null : Math.max(0, dueAt - this.#parts.clock.now())
  }
}

/** Commits after which something may be able to start that could not before. */
const WAKING: ReadonlySet<string> = new Set(['job.queued', 'job.finished', 'job.cancelled', 'run.released'])
