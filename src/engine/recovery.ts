import type { Clock } from '../platform/clock.ts'
import type { IdSource } from '../platform/ids.ts'
import type { Logger } from '../platform/logger.ts'
import { killOrphan } from '../platform/processes.ts'
import { passFaultPoint } from '../store/fault-points.ts'
import type { Damage } from '../store/maintenance.ts'
import type { NodeRecord } from '../store/nodes.ts'
import type { ClaimedJob, Occupancy } from '../store/runs.ts'
import type { Store } from '../store/store.ts'
import type { Finisher } from './finisher.ts'
import { failure } from './outcome.ts'
import { EMPTY_REPORT } from './reporter.ts'

/** What recovery found and did. */
export interface RecoveryStats {
  readonly runningJobsRecovered: number
  readonly retriesCreated: number
  readonly errors: readonly string[]
}

export interface RecoveryParts {
  readonly store: Store
  readonly finisher: Finisher
  readonly clock: Clock
  readonly logger: Logger
  readonly newId: IdSource
  readonly nodeId: string
  /** Tells the world about a node that was found dead. */
  readonly nodeRecovered: (node: NodeRecord, stats: RecoveryStats) => void
}

const PAGE = 200

/** A child in another pid namespace cannot be killed from here; its lifeline ends it, within this time. */
const FOREIGN_CHILD_GRACE_MS = 3_000

/**
 * Ends what dead nodes left behind, through the same finisher as everything else: only the reason differs. Safe to run
 * at any time, in any number of processes at once, and again after being killed half-way: every write is fenced by the
 * state it expects, and a living node is never touched.
 */
export class Recovery {
  readonly #parts: RecoveryParts
  readonly #seenDeadAt = new Map<string, number>()

  constructor(parts: RecoveryParts) {
    this.#parts = parts
  }

  /** At start: what only damage can have made, the dead, and the remains of lives without a row. */
  async recoverAtStart(): Promise<RecoveryStats> {
    const tally = new Tally()
    // Damage first: what it left of a dead node's bodies would keep that node from being removed.
    await this.#repairDamage(tally)
    await this.#recoverDeadNodes(tally)
    const nodes = await this.#parts.store.listNodes()
    await this.#parts.store.liveness.sweep(new Set(nodes.map((node) => node.nodeId)))
    return tally.stats()
  }

  /** While running: the dead. */
  async recoverDeadNodes(): Promise<void> {
    await this.#recoverDeadNodes(new Tally())
  }

  /** Runs that the store says are executing here, though nobody here knows them: a claim whose answer was lost. */
  async endStrays(isKnown: (runId: string) => boolean): Promise<void> {
    const { store, nodeId } = this.#parts
    const unknown = async () =>
      (await store.listOccupancies(nodeId, PAGE)).filter(({ job }) => !isKnown(job.claim.runId))
    const suspects = new Set((await unknown()).map(({ job }) => job.claim.runId))
    if (suspects.size === 0) return
    // Between a commit and the moment we know of it lies a turn of the event loop: look twice.
    await new Promise<void>((resolve) => setImmediate(resolve))
    for (const occupancy of await unknown()) {
      const { runId } = occupancy.job.claim
      if (!suspects.has(runId)) continue
      try {
        await this.#end(occupancy, new Tally())
      } catch (error) {
        this.#parts.logger.error({ error, runId }, 'A stray run could not be ended; trying again')
      }
    }
  }

