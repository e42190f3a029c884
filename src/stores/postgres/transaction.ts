import type { BulkOperation } from '../../domain/bulk-operation.ts'
import type { ChainOutcome } from '../../domain/chain.ts'
import type { OnMemberFailure } from '../../domain/group.ts'
import type { CancelMode, JobPolicy } from '../../domain/job.ts'
import type { WebhookEvent } from '../../domain/webhook.ts'
import type { Stir, Transition } from '../../store/events.ts'
import { operationTransition, progressOf } from '../shared/stored-transitions.ts'
import type { Tally } from '../shared/tallies.ts'
import type { Connection } from './connection.ts'

/** One combination of type and resources. */
export interface Lane {
  readonly laneId: number
  readonly type: string
  readonly resources: readonly string[]
}

/**
 * Lanes, policies and nodes that this store has seen. They are written in commits of their own, before the transaction that
 * needs them, and their numbers never change and are never given again: so they may be kept in memory.
 */
export class Interned {
  readonly lanesByKey = new Map<string, Lane>()
  readonly policyIds = new Map<string, number>()
  readonly policiesById = new Map<number, JobPolicy>()
  readonly policyTexts = new WeakMap<JobPolicy, string>()
  /** Numbers of nodes by their ids. */
  readonly nodeSeqs = new Map<string, number>()
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

/** A group of which members settle in a transaction. Its row is locked when everything else is done: see `statements/members.ts`. */
export interface SettlingGroup {
  readonly onFailure: OnMemberFailure
  /** It was stopped when it was read, or this transaction stops it. */
  isStopped: boolean
  /** This transaction has ordered what becomes of the members that have not started. */
  isOrdered: boolean
  /** Members that had not settled when it was read, without those that settle here. */
  live: number
  readonly settled: SettledMember[]
}

export interface SettledMember {
  readonly jobId: string
  readonly outcome: ChainOutcome
  readonly at: number
  readonly by: 'itself' | 'its-group'
}

/** Something that is to be told to somebody. */
export interface NewDelivery {
  readonly deliveryId: string
  readonly webhookSeq: number | null
  readonly endpoint: string
  readonly jobSeq: number
  readonly event: WebhookEvent
  readonly willRetry: boolean
  readonly at: number
}

type NullableFacts = 'runId' | 'outcome' | 'reason'

/** A transition whose missing facts are null. */
type Step = Omit<Transition, NullableFacts> & Partial<Pick<Transition, NullableFacts>>

/** One transaction under way: what its statements need to share. */
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
  /** The groups of which members settle in it, by their ids, until they are counted. */
  readonly groups = new Map<string, SettlingGroup>()
  /** What is to be told, until it is written. */
  deliveries: NewDelivery[] = []
  /** How many dependents and members this transaction has released, cancelled, skipped or revived. */
  cascaded = 0
  /** The enabled webhooks, once somebody asked for them. To be set to null when one is changed. */
  subscribers: readonly Subscriber[] | null = null

  constructor(connection: Connection, interned: Interned) {
    this.connection = connection
    this.interned = interned
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
}
