import { assert } from '../domain/errors.ts'
import type { Clock, Timer } from '../platform/clock.ts'
import type { IdSource } from '../platform/ids.ts'
import type { Logger } from '../platform/logger.ts'
import type { Random } from '../platform/random.ts'
import type { StoreSignal } from '../store/events.ts'
import type { NewJob } from '../store/jobs.ts'
import type { NodeRecord } from '../store/nodes.ts'
import type { ClaimedTicket } from '../store/reservations.ts'
import type { ClaimedJob } from '../store/runs.ts'
import type { Store } from '../store/store.ts'
import type { ConcurrencyPolicy } from './concurrency-policy.ts'
import { DirectWork } from './direct-work.ts'
import { Dispatcher } from './dispatcher.ts'
import { Executor } from './executor.ts'
import { Finisher } from './finisher.ts'
import { foldStatistics } from './fold-statistics.ts'
import type { RegisteredType } from './job-type.ts'
import { JobWork, type JobWorkParts, type LateFinish } from './job-work.ts'
import { NodeLife } from './node-life.ts'
import type { NodePart } from './node-part.ts'
import { OwnBodies } from './own-bodies.ts'
import { Poller } from './poller.ts'
import { Recovery, type RecoveryStats } from './recovery.ts'
import { ReportWriter } from './report-writer.ts'

export interface NodeParts {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly newId: IdSource
  readonly logger: Logger
  /** This node's id. */
  readonly nodeId: string
  readonly name: string
  readonly concurrency: number
  readonly policy: ConcurrencyPolicy
  readonly types: ReadonlyMap<string, RegisteredType>
  /** What else works while this node lives, or while it claims. */
  readonly background: readonly NodePart[]
  readonly prepareFollowUp: (type: string, params: unknown, options: unknown) => NewJob | Promise<NewJob>
  readonly lateFinish: (late: LateFinish) => void
  readonly nodeRecovered: (node: NodeRecord, stats: RecoveryStats) => void
}

const LOOK_FOR_DEAD_EVERY_MS = 1_000
const LOOK_FOR_STRAYS_EVERY_MS = 5_000
/** Between fading and being taken for dead lie some seconds, in which bodies must have ended. */
const WATCH_LIFE_EVERY_MS = 500
const LOOK_FOR_WISHES_EVERY_MS = 1_000
const EXPIRE_TICKETS_EVERY_MS = 5_000
const PRUNE_EVENTS_EVERY_MS = 600_000
const EVENTS_KEPT_MS = 24 * 3_600_000
const PRUNE_EVENTS_MAX = 1_000
const FOLD_STATISTICS_EVERY_MS = 3_600_000

/** After an abort, bodies that listen to their signal get this long to end before the node leaves without them. */
const ABORT_GRACE_MS = 1_000

/** How long a node that leaves waits for outcomes that the store does not take. */
const WRITE_PATIENCE_MS = 5_000

/**
 * One scheduler that executes, or waits on a ticket. It lives from when it joined, at its first start at the latest, until
 * its last body has ended; one that never did lives as long as somebody in it waits.
 */
export class SchedulerNode {
  readonly nodeId: string
  readonly #parts: NodeParts
  readonly #work: JobWorkParts
  readonly #finisher: Finisher
  readonly #executor: Executor
  readonly #dispatcher: Dispatcher
  readonly #recovery: Recovery
  readonly #poller: Poller
  readonly #life: NodeLife
  readonly #bodies: OwnBodies
  #waiters = 0
  /** Until it leaves, whether somebody waits or not. */
  #isToLive = false
  #arePartsLiving = false
  #hasLeft = false
  #hasUnseenWish = false

