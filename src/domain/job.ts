import { createHash } from 'node:crypto'
import type { OnParentFailure } from './dependency.ts'
import type { JsonValue } from './json.ts'
import type { RetryCounts, RetryPolicy } from './retry.ts'
import type { Outcome, RunStatus } from './run.ts'

export type JobStatus = 'QUEUED' | 'RUNNING' | 'CANCELLED' | 'FINISHED'

/** What keeps a QUEUED Job from starting. Derived from stored facts, never stored itself. */
export type Hold = 'delayed' | 'dependencies' | 'group' | 'predecessor' | 'paused' | 'signal'

export type CancelMode = 'graceful' | 'abort'

/**
 * What a Job may do and take, fixed when it is accepted. It travels with the Job, so that any node can end it, also one
 * that has never seen its handler.
 */
export interface JobPolicy {
  readonly retry: RetryPolicy
  /** Null: the body may take as long as it likes. */
  readonly timeoutMs: number | null
  /** Names of the resources of which the body takes one permit each, in alphabetical order. */
  readonly resources: readonly string[]
}

/** One accepted request to execute a type once. */
export interface Job {
  readonly jobId: string
  readonly type: string
  readonly name: string | null
  readonly status: JobStatus
  readonly hold: Hold | null
  /** Its Run's status, once it has one. */
  readonly outcome: RunStatus | null
  readonly params: JsonValue
  readonly priority: number
  readonly position: number
  readonly attempt: number
  readonly chainId: string
  readonly retryOf: string | null
  readonly counts: RetryCounts
  readonly policy: JobPolicy
  readonly tags: readonly string[]
  readonly createdBy: string | null
  readonly businessKey: string | null
  readonly idempotencyKey: string | null
  readonly templateId: string | null
  readonly scheduleId: string | null
  /** The slot of its schedule for which it was made. */
  readonly slotAt: number | null
  readonly groupId: string | null
  /** The Jobs it waits for or waited for, as they were named. */
  readonly dependsOn: readonly string[]
  /** What becomes of it when one of them ends FAILED or CANCELLED. Null: it named none. */
  readonly onParentFailure: OnParentFailure | null
  /** Where the ends of this Job are told, besides the webhooks of the store. */
  readonly webhookUrl: string | null
  readonly createdAt: number
  readonly queuedAt: number
  /** The instant before which it must not start. */
  readonly runAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly cancelRequestedAt: number | null
  readonly cancelMode: CancelMode | null
  readonly cancelReason: string | null
}

/** The stored facts that decide whether a QUEUED Job is held back. */
export interface HoldFacts {
  readonly runAt: number
  /** A body of the previous attempt has not ended yet. */
  readonly awaitsPredecessor: boolean
  /** Parents that have not settled as the Job needs it: named ones, or only the predecessor in its sequential group. */
  readonly awaits: 'nobody' | 'parents' | 'group'
}

/** The first thing that keeps a QUEUED Job from starting at `now`, the one that only others can lift first. */
export function decideHold(facts: HoldFacts, now: number): Hold | null {
  if (facts.awaitsPredecessor) return 'predecessor'
  if (facts.awaits !== 'nobody') return facts.awaits === 'group' ? 'group' : 'dependencies'
  if (facts.runAt > now) return 'delayed'
  return null
}

/** Type names are used in URLs, file names and limits, so they are kept plain. */
export const JOB_TYPE_PATTERN = /^[a-z0-9][a-z0-9._-]{0,127}$/

export const PRIORITY_MIN = -2_147_483_648
export const PRIORITY_MAX = 2_147_483_647

/** Where a Job stands once a body's outcome is known. Only an abort that was carried out makes the Job CANCELLED. */
export function jobStatusAfter(outcome: Outcome): 'FINISHED' | 'CANCELLED' {
  return outcome.status === 'FAILED' && outcome.reason === 'cancelled' ? 'CANCELLED' : 'FINISHED'
}

const VERSION_LENGTH = 16

/**
 * Tells whether a Job is still as somebody saw it: a short hash over what an edit may change and what makes one come too
 * late. It does not change with the time that passes.
 */
export function jobVersion(
  job: Pick<Job, 'status' | 'priority' | 'position' | 'runAt' | 'params' | 'cancelRequestedAt'>,
): string {
  const facts = [job.status, job.priority, job.position, job.runAt, job.cancelRequestedAt, job.params]
  return createHash('sha256').update(JSON.stringify(facts)).digest('base64url').slice(0, VERSION_LENGTH)
}
