import type { BulkOperation } from '../../domain/bulk-operation.ts'
import type { CancelMode, JobPolicy } from '../../domain/job.ts'
import { nextPosition } from '../../domain/order.ts'
import type { Stir, Transition } from '../../store/events.ts'
import { operationTransition, progressOf } from '../shared/stored-transitions.ts'
import type { Tally } from '../shared/tallies.ts'
import type { Connection, SqlRow } from './connection.ts'

/** One combination of type and resources. */
export interface Lane {
  readonly laneId: number
  readonly type: string
  readonly resources: readonly string[]
}

/**
 * Lanes, policies and nodes that this connection has seen. Their numbers never change and are never given again, so they
 * may be kept in memory; only a rollback can take back one that was just added, and then all are forgotten.
 */
export class Interned {
  readonly lanesByKey = new Map<string, Lane>()
  readonly lanesById = new Map<number, Lane>()
  readonly policyIds = new Map<string, number>()
  readonly policiesById = new Map<number, JobPolicy>()
  readonly policyTexts = new WeakMap<JobPolicy, string>()
  /** Numbers of nodes by their ids. */
  readonly nodeSeqs = new Map<string, number>()

  forget(): void {
    this.lanesByKey.clear()
    this.lanesById.clear()
    this.policyIds.clear()
    this.policiesById.clear()
    this.nodeSeqs.clear()
  }
}

// One statement for all that the first Job of a transaction needs. Of the occupancies it reads as many rows as bodies
// execute right now. Numbers of pruned Jobs are not given again: events still point to them.
const SELECT_LAST = `
select
  (select position from pawl_queue where priority = ? order by position desc limit 1) as queued,
  (select max(position) from pawl_occupancies where priority = ?) as running,
  max(
    coalesce((select max(seq) from pawl_jobs), 0),
    coalesce((select value from pawl_counters where name = 'last_pruned_job'), 0)
  ) as seq,
  (select value from pawl_counters where name = 'last_lane_job') as lastLaneJob`

interface LastRow extends SqlRow {
  queued: number | null
  running: number | null
  seq: number
  lastLaneJob: number | null
}

/** An order that may concern many: see `statements/cascades.ts`. */
export interface Cascade {
  /** `settled` and `revived` concern the dependents of a chain, the others the members of a group. */
  readonly kind: 'settled' | 'revived' | 'stop' | 'stop-behind' | 'skip' | 'cancel'
  /** The chain or the group it goes out from. */
  readonly subject: string
  readonly mode: CancelMode | null
  readonly reason: string | null
}

/** An enabled webhook, as far as it decides what it is told. */
export interface Subscriber {
  readonly webhookSeq: number
  readonly webhookId: string
  readonly events: readonly string[] | null
  readonly jobTypes: readonly string[] | null
}

type NullableFacts = 'runId' | 'outcome' | 'reason'

/** A transition whose missing facts are null. */
type Step = Omit<Transition, NullableFacts> & Partial<Pick<Transition, NullableFacts>>

/** One write transaction under way: what its statements need to share. */
export class Transaction {
  readonly connection: Connection
  readonly interned: Interned
  /** What this transaction changes, in order, each with the number of its Job. Becomes one event row. */
  readonly transitions: Transition[] = []
  readonly transitionSeqs: number[] = []
  /** What ended in it. Added to the statistics once, with the commit. */
  readonly tallies: Tally[] = []
  /** What else it changes that somebody may wait for. */
  readonly stirs = new Set<Stir>()
  /** The reservations of which one that waits will hear something: they started, ended, or will not be served. */
  readonly changedReservations = new Set<string>()
  /** The groups that it settled. */
  readonly settledGroups = new Set<string>()
  /**
   * Chains that have settled in this transaction; what follows for their dependents is still to be done. `isOrderOver`: it is
   * a member of a group that lets no further member start.
   */
  settled: { readonly chainId: string; readonly chainSeq: number; readonly isOrderOver: boolean }[] = []
  /** Orders that go out from what this transaction did, and have not been carried out yet. */
  cascades: Cascade[] = []
  /** How many dependents and members this transaction has released, cancelled, skipped or revived. */
  cascaded = 0
  /** The enabled webhooks, once somebody asked for them. To be set to null when one is changed. */
  subscribers: readonly Subscriber[] | null = null
  /** Null: nothing is queued or running at that priority. */
  readonly #lastPositions = new Map<number, number | null>()
  #lastSeq: number | null = null
  #lastLaneJob: number | null = null
  #lastAccepted: number | null = null

  constructor(connection: Connection, interned: Interned) {
    this.connection = connection
    this.interned = interned
  }

  /** Notes a step whose facts are all there: nothing is copied, and most steps are of this kind. */
  noteWhole(seq: number, transition: Transition): void {
    this.transitions.push(transition)
    this.transitionSeqs.push(seq)
  }

  /** Notes one step of a Job. What it has not is null. */
  note(seq: number, step: Step): void {
    const { kind, jobId, chainId, type, status, attempt, at } = step
    const { runId = null, outcome = null, reason = null } = step
    const transition = { kind, jobId, runId, chainId, type, status, outcome, reason, attempt, at }
    if (step.progress !== undefined) {
      this.transitions.push({ ...transition, progress: step.progress, message: step.message ?? null })
    } else if (step.scheduleId !== undefined) {
      this.transitions.push({ ...transition, scheduleId: step.scheduleId })
    } else this.transitions.push(transition)
    this.transitionSeqs.push(seq)
  }

  /** Notes how far a bulk operation is. */
  noteOperation(operation: BulkOperation, at: number): void {
    this.transitions.push(operationTransition(progressOf(operation), at))
    // No Job has this number.
    this.transitionSeqs.push(0)
    this.stirs.add('operations')
  }

  /** Notes that a direct execution has started or ended, or that a ticket will not be served. */
  noteReservation(reservationId: string): void {
    this.stirs.add('reservations')
    this.changedReservations.add(reservationId)
  }

  /** The highest number of a Job that this transaction has written. Null: it has written none. */
  get lastAccepted(): number | null {
    return this.#lastAccepted
  }

  /** The highest number up to which the lists of lanes are complete. Null: nobody had to know, or it is not there. */
  get lastLaneJob(): number | null {
    return this.#lastLaneJob
  }

  /** A Job was written with this number. */
  accept(seq: number): void {
    this.#lastAccepted = Math.max(seq, this.#lastAccepted ?? 0)
  }

  /** The number of the next Job. Who takes it may still be refused: then another one gets it in a later transaction. */
  takeSeq(): number {
    if (this.#lastSeq === null) this.#readLast(0)
    return ++(this.#lastSeq as number)
  }

  /** A position behind everything that is queued or running at this priority. */
  takeLastPosition(priority: number): number {
    if (!this.#lastPositions.has(priority)) this.#readLast(priority)
    const position = nextPosition(this.#lastPositions.get(priority) ?? null)
    this.#lastPositions.set(priority, position)
    return position
  }

  #readLast(priority: number): void {
    const row = this.connection.get<LastRow>(SELECT_LAST, priority, priority)
    const { queued = null, running = null, seq = 0, lastLaneJob = null } = row ?? {}
    this.#lastSeq ??= seq
    this.#lastLaneJob = lastLaneJob
    const highest = queued === null ? running : running === null ? queued : Math.max(queued, running)
    if (!this.#lastPositions.has(priority)) this.#lastPositions.set(priority, highest)
  }

  /** To be called after positions were changed in another way. */
  forgetPositions(): void {
    this.#lastPositions.clear()
  }
}
