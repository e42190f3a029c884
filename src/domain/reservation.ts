import type { JsonValue } from './json.ts'
import type { FailureReason, RunStatus } from './run.ts'

/** WAITING and RUNNING are what the outside calls active. */
export type ReservationStatus = 'WAITING' | 'RUNNING' | 'RELEASED' | 'EXPIRED'

/** How a direct execution ended, beyond the reasons of a failed Run. */
export type ReservationReason =
  | FailureReason
  /** The caller's wait timeout was over. */
  | 'wait-timeout'
  /** The caller gave up while it waited. */
  | 'caller-gone'
  /** It was not renewed in time, or the caller's node is dead. */
  | 'expired'

/** The record of one direct execution: who asked, what for, when, and what came of it. Never a Job. */
export interface Reservation {
  readonly reservationId: string
  readonly type: string
  readonly status: ReservationStatus
  readonly params: JsonValue
  /** The node that asked. */
  readonly callerNodeId: string
  /** The node that executes or executed it. */
  readonly nodeId: string | null
  readonly createdBy: string | null
  readonly createdAt: number
  readonly renewedAt: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly outcome: RunStatus | null
  readonly reason: ReservationReason | null
  readonly error: string | null
  readonly result: JsonValue
}

/** A ticket that its caller has not renewed for this long is EXPIRED and blocks nothing. */
export const TICKET_EXPIRES_MS = 60_000

/** How often a caller renews its ticket while it waits. */
export const TICKET_RENEW_MS = 15_000

export const WAIT_TIMEOUT_DEFAULT_MS = 300_000
