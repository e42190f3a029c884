import { hostname } from 'node:os'
import { assert } from '../domain/errors.ts'
import type { Clock, Timer } from '../platform/clock.ts'
import type { IdSource } from '../platform/ids.ts'
import type { Logger } from '../platform/logger.ts'
import type { Random } from '../platform/random.ts'
import type { StoreSignal } from '../store/events.ts'
import type { NewJob } from '../store/jobs.ts'
import type { Life, NodeRecord } from '../store/nodes.ts'
import type { ClaimedJob } from '../store/runs.ts'
import type { Store } from '../store/store.ts'
import type { ConcurrencyPolicy } from './concurrency-policy.ts'
import { Dispatcher } from './dispatcher.ts'
import { Executor, type LateFinish } from './executor.ts'
import { Finisher } from './finisher.ts'
import type { RegisteredType } from './job-type.ts'
import { Poller } from './poller.ts'
import { Recovery, type RecoveryStats } from './recovery.ts'

export interface NodeParts {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly newId: IdSource
  readonly logger: Logger
  readonly name: string
  readonly concurrency: number
  readonly policy: ConcurrencyPolicy
  readonly types: ReadonlyMap<string, RegisteredType>
  readonly prepareFollowUp: (type: string, params: unknown, options: unknown) => NewJob | Promise<NewJob>
  readonly lateFinish: (late: LateFinish) => void
  readonly nodeRecovered: (node: NodeRecord, stats: RecoveryStats) => void
}

const LOOK_FOR_DEAD_EVERY_MS = 1_000
const LOOK_FOR_STRAYS_EVERY_MS = 5_000
const PRUNE_EVENTS_EVERY_MS = 600_000
const EVENTS_KEPT_MS = 24 * 3_600_000
const PRUNE_EVENTS_MAX = 1_000

/** After an abort, bodies that listen to their signal get this long to end before the node leaves without them. */
const ABORT_GRACE_MS = 1_000

/** How long a node that leaves waits for outcomes that the store does not take. */
const WRITE_PATIENCE_MS = 5_000

/** One scheduler that executes: it lives from its first start until its last body has ended. */
export class SchedulerNode {
  readonly nodeId: string
  readonly #parts: NodeParts
  readonly #finisher: Finisher
  readonly #executor: Executor
  readonly #dispatcher: Dispatcher
  readonly #recovery: Recovery
  readonly #poller: Poller
  #life: Life | null = null
  #isRegistered = false
  #hasUnseenWish = false