  async #recoverDeadNodes(tally: Tally): Promise<void> {
    const { store, nodeId } = this.#parts
    for (const node of await store.listNodes()) {
      if (node.nodeId === nodeId || (await store.liveness.isAlive(node.nodeId))) continue
      const own = new Tally()
      try {
        await this.#recoverNode(node, own)
      } catch (error) {
        own.errors.push(`node ${node.nodeId}: ${error instanceof Error ? error.message : String(error)}`)
        this.#parts.logger.error({ error, node: node.nodeId }, 'A dead node could not be recovered; trying again')
      }
      tally.add(own)
    }
  }

  async #recoverNode(node: NodeRecord, tally: Tally): Promise<void> {
    const { store, clock } = this.#parts
    passFaultPoint('recovery:node-found')
    for (;;) {
      const page = await store.listOccupancies(node.nodeId, PAGE)
      if (page.length === 0) break
      const ended = await Promise.all(page.map((occupancy) => this.#end(occupancy, tally)))
      // What is left waits for a child that we cannot kill: the next look finds it.
      if (!ended.includes(true)) return
    }
    passFaultPoint('recovery:runs-ended')
    if ((await store.removeNode(node.nodeId, clock.now())) !== 'removed') return
    await store.liveness.bury(node.nodeId)
    this.#seenDeadAt.delete(node.nodeId)
    const stats = tally.stats()
    this.#parts.logger.info({ node: node.name, ...stats }, 'A dead node was recovered')
    this.#parts.nodeRecovered(node, stats)
  }

  /** Ends one Run of a dead node, its child first. False: not yet. */
  async #end({ job, ended, child }: Occupancy, tally: Tally): Promise<boolean> {
    const { finisher } = this.#parts
    if (child !== null && (await killOrphan(child)) === 'foreign' && this.#isFreshlyDead(job.claim.nodeId)) return false
    if (ended) {
      await finisher.release(job.claim)
      return true
    }
    await this.#finishAsCrash(job, tally)
    return true
  }

  async #finishAsCrash(job: ClaimedJob, tally: Tally): Promise<void> {
    const result = await this.#parts.finisher.finish({
      job,
      outcome: failure('crash', 'Crash recovery: the process that executed this job ended before the job did.'),
      vetoed: false,
      body: 'ended',
      report: EMPTY_REPORT,
      followUps: [],
    })
    if (result.kind !== 'finished') return
    tally.runningJobsRecovered++
    if (result.retryJobId !== null) tally.retriesCreated++
  }

  #isFreshlyDead(nodeId: string): boolean {
    const now = this.#parts.clock.now()
    const since = this.#seenDeadAt.get(nodeId) ?? now
    this.#seenDeadAt.set(nodeId, since)
    return now - since < FOREIGN_CHILD_GRACE_MS
  }

  async #repairDamage(tally: Tally): Promise<void> {
    for (const damage of await this.#parts.store.findDamage(PAGE)) {
      this.#parts.logger.warn({ damage: damage.kind }, 'The database was damaged from outside; repairing it')
      try {
        await this.#repair(damage, tally)
      } catch (error) {
        tally.errors.push(`${damage.kind}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }

  async #repair(damage: Damage, tally: Tally): Promise<void> {
    const { store, clock, finisher, newId, nodeId } = this.#parts
    const outcome = failure('crash', 'Crash recovery: the job was running, but nothing was left of its execution.')
    const now = clock.now()
    switch (damage.kind) {
      case 'run-missing': {
        const { jobId } = damage.job
        const retry = finisher.decideRetryOrder(damage.job, outcome, false, now)
        if (!(await store.repairMissingRun({ jobId, runId: newId(), by: nodeId, outcome, retry, now }))) return
        tally.runningJobsRecovered++
        if (retry !== null) tally.retriesCreated++
        return
      }
      case 'occupancy-missing':
        // A living node may have lost its occupancy to the damage, but its body has no right to go on without one.
        return this.#finishAsCrash(damage.job, tally)
      case 'retry-missing': {
        // The decision was taken and stored; only the Job is missing. It comes now, and is charged as a crash.
        const { crashRetries } = damage.job.counts
        const counts = { ...damage.job.counts, crashRetries: crashRetries + 1 }
        const retry = { jobId: newId(), runAt: now, counts }
        if (await store.repairMissingRetry({ jobId: damage.job.jobId, retry, now })) tally.retriesCreated++
        return
      }
    }
  }
}

class Tally {
  runningJobsRecovered = 0
  retriesCreated = 0
  readonly errors: string[] = []

  add(other: Tally): void {
    this.runningJobsRecovered += other.runningJobsRecovered
    this.retriesCreated += other.retriesCreated
    this.errors.push(...other.errors)
  }

  stats(): RecoveryStats {
    const { runningJobsRecovered, retriesCreated, errors } = this
    return { runningJobsRecovered, retriesCreated, errors }
  }
}
