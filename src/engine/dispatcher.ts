import type { Clock, Timer } from '../platform/clock.ts'
import type { IdSource } from '../platform/ids.ts'
import type { Logger } from '../platform/logger.ts'
import type { StoreSignal } from '../store/events.ts'
import { passFaultPoint } from '../store/fault-points.ts'
import type { ClaimedTicket } from '../store/reservations.ts'
import type { Claimed, ClaimedJob, RunStore } from '../store/runs.ts'
import { type ConcurrencyPolicy, fillFreePlaces } from './concurrency-policy.ts'
import type { Standing } from './node-life.ts'

export interface DispatcherParts {
  readonly store: Pick<RunStore, 'claimJobs' | 'claimsAtOnce' | 'nextDueAt'>
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

/** So many places one claim may always fill: to ask for fewer at a time costs more than is gained. */
const SHARE_MIN = 10

/** Fills the free places of this node with waiting tickets, then from the head of the queue, whenever there is reason to look. */
export class Dispatcher {
  readonly #parts: DispatcherParts
  readonly #claimsAtOnce: number
  /** How many places one claim fills at most. */
  readonly #share: number
  readonly #executing = new Map<string, number>()
  #bodies = 0
  /** Claims that are not answered yet, and the places that they are to fill. */
  readonly #underWay = new Set<Promise<void>>()
  #placesAsked = 0
  #isWoken = false
  #isRunning = false
  #failure: Error | null = null
  #hasLeft = false
  #dueTimer: Timer | null = null
  #lookAt = Number.POSITIVE_INFINITY
  #floorTimer: Timer | null = null
  #freed: string[] = []

  constructor(parts: DispatcherParts) {
    this.#parts = parts
    // A policy of the user is asked for all free places at once: it does not know what other claims will take.
    this.#claimsAtOnce = parts.policy === fillFreePlaces ? parts.store.claimsAtOnce : 1
    this.#share = Math.max(SHARE_MIN, Math.ceil(parts.concurrency / this.#claimsAtOnce))
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  /** A claim is under way. */
  get isClaiming(): boolean {
    return this.#underWay.size > 0
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

  /** Resolves when the claims that are under way now, if there are, have been answered, and what they claimed is known here. */
  async answered(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  /** Nobody waits for the claims any more that may still be under way: what they take is left to others. */
  leave(): void {
    this.#hasLeft = true
  }

  /** There may be something to start. */
  wake(): void {
    if (!this.#isRunning) return
    const places = this.#parts.concurrency - this.#bodies - this.#placesAsked
    if (this.#underWay.size > 0 && (places === 0 || this.#underWay.size >= this.#claimsAtOnce)) this.#isWoken = true
    else if (places <= 0) return
    else if (this.#parts.standing() === 'sound') this.#claim(Math.min(places, this.#share))
    else this.#lookWithin(RETRY_CLAIM_MS)
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

  #claim(limit: number): void {
    this.#isWoken = false
    // Whatever it was to look for, this claim finds it.
    this.#cancelTimers()
    const answered = this.#fill(limit).then((nextLookMs) => {
      this.#underWay.delete(answered)
      if (!this.#isRunning) return
      this.#lookWithin(nextLookMs)
      if (this.#isWoken) this.wake()
    })
    this.#underWay.add(answered)
  }

  /** Claims Jobs for so many places and starts them. Answers when to look again if nobody wakes us. Never throws. */
  async #fill(limit: number): Promise<number | null> {
    this.#placesAsked += limit
    try {
      const answer = await this.#claimUpTo(limit)
      // In the same breath: between the two, a place would be free for another claim.
      this.#placesAsked -= limit
      if (answer instanceof Error) throw answer
      const claimed = this.#startAll(answer)
      this.#failure = null
      // There may be more, and places for it.
      if (claimed === limit) this.#isWoken = true
      if (this.#isWoken) return null
      // Nothing else is ready, until somebody wakes us or a delayed Job becomes due.
      const nextLookMs = await this.#untilNextDueMs()
      // Something became due meanwhile. There is nothing to wait for, and a virtual clock may not move.
      if (nextLookMs === 0) this.#isWoken = true
      return nextLookMs
    } catch (error) {
      if (this.#failure === null) this.#parts.logger.error({ error }, 'Jobs could not be claimed; trying again')
      this.#failure = error instanceof Error ? error : new Error(String(error))
      // Whoever woke us meanwhile waits too: the store is not to be asked without end.
      this.#isWoken = false
      return RETRY_CLAIM_MS
    }
  }

  /** Looks at the queue again after this time, or before. Null: whenever somebody wakes us. */
  #lookWithin(ms: number | null): void {
    const { clock } = this.#parts
    this.#floorTimer?.cancel()
    this.#floorTimer = clock.after(LOOK_AT_LEAST_EVERY_MS, () => this.wake(), 'poll')
    if (ms === null) return
    const at = clock.now() + ms
    // Another claim may have to be repeated before this one's delayed Job is due.
    if (this.#dueTimer !== null && this.#lookAt <= at) return
    this.#dueTimer?.cancel()
    this.#dueTimer = clock.after(ms, () => {
      this.#dueTimer = null
      this.wake()
    })
    this.#lookAt = at
  }

  #cancelTimers(): void {
    this.#dueTimer?.cancel()
    this.#floorTimer?.cancel()
    this.#dueTimer = null
    this.#floorTimer = null
  }

  async #claimUpTo(limit: number): Promise<Claimed | Error> {
    try {
      return await this.#ask(limit)
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    }
  }

  #ask(limit: number): Promise<Claimed> {
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