  constructor(parts: NodeParts) {
    const { store, clock, random, newId, logger } = parts
    this.#parts = parts
    this.nodeId = newId()
    const { nodeId } = this
    this.#finisher = new Finisher({ store, clock, random, newId, logger, nodeId })
    this.#recovery = new Recovery({
      store,
      finisher: this.#finisher,
      clock,
      logger,
      newId,
      nodeId,
      nodeRecovered: parts.nodeRecovered,
    })
    this.#executor = new Executor({
      store,
      finisher: this.#finisher,
      clock,
      logger,
      types: parts.types,
      logDirectory: store.logDirectory,
      prepareFollowUp: parts.prepareFollowUp,
      placeFreed: (type) => this.#dispatcher.freePlace(type),
      lateFinish: parts.lateFinish,
    })
    this.#dispatcher = new Dispatcher({
      store,
      clock,
      logger,
      newId,
      nodeId,
      concurrency: parts.concurrency,
      types: [...parts.types.keys()],
      policy: parts.policy,
      execute: (job) => this.#execute(job),
    })
    this.#poller = new Poller(clock, logger)
  }

  get isStarted(): boolean {
    return this.#dispatcher.isRunning
  }

  /** Neither a body nor a claim nor a write is under way here. */
  get isQuiet(): boolean {
    return this.#executor.size === 0 && !this.#dispatcher.isClaiming
  }

  get executing(): readonly string[] {
    return this.#executor.jobIds()
  }

  /** Recovers what the dead left, then claims. After a stop it goes on with what still executes here. */
  async start(): Promise<RecoveryStats> {
    assert(!this.isStarted, 'a node is started twice')
    await this.#beginLife()
    const stats = await this.#recovery.recoverAtStart()
    // One page, so that it happens also where no process lives long; a start must not take long.
    await this.#parts.store.pruneEvents(this.#parts.clock.now() - EVENTS_KEPT_MS, PRUNE_EVENTS_MAX)
    this.#dispatcher.start()
    return stats
  }

  /** Claims nothing more and waits. What has not ended then goes on; nothing is aborted. */
  async stop(timeoutMs: number): Promise<readonly string[]> {
    await this.#stopClaiming(timeoutMs)
    if (this.#executor.size === 0) await this.#finisher.drained(WRITE_PATIENCE_MS)
    return this.#executor.jobIds()
  }

  async #stopClaiming(timeoutMs: number): Promise<void> {
    const deadlineAt = this.#parts.clock.now() + timeoutMs
    await this.#within(timeoutMs, this.#dispatcher.stop())
    await this.#waitForBodies(Math.max(0, deadlineAt - this.#parts.clock.now()))
  }

  /**
   * Leaves for good: waits, then aborts without charging the Jobs. Resolves with a promise of the end of bodies that
   * ignored the abort; until then this node lives, because they do.
   */
  async leave(timeoutMs: number): Promise<{ readonly left: Promise<void> | null }> {
    await this.#stopClaiming(timeoutMs)
    if (this.#executor.size > 0) {
      this.#executor.interruptAll('shutdown')
      await this.#waitForBodies(ABORT_GRACE_MS + this.#killGraceMs())
    }
    await this.#poller.stop()
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

  hear(signal: StoreSignal): void {
    this.#dispatcher.hear(signal)
    if (!mayHoldCancelWish(signal)) return
    this.#hasUnseenWish = true
    if (this.#executor.size > 0) void this.#carryOutCancelWishes()
  }

  /** Something that no commit tells of may have made room: a limit was raised. */
  wake(): void {
    this.#dispatcher.wake()
  }

  #execute(job: ClaimedJob): void {
    this.#executor.start(job)
    // The wish may have been committed together with the claim, before this Run was known here.
    if (this.#hasUnseenWish) void this.#carryOutCancelWishes()
  }

  /** Takes up where an earlier start failed; does nothing in a node that lives. */
  async #beginLife(): Promise<void> {
    this.#life ??= await this.#parts.store.liveness.begin(this.nodeId)
    if (this.#isRegistered) return
    await this.#register()
    this.#isRegistered = true
    this.#startPolling()
  }

  async #register(): Promise<void> {
    const { store, clock, name, types, concurrency } = this.#parts
    await store.registerNode({
      nodeId: this.nodeId,
      name,
      host: hostname(),
      pid: process.pid,
      types: [...types.keys()],
      concurrency,
      startedAt: clock.now(),
    })
  }

  /** Until the last body has ended, also while nothing is claimed: a stopped node lives, and cancels. */
  #startPolling(): void {
    this.#poller.start([
      { name: 'look for dead nodes', everyMs: LOOK_FOR_DEAD_EVERY_MS, run: () => this.#lookForDead() },
      { name: 'look for strays', everyMs: LOOK_FOR_STRAYS_EVERY_MS, run: () => this.#endStrays() },
      { name: 'prune events', everyMs: PRUNE_EVENTS_EVERY_MS, run: () => this.#pruneEvents() },
    ])
  }

  async #endLifeWhenIdle(): Promise<void> {
    await this.#executor.idle()
    await this.#finisher.drained(WRITE_PATIENCE_MS)
    await this.#endLife()
  }

  async #endLife(): Promise<void> {
    try {
      if (this.#isRegistered)
        await this.#within(WRITE_PATIENCE_MS, this.#parts.store.removeNode(this.nodeId, this.#parts.clock.now()))
    } catch (error) {
      this.#parts.logger.warn({ error }, 'This node could not sign off; others find it dead, and recover what it left')
    }
    await this.#life?.end()
    this.#life = null
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
    await this.#life?.beat()
    await this.#registerAnewIfTakenForDead()
    await this.#recovery.recoverDeadNodes()
    await this.#carryOutCancelWishes()
  }

  /** Somebody took us for dead, which only the loss of our proof of life can have caused. We may not claim until then. */
  async #registerAnewIfTakenForDead(): Promise<void> {
    const nodes = await this.#parts.store.listNodes()
    if (nodes.some(({ nodeId }) => nodeId === this.nodeId)) return
    this.#parts.logger.warn({ node: this.nodeId }, 'This node was taken for dead; it registers anew')
    await this.#register()
    this.#dispatcher.wake()
  }

  async #endStrays(): Promise<void> {
    if (this.#dispatcher.isClaiming) return
    await this.#recovery.endStrays((runId) => this.#executor.isExecuting(runId) || this.#finisher.isFinishing(runId))
  }

  async #pruneEvents(): Promise<void> {
    const before = this.#parts.clock.now() - EVENTS_KEPT_MS
    while ((await this.#parts.store.pruneEvents(before, PRUNE_EVENTS_MAX)) === PRUNE_EVENTS_MAX);
  }

  async #carryOutCancelWishes(): Promise<void> {
    try {
      this.#hasUnseenWish = false
      for (const { claim, mode } of await this.#parts.store.findCancelWishes(this.nodeId)) {
        if (!this.#executor.isExecuting(claim.runId)) this.#hasUnseenWish = true
        else if (mode === 'abort') this.#executor.interrupt(claim.runId, 'cancelled')
      }
    } catch (error) {
      this.#parts.logger.warn({ error }, 'Cancel requests cannot be read; trying again')
    }
  }
}

function mayHoldCancelWish(signal: StoreSignal): boolean {
  return (
    signal.kind === 'changed-elsewhere' || signal.row.transitions.some(({ kind }) => kind === 'job.cancel-requested')
  )
}
