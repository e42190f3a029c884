import { TICKET_EXPIRES_MS } from '../domain/reservation.ts'
import type { Clock } from '../platform/clock.ts'
import type { IdSource } from '../platform/ids.ts'
import type { Logger } from '../platform/logger.ts'
import { killOrphan } from '../platform/processes.ts'
import { passFaultPoint } from '../store/fault-points.ts'
import type { Damage } from '../store/maintenance.ts'
import type { NodeRecord } from '../store/nodes.ts'
import type { ClaimedTicket, DirectOccupancy } from '../store/reservations.ts'
import type { ChildIdentity, ClaimedJob, Occupancy } from '../store/runs.ts'
import type { Store } from '../store/store.ts'
import type { Finisher } from './finisher.ts'
import { failure } from './outcome.ts'
import { type RecoveryStats, RecoveryTally } from './recovery-stats.ts'
import { EMPTY_REPORT } from './reporter.ts'

export type { RecoveryStats } from './recovery-stats.ts'

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
    const tally = new RecoveryTally()
    // Damage first: what it left of a dead node's bodies would keep that node from being removed.
    await this.#repairDamage(tally)
    await this.#recoverDeadNodes(tally)
    const nodes = await this.#parts.store.listNodes()
    await this.#parts.store.liveness.sweep(new Set(nodes.map((node) => node.nodeId)))
    return tally.stats()
  }

  /** While running: the dead. */
  async recoverDeadNodes(): Promise<void> {
    await this.#recoverDeadNodes(new RecoveryTally())
  }

  /**
   * Bodies that the store says are executing here, though nobody here knows them: a claim whose answer was lost. They are
   * known by the id of their Run, or of their reservation.
   */
  async endStrays(isKnown: (id: string) => boolean): Promise<void> {
    const suspects = new Set(
      (await this.#findBodies(this.#parts.nodeId)).map(({ id }) => id).filter((id) => !isKnown(id)),
    )
    if (suspects.size === 0) return
    // Between a commit and the moment we know of it lies a turn of the event loop: look twice.
    await new Promise<void>((resolve) => setImmediate(resolve))
    for (const { id, end } of await this.#findBodies(this.#parts.nodeId)) {
      if (!suspects.has(id) || isKnown(id)) continue
      try {
        await end(new RecoveryTally())
      } catch (error) {
        this.#parts.logger.error({ error, runId: id }, 'A stray run could not be ended; trying again')
      }
    }
  }

  async #recoverDeadNodes(tally: RecoveryTally): Promise<void> {
    const { store, nodeId } = this.#parts
    for (const node of await store.listNodes()) {
      if (node.nodeId === nodeId || (await store.liveness.isAlive(node.nodeId))) continue
      const own = new RecoveryTally()
      try {
        await this.#recoverNode(node, own)
      } catch (error) {
        own.errors.push(`node ${node.nodeId}: ${error instanceof Error ? error.message : String(error)}`)
        this.#parts.logger.error({ error, node: node.nodeId }, 'A dead node could not be recovered; trying again')
      }
      tally.add(own)
    }
  }

  async #recoverNode(node: NodeRecord, tally: RecoveryTally): Promise<void> {
    const { store, clock } = this.#parts
    passFaultPoint('recovery:node-found')
    // First of all: as long as they wait, they hold others back.
    if (await this.#hasTickets()) tally.reservationsExpired += await store.expireTicketsOf(node.nodeId, clock.now())
    for (;;) {
      const page = await this.#findBodies(node.nodeId)
      if (page.length === 0) break
      const ended = await Promise.all(page.map(({ end }) => end(tally)))
      // What is left waits for a child that we cannot kill: the next look finds it.
      if (!ended.includes(true)) return
    }
    // Messages that it was sending are somebody else's now, without waiting for its leases to end.
    await store.releaseDeliveries(node.nodeId, clock.now())
    passFaultPoint('recovery:runs-ended')
    if ((await store.removeNode(node.nodeId, clock.now())) !== 'removed') return
    await store.liveness.bury(node.nodeId)
    this.#seenDeadAt.delete(node.nodeId)
    const stats = tally.stats()
    this.#parts.logger.info({ node: node.name, ...stats }, 'A dead node was recovered')
    this.#parts.nodeRecovered(node, stats)
  }

  /** Tickets whose callers, though their nodes live, have not renewed them. */
  async expireTickets(): Promise<void> {
    const { store, clock } = this.#parts
    if (!(await this.#hasTickets())) return
    const now = clock.now()
    const expired = await store.expireTickets(now - TICKET_EXPIRES_MS, now)
    if (expired > 0)
      this.#parts.logger.warn({ tickets: expired }, 'Direct executions waited without being renewed; they expired')
  }

  /** Mostly there are none, and then nothing needs to be written. */
  async #hasTickets(): Promise<boolean> {
    return (await this.#parts.store.listReservations({ status: 'WAITING', limit: 1 })).items.length > 0
  }

  /** A page of the bodies that are recorded on a node: those of Jobs, and those of direct executions. */
  async #findBodies(nodeId: string): Promise<readonly FoundBody[]> {
    const { store } = this.#parts
    const ofJobs = await store.listOccupancies(nodeId, PAGE)
    const ofTickets = await store.listDirectOccupancies(nodeId, PAGE)
    return [
      ...ofJobs.map((found) => ({
        id: found.job.claim.runId,
        end: (tally: RecoveryTally) => this.#endAfterChild(nodeId, found.child, () => this.#end(found, tally)),
      })),
      ...ofTickets.map((found) => ({
        id: found.ticket.claim.reservationId,
        end: (tally: RecoveryTally) => this.#endAfterChild(nodeId, found.child, () => this.#endDirect(found, tally)),
      })),
    ]
  }

  /** Kills what a dead node left of a body, then ends it. False: not yet. */
  async #endAfterChild(nodeId: string, child: ChildIdentity | null, end: () => Promise<void>): Promise<boolean> {
    if (child !== null && (await killOrphan(child)) === 'foreign' && this.#isFreshlyDead(nodeId)) return false
    await end()
    return true
  }

  async #end({ job, ended }: Occupancy, tally: RecoveryTally): Promise<void> {
    if (ended) await this.#parts.finisher.release(job.claim)
    else await this.#finishAsCrash(job, tally)
  }

  async #endDirect({ ticket, ended }: DirectOccupancy, tally: RecoveryTally): Promise<void> {
    if (ended) await this.#parts.finisher.releaseDirect(ticket.claim)
    else await this.#finishDirectAsCrash(ticket, tally)
  }

  async #finishAsCrash(job: ClaimedJob, tally: RecoveryTally): Promise<void> {
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
    if (job.groupId !== null) tally.groupsRecovered.add(job.groupId)
  }

  /** Nothing is tried again: the caller, if it still waits, is told. */
  async #finishDirectAsCrash(ticket: ClaimedTicket, tally: RecoveryTally): Promise<void> {
    const result = await this.#parts.finisher.finishDirect({
      ticket,
      outcome: failure('crash', 'Crash recovery: the process that executed this ended before it did.'),
      body: 'ended',
      followUps: [],
    })
    if (result.kind === 'finished') tally.reservationsExpired++
  }

  #isFreshlyDead(nodeId: string): boolean {
    const now = this.#parts.clock.now()
    const since = this.#seenDeadAt.get(nodeId) ?? now
    this.#seenDeadAt.set(nodeId, since)
    return now - since < FOREIGN_CHILD_GRACE_MS
  }

  async #repairDamage(tally: RecoveryTally): Promise<void> {
    for (const damage of await this.#parts.store.findDamage(PAGE)) {
      this.#parts.logger.warn({ damage: damage.kind }, 'The database was damaged from outside; repairing it')
      try {
        await this.#repair(damage, tally)
      } catch (error) {
        tally.errors.push(`${damage.kind}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }

  async #repair(damage: Damage, tally: RecoveryTally): Promise<void> {
    const { store, clock, finisher, newId, nodeId } = this.#parts
    const outcome = failure('crash', 'Crash recovery: the job was running, but nothing was left of its execution.')
    const now = clock.now()
    switch (damage.kind) {
      case 'run-missing': {
        const { jobId } = damage.job
        const retry = finisher.decideRetryOrder(damage.job, outcome, false, now)
        if (!(await store.repairMissingRun({ jobId, runId: newId(), by: nodeId, outcome, retry, newId, now }))) return
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

/** A body as recovery sees it: whose, and the way to end it. */
interface FoundBody {
  /** Of its Run, or of its reservation. */
  readonly id: string
  /** False: not yet. */
  readonly end: (tally: RecoveryTally) => Promise<boolean>
}