  constructor(parts: NodeParts) {
    const { store, clock, random, newId, logger, nodeId, nodeRecovered, types, concurrency, name } = parts
    this.#parts = parts
    this.nodeId = nodeId
    const finisher = new Finisher({ store, clock, random, newId, logger, nodeId })
    const { prepareFollowUp, lateFinish } = parts
    const reports = new ReportWriter(store, clock, logger)
    this.#finisher = finisher
    this.#work = { store, finisher, reports, clock, logger, types, prepareFollowUp, lateFinish }
    this.#recovery = new Recovery({ store, finisher, clock, logger, newId, nodeId, nodeRecovered })
    this.#executor = new Executor({
      clock,
      logger,
      types,
      logDirectory: store.logDirectory,
      placeFreed: (type) => this.#dispatcher.freePlace(type),
    })
    this.#dispatcher = new Dispatcher({
      store,
      clock,
      logger,
      newId,
      nodeId,
      concurrency,
      types: [...types.keys()],
      policy: parts.policy,
      standing: () => this.#life.standing(),
      execute: (job) => this.#execute(job),
      executeDirect: (ticket) => this.#executeDirect(ticket),
    })
    this.#poller = new Poller(clock, logger)
    this.#life = new NodeLife({
      store,
      clock,
      logger,
      record: { nodeId, name, types: [...types.keys()], concurrency },
      begun: () => this.#startPolling(),
      ending: () => this.#stopPolling(),
    })
    this.#bodies = new OwnBodies({
      dispatcher: this.#dispatcher,
      executor: this.#executor,
      finisher,
      recovery: this.#recovery,
      logger,
      standing: () => this.#life.standing(),
    })
  }

  get isStarted(): boolean {
    return this.#dispatcher.isRunning
  }

  /** Neither a body nor a claim nor a write is under way here. */
  get isQuiet(): boolean {
    return (
      this.#executor.size === 0 &&
      !this.#dispatcher.isClaiming &&
      this.#finisher.isQuiet &&
      this.#parts.background.every(({ isQuiet }) => isQuiet)
    )
  }

  /** What the last claim failed with. Null: it did not. */
  get claimFailure(): Error | null {
    return this.#dispatcher.failure
  }

  /** The Jobs whose bodies execute here. */
  get executing(): readonly string[] {
    return this.#executor.idsOf('job')
  }

  /** The reservations whose bodies execute here. */
  get executingDirect(): readonly string[] {
    return this.#executor.idsOf('direct')
  }

  /** Recovers what the dead left, then claims. After a stop it goes on with what still executes here. */
  async start(): Promise<RecoveryStats> {
    assert(!this.isStarted, 'a node is started twice')
    this.#isToLive = true
    await this.#life.begin()
    const stats = await this.#recovery.recoverAtStart()
    // Here as well, so that it happens also where no process lives long. One page: a start must not take long.
    const pruned = this.#parts.store.pruneEvents(this.#parts.clock.now() - EVENTS_KEPT_MS, PRUNE_EVENTS_MAX)
    await Promise.all([pruned, this.#foldStatistics()])
    await this.#life.setClaims(true)
    this.#startParts()
    this.#dispatcher.start()
    return stats
  }

  /** Claims nothing more and waits. What has not ended then goes on; nothing is aborted. */
  async stop(timeoutMs: number): Promise<readonly string[]> {
    await this.#stopClaiming(timeoutMs)
    if (this.#executor.size === 0) await this.#finisher.drained(WRITE_PATIENCE_MS)
    return this.executing
  }

  async #stopClaiming(timeoutMs: number): Promise<void> {
    const { clock } = this.#parts
    const deadlineAt = clock.now() + timeoutMs
    const restMs = () => Math.max(0, deadlineAt - clock.now())
    await this.#within(timeoutMs, Promise.all([this.#dispatcher.stop(), this.#stopParts('claiming')]))
    const told = this.#tellStopped()
    await this.#waitForBodies(restMs())
    if (restMs() > 0) await this.#within(restMs(), told)
  }

  /** So that nobody counts on this node. It is no reason to fail: others find out when they wait in vain. */
  async #tellStopped(): Promise<void> {
    try {
      await this.#life.setClaims(false)
    } catch (error) {
      this.#parts.logger.warn({ error }, 'It could not be written that this node claims no more')
    }
  }

  #startParts(): void {
    for (const part of this.#parts.background) {
      if (part.during === 'claiming' || !this.#arePartsLiving) part.start()
    }
    this.#arePartsLiving = true
  }

  async #stopParts(during: NodePart['during']): Promise<void> {
    const parts = this.#parts.background.filter((part) => part.during === during)
    await Promise.all(
      parts.map(async (part) => {
        try {
          await part.stop()
        } catch (error) {
          this.#parts.logger.error({ error }, 'A part of this node could not be stopped in good order')
        }
      }),
    )
  }

  /**
   * Leaves for good: waits, then aborts without charging the Jobs. Resolves with a promise of the end of bodies that
   * ignored the abort; until then this node lives, because they do.
   */
  async leave(timeoutMs: number): Promise<{ readonly left: Promise<void> | null }> {
    this.#hasLeft = true
    await this.#stopClaiming(timeoutMs)
    this.#dispatcher.leave()
    if (this.#executor.size > 0) {
      this.#executor.interruptAll('shutdown')
      await this.#waitForBodies(ABORT_GRACE_MS + this.#killGraceMs())
    }
    if (this.#arePartsLiving) await this.#within(WRITE_PATIENCE_MS, this.#stopParts('living'))
    await this.#stopPolling()
    await this.#finisher.drained(WRITE_PATIENCE_MS)
    if (!this.#executor.hasBodies) {
      await this.#endLife()
      return { left: null }
    }
    this.#parts.logger.warn(
      { bodies: this.#executor.size },
      'Some jobs ignored their abort signal; their places stay taken until they end or the process does',
    )
    return { left: this.#endLifeWhenIdle() }
  }

  /** Whether this node claims, and handles the type. */
  serves(type: string): boolean {
    return this.isStarted && this.#parts.types.has(type)
  }

  /** Lives from now on, before its first start: others see it as a node that does not claim. */
  async join(): Promise<void> {
    if (this.#hasLeft) return
    this.#isToLive = true
    await this.#life.begin()
  }

  /** For somebody who waits on a ticket: lives until the answer is called, also if it was never started. */
  async ensureLife(): Promise<() => Promise<void>> {
    this.#waiters++
    let isWaiting = true
    const waitNoMore = async (): Promise<void> => {
      if (!isWaiting) return
      isWaiting = false
      this.#waiters--
      const isNeeded = () => this.#waiters > 0 || this.#isToLive || this.#hasLeft
      if (!isNeeded()) await this.#life.endUnless(isNeeded, (removed) => this.#within(WRITE_PATIENCE_MS, removed))
    }
    try {
      await this.#life.begin()
      return waitNoMore
    } catch (error) {
      await waitNoMore()
      throw error
    }
  }

  hear(signal: StoreSignal): void {
    this.#dispatcher.hear(signal)
    for (const part of this.#parts.background) part.hear(signal)
    if (!mayHoldCancelWish(signal)) return
    this.#hasUnseenWish = true
    if (this.#executor.size > 0) this.#carryOutCancelWishesSoon()
  }

  /** Something that no commit tells of may have made room: a limit was raised. */
  wake(): void {
    this.#dispatcher.wake()
  }

  #execute(job: ClaimedJob): void {
    this.#executor.start(new JobWork(job, this.#work))
    // The wish may have been committed together with the claim, before this Run was known here.
    if (this.#hasUnseenWish) this.#carryOutCancelWishesSoon()
  }

  #executeDirect(ticket: ClaimedTicket): void {
    this.#executor.start(new DirectWork(ticket, { ...this.#work, store: this.#parts.store }))
  }

  /** Until the last body has ended, also while nothing is claimed: a stopped node lives, and cancels. */
  #startPolling(): void {
    this.#poller.start([
      { name: 'look for dead nodes', everyMs: LOOK_FOR_DEAD_EVERY_MS, run: () => this.#lookForDead() },
      { name: 'look for strays', everyMs: LOOK_FOR_STRAYS_EVERY_MS, run: () => this.#bodies.compare() },
      { name: 'watch own life', everyMs: WATCH_LIFE_EVERY_MS, run: async () => this.#bodies.watch() },
      { name: 'cancel', everyMs: LOOK_FOR_WISHES_EVERY_MS, run: () => this.#carryOutCancelWishes() },
      { name: 'expire tickets', everyMs: EXPIRE_TICKETS_EVERY_MS, run: () => this.#recovery.expireTickets() },
      { name: 'prune events', everyMs: PRUNE_EVENTS_EVERY_MS, run: () => this.#pruneEvents() },
      { name: 'fold statistics', everyMs: FOLD_STATISTICS_EVERY_MS, run: () => this.#foldStatistics() },
    ])
  }

  /** What hangs because the store does not answer is given up. */
  #stopPolling(): Promise<void> {
    return this.#within(WRITE_PATIENCE_MS, this.#poller.stop())
  }

  async #endLifeWhenIdle(): Promise<void> {
    await this.#executor.idle()
    await this.#finisher.drained(WRITE_PATIENCE_MS)
    await this.#endLife()
  }

  #endLife(): Promise<void> {
    return this.#life.end((removed) => this.#within(WRITE_PATIENCE_MS, removed))
  }

  async #waitForBodies(timeoutMs: number): Promise<void> {
    if (this.#executor.size > 0) await this.#within(timeoutMs, this.#executor.idle())
  }

  /** Waits for the work, but not longer than this. A failure of the work within that time is thrown. */
  async #within(timeoutMs: number, work: Promise<unknown>): Promise<void> {
    let timer: Timer | null = null
    const timeout = new Promise<void>((resolve) => {
      timer = this.#parts.clock.after(timeoutMs, resolve)
    })
    // After the timeout nobody looks at it any more.
    work.catch(() => {})
    try {
      await Promise.race([work, timeout])
    } finally {
      ;(timer as Timer | null)?.cancel()
    }
  }

  #killGraceMs(): number {
    return Math.max(0, ...[...this.#parts.types.values()].map((type) => type.killGraceMs))
  }

  async #lookForDead(): Promise<void> {
    if ((await this.#life.confirm()) === 'registered-anew') {
      this.#dispatcher.wake()
      await this.#bodies.compare()
    }
    await this.#recovery.recoverDeadNodes()
  }

  async #pruneEvents(): Promise<void> {
    const before = this.#parts.clock.now() - EVENTS_KEPT_MS
    while ((await this.#parts.store.pruneEvents(before, PRUNE_EVENTS_MAX)) === PRUNE_EVENTS_MAX);
  }

  #foldStatistics(): Promise<void> {
    return foldStatistics(this.#parts.store, this.#parts.clock.now())
  }

  /** If that fails, they are carried out at the next look. */
  #carryOutCancelWishesSoon(): void {
    this.#carryOutCancelWishes().catch(() => {})
  }

  async #carryOutCancelWishes(): Promise<void> {
    this.#hasUnseenWish = false
    for (const { claim, mode } of await this.#parts.store.findCancelWishes(this.nodeId)) {
      if (!this.#executor.isExecuting(claim.runId)) this.#hasUnseenWish = true
      else if (mode === 'abort') this.#executor.interrupt(claim.runId, 'cancelled')
    }
  }
}

function mayHoldCancelWish(signal: StoreSignal): boolean {
  if (signal.kind === 'changed-elsewhere') return true
  return signal.kind === 'committed' && signal.row.transitions.some(({ kind }) => kind === 'job.cancel-requested')
}
