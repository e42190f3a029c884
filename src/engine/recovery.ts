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

/** A child on another machine or in another pid namespace cannot be killed from here; its lifeline ends it, within this time. */
const FOREIGN_CHILD_GRACE_MS = 3_000

/** Of so many it is remembered that they were told. */
const FAILING_KEPT_MAX = 1_000

/** What the history says of how a body was lost. */
interface Story {
  readonly ofJob: string
  readonly ofTicket: string
}

const DEAD: Story = {
  ofJob: 'Crash recovery: the process that executed this job ended before the job did.',
  ofTicket: 'Crash recovery: the process that executed this ended before it did.',
}

const STRAY: Story = {
  ofJob: 'Crash recovery: the answer to the claim of this job was lost, so that it never began.',
  ofTicket: 'Crash recovery: the answer to the claim of this was lost, so that it never began.',
}

/**
 * Ends what dead nodes left behind, through the same finisher as everything else: only the reason differs. Safe to run
 * at any time, in any number of processes at once, and again after being killed half-way: every write is fenced by the
 * state it expects, and a living node is never touched.
 */
export class Recovery {
  readonly #parts: RecoveryParts
  readonly #seenDeadAt = new Map<string, number>()
  /** Nodes and bodies that could not be ended, of which that was told. */
  readonly #failing = new Set<string>()

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
   * The bodies that the store says are executing here, by the ids of their Runs or reservations: up to `limit` of each.
   * `isWhole`: there are no others.
   */
  async findOwnBodies(limit: number): Promise<{ readonly ids: ReadonlySet<string>; readonly isWhole: boolean }> {
    const { bodies, isWhole } = await this.#findBodies(this.#parts.nodeId, limit, STRAY)
    return { ids: new Set(bodies.map(({ id }) => id)), isWhole }
  }

  /** Ends those of the bodies that are recorded here of which that is said to be strays. */
  async endStrays(isStray: (id: string) => boolean, limit: number): Promise<void> {
    const { bodies } = await this.#findBodies(this.#parts.nodeId, limit, STRAY)
    for (const { id, end } of bodies) {
      if (!isStray(id)) continue
      try {
        await end(new RecoveryTally())
        this.#failing.delete(id)
      } catch (error) {
        this.#tellOnce(id, { error, runId: id }, 'A stray run could not be ended; trying again')
      }
    }
  }

  async #recoverDeadNodes(tally: RecoveryTally): Promise<void> {
    const { store, nodeId } = this.#parts
    const nodes = await store.listNodes()
    this.#forgetAllBut(new Set(nodes.map((node) => node.nodeId)))
    for (const node of nodes) {
      if (node.nodeId === nodeId) continue
      if (await store.liveness.isAlive(node.nodeId)) {
        this.#seenDeadAt.delete(node.nodeId)
        continue
      }
      const own = new RecoveryTally()
      try {
        await this.#recoverNode(node, own)
        this.#failing.delete(node.nodeId)
      } catch (error) {
        own.errors.push(`node ${node.nodeId}: ${error instanceof Error ? error.message : String(error)}`)
        const message = 'A dead node could not be recovered; trying again'
        this.#tellOnce(node.nodeId, { error, node: node.nodeId }, message)
      }
      tally.add(own)
    }
  }

  /** Others may have recovered them, or they came back: what was seen of them before says nothing if they die again. */
  #forgetAllBut(nodeIds: ReadonlySet<string>): void {
    for (const nodeId of this.#seenDeadAt.keys()) if (!nodeIds.has(nodeId)) this.#seenDeadAt.delete(nodeId)
  }

  #tellOnce(id: string, fields: Readonly<Record<string, unknown>>, message: string): void {
    if (!this.#failing.has(id)) this.#parts.logger.error(fields, message)
    if (this.#failing.size < FAILING_KEPT_MAX) this.#failing.add(id)
  }

  async #recoverNode(node: NodeRecord, tally: RecoveryTally): Promise<void> {
    const { store, clock } = this.#parts
    passFaultPoint('recovery:node-found')
    // First of all: as long as they wait, they hold others back.
    if (await this.#hasTickets()) tally.reservationsExpired += await store.expireTicketsOf(node.nodeId, clock.now())
    for (;;) {
      const { bodies } = await this.#findBodies(node.nodeId, PAGE, DEAD)
      // Asked after they were found: had it come back before, some of them could be new, and executing.
      if (await store.liveness.isAlive(node.nodeId)) return
      if (bodies.length === 0) break
      const ended = await Promise.all(bodies.map(({ end }) => end(tally)))
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

  /** The bodies that are recorded on a node: up to `limit` of Jobs, and as many of direct executions. */
  async #findBodies(nodeId: string, limit: number, story: Story): Promise<FoundBodies> {
    const { store } = this.#parts
    const ofJobs = await store.listOccupancies(nodeId, limit)
    const ofTickets = await store.listDirectOccupancies(nodeId, limit)
    const isWhole = ofJobs.length < limit && ofTickets.length < limit
    const jobs = ofJobs.map((found) => ({
      id: found.job.claim.runId,
      end: (tally: RecoveryTally) => this.#endAfterChild(nodeId, found.child, () => this.#end(found, story, tally)),
    }))
    const tickets = ofTickets.map((found) => ({
      id: found.ticket.claim.reservationId,
      end: (tally: RecoveryTally) =>
        this.#endAfterChild(nodeId, found.child, () => this.#endDirect(found, story, tally)),
    }))
    return { bodies: [...jobs, ...tickets], isWhole }
  }

  /** Kills what a dead node left of a body, then ends it. False: not yet. */
  async #endAfterChild(nodeId: string, child: ChildIdentity | null, end: () => Promise<void>): Promise<boolean> {
    if (child !== null && (await killOrphan(child)) === 'foreign' && this.#isFreshlyDead(nodeId)) return false
    await end()
    return true
  }

  async #end({ job, ended }: Occupancy, story: Story, tally: RecoveryTally): Promise<void> {
    if (ended) await this.#parts.finisher.release(job.claim)
    else await this.#finishAsCrash(job, story, tally)
  }

  async #endDirect({ ticket, ended }: DirectOccupancy, story: Story, tally: RecoveryTally): Promise<void> {
    if (ended) await this.#parts.finisher.releaseDirect(ticket.claim)
    else await this.#finishDirectAsCrash(ticket, story, tally)
  }

  async #finishAsCrash(job: ClaimedJob, story: Story, tally: RecoveryTally): Promise<void> {
    const result = await this.#parts.finisher.finish({
      job,
      outcome: failure('crash', story.ofJob),
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
  async #finishDirectAsCrash(ticket: ClaimedTicket, story: Story, tally: RecoveryTally): Promise<void> {
    const result = await this.#parts.finisher.finishDirect({
      ticket,
      outcome: failure('crash', story.ofTicket),
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
        return this.#finishAsCrash(damage.job, DEAD, tally)
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

interface FoundBodies {
  readonly bodies: readonly FoundBody[]
  /** There are no others. */
  readonly isWhole: boolean
}

/** A body as recovery sees it: whose, and the way to end it. */
interface FoundBody {
  /** Of its Run, or of its reservation. */
  readonly id: string
  /** False: not yet. */
  readonly end: (tally: RecoveryTally) => Promise<boolean>
}
