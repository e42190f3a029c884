import type { ChainOutcome } from './chain.ts'

export type GroupMode = 'parallel' | 'sequential'

/** What becomes of members that have not started when another one settles FAILED or CANCELLED. */
export type OnMemberFailure = 'stop' | 'continue' | 'skip'

export type GroupStatus = 'CREATED' | 'QUEUED' | 'RUNNING' | 'COMPLETED' | 'CANCELLED' | 'PARTIAL'

/** Members by the state of their chains. The last six add up to `total`. */
export interface GroupCounts {
  readonly total: number
  readonly queued: number
  readonly running: number
  readonly completed: number
  readonly failed: number
  readonly skipped: number
  readonly cancelled: number
}

/** Jobs that belong together. */
export interface Group {
  readonly groupId: string
  readonly name: string | null
  readonly mode: GroupMode
  readonly onFailure: OnMemberFailure
  readonly status: GroupStatus
  readonly counts: GroupCounts
  readonly createdBy: string | null
  readonly createdAt: number
  /** When the first member started. */
  readonly startedAt: number | null
  /** When the last member's chain settled. A settled group stays settled. */
  readonly finishedAt: number | null
  readonly cancelRequestedAt: number | null
  readonly cancelReason: string | null
}

/** The most members a group may have. */
export const GROUP_MEMBERS_MAX = 100_000

export interface GroupFacts {
  readonly counts: GroupCounts
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly cancelRequestedAt: number | null
  /** An order to stop, skip or cancel members has not been carried out to its end. */
  readonly hasCascade: boolean
}

/**
 * A group's status follows from its members. A settled one was COMPLETED when all members were, CANCELLED when it was
 * cancelled as a whole, and PARTIAL otherwise.
 */
export function decideGroupStatus(facts: GroupFacts): GroupStatus {
  const { counts, startedAt, finishedAt, cancelRequestedAt, hasCascade } = facts
  if (finishedAt !== null) {
    if (counts.completed + counts.skipped === counts.total) return 'COMPLETED'
    return cancelRequestedAt === null ? 'PARTIAL' : 'CANCELLED'
  }
  if (counts.total === 0) return 'CREATED'
  const hasBegun = startedAt !== null || hasCascade || counts.running > 0 || counts.queued < counts.total
  return hasBegun ? 'RUNNING' : 'QUEUED'
}

/** What a member's end orders for the members that have not started. */
export function decideMemberFailure(outcome: ChainOutcome, onFailure: OnMemberFailure): 'stop' | 'skip' | 'nothing' {
  if (outcome === 'COMPLETED' || outcome === 'SKIPPED' || onFailure === 'continue') return 'nothing'
  return onFailure
}

/** Why a member never ran, for its history. */
export function predecessorFailedReason(jobId: string, outcome: ChainOutcome): string {
  return `predecessor failed: job ${jobId} ended ${outcome}`
}
