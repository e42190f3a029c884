import type { JobPolicy } from '../domain/job.ts'
import type { Reservation, ReservationReason, ReservationStatus } from '../domain/reservation.ts'
import type { Outcome } from '../domain/run.ts'
import type { NewJob, Page } from './jobs.ts'
import type { ChildIdentity, FollowUpResult } from './runs.ts'

/** A request to execute a type in the next free place. */
export interface NewTicket {
  readonly reservationId: string
  readonly type: string
  /** JSON text */
  readonly params: string
  readonly policy: JobPolicy
  /** The registered node that waits for it. */
  readonly callerNodeId: string
  readonly createdBy: string | null
  readonly onBusy: 'wait' | 'reject'
}

/** The right to end a direct execution. */
export interface DirectClaim {
  readonly reservationId: string
  readonly nodeId: string
  readonly ref: string | number
}

/** A ticket that a node serves. */
export interface ClaimedTicket {
  readonly claim: DirectClaim
  readonly type: string
  /** JSON text */
  readonly params: string
  readonly policy: JobPolicy
  readonly startedAt: number
}

export interface FinishedDirectRun {
  readonly ticket: ClaimedTicket
  readonly outcome: Outcome
  readonly finishedAt: number
  /** Written with a COMPLETED outcome, or not at all. */
  readonly followUps: readonly NewJob[]
  readonly body: 'ended' | 'executing'
}

export type DirectFinishResult =
  | { readonly kind: 'finished'; readonly followUps: readonly FollowUpResult[] }
  | { readonly kind: 'already-finished' }

export interface DirectOccupancy {
  readonly ticket: ClaimedTicket
  /** The outcome is known; only the body may still be executing. */
  readonly ended: boolean
  readonly child: ChildIdentity | null
}

export interface ReservationFilter {
  readonly status?: ReservationStatus
  readonly limit: number
  readonly cursor?: string | null
}

export interface PruneReservationsRequest {
  readonly endedBefore: number
  /** How many records to look at. */
  readonly limit: number
  readonly cursor: string | null
}

/** Tickets are served by `claimJobs`, before any Job. */
export interface ReservationStore {
  /**
   * Takes a ticket. `no-node`: no node that claims handles the type. `busy`: it was to be rejected unless it can start
   * now, and no such node has a free place, or its permits are taken, or an earlier ticket waits for the same.
   */
  openTicket(ticket: NewTicket, now: number): Promise<'waiting' | 'busy' | 'no-node'>

  /** Says that the callers still wait. Returns those of the given tickets that are still WAITING. */
  renewTickets(reservationIds: readonly string[], now: number): Promise<readonly string[]>

  /** The caller waits no more. `running` and `ended`: it was served before; nothing was changed. */
  releaseTicket(
    reservationId: string,
    reason: ReservationReason,
    now: number,
  ): Promise<'released' | 'running' | 'ended' | 'not-found'>

  /** Waiting tickets that were not renewed since that instant become EXPIRED. Returns how many. */
  expireTickets(renewedBefore: number, now: number): Promise<number>

  /** The waiting tickets of a dead node become EXPIRED. Returns how many. */
  expireTicketsOf(nodeId: string, now: number): Promise<number>

  /** Ends direct executions: the outcome, the occupancy and the follow-ups are one transaction. */
  finishDirectRuns(runs: readonly FinishedDirectRun[]): Promise<readonly DirectFinishResult[]>

  /** The bodies, whose outcomes were written before, have really ended. */
  releaseDirectOccupancies(claims: readonly DirectClaim[], now: number): Promise<void>

  /** Before a child may begin. `late`: the direct execution has ended. */
  recordDirectChild(claim: DirectClaim, child: ChildIdentity): Promise<'recorded' | 'late'>

  listDirectOccupancies(nodeId: string, limit: number): Promise<readonly DirectOccupancy[]>

  /** In the order of the given ids; those that are unknown are left out. */
  findReservations(reservationIds: readonly string[]): Promise<readonly Reservation[]>

  /** The same question at the least cost, for those who ask about many again and again. Unknown ones are left out. */
  findReservationStatuses(reservationIds: readonly string[]): Promise<ReadonlyMap<string, ReservationStatus>>

  /** Newest first. */
  listReservations(filter: ReservationFilter): Promise<Page<Reservation>>

  /**
   * Looks at a page of records, oldest first, and removes those that ended before the instant. `nextCursor` goes on behind
   * them, whether or not any was removed; null: there is nothing further to look at.
   */
  pruneReservations(
    request: PruneReservationsRequest,
  ): Promise<{ readonly removed: number; readonly nextCursor: string | null }>

  /** How many records `pruneReservations` would remove with the same request. */
  countPrunableReservations(
    request: PruneReservationsRequest,
  ): Promise<{ readonly reservations: number; readonly nextCursor: string | null }>
}
