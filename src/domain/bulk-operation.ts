import type { CancelMode, JobStatus } from './job.ts'

/** What a bulk operation does to each Job. */
export type BulkKind = 'cancel' | 'retry'

export type BulkStatus = 'RUNNING' | 'COMPLETED' | 'ABORTED'

/** As of a single cancel; `only-queued` leaves what has started as it is. */
export type BulkCancelMode = CancelMode | 'only-queued'

/** Why a Job was left as it is: the codes that a request for this one Job would have been refused with. */
export type BulkSkipReason =
  | 'already_cancelled'
  | 'business_key_taken'
  | 'job_ended'
  | 'job_not_found'
  | 'job_not_queued'
  | 'not_last_attempt'
  | 'not_retryable'

/** How far a bulk operation is. */
export interface BulkCounts {
  /** Jobs that matched when it began, at most `BULK_COUNT_MAX`; once it has completed, as many as it has dealt with. */
  readonly matched: number
  /** True: there may be more than `matched`. They were not counted, but they are dealt with. */
  readonly isMatchedCapped: boolean
  /** Jobs that were dealt with: the sum of the following three. */
  readonly done: number
  readonly changed: number
  readonly skipped: number
  /** Jobs that could not be read or written, because what is stored of them is damaged. */
  readonly failed: number
}

/** One order to cancel or retry many Jobs. It is carried out in pages, by any node, and survives every crash. */
export interface BulkOperation extends BulkCounts {
  readonly operationId: string
  readonly kind: BulkKind
  /** JSON text of what the Jobs must match, as a list of Jobs is asked for. Null: they were named. */
  readonly filter: string | null
  /** The Jobs that were named, or null. */
  readonly jobIds: readonly string[] | null
  /** Only of a cancel. */
  readonly mode: BulkCancelMode | null
  readonly reason: string | null
  readonly createdBy: string | null
  readonly status: BulkStatus
  readonly skipReasons: Readonly<Partial<Record<BulkSkipReason, number>>>
  readonly createdAt: number
  /** When its last page was done; first, when it began. */
  readonly updatedAt: number
  readonly endedAt: number | null
}

/** Jobs that are counted before an operation begins. What is beyond is called "or more". */
export const BULK_COUNT_MAX = 10_000

/** Jobs that may be named. For more there are filters. */
export const BULK_JOB_IDS_MAX = 1_000

/** One list of Jobs that an operation goes through. */
export interface BulkWalk {
  readonly status: JobStatus
  readonly outcome?: 'FAILED'
}

/** The states that a filter of this kind of operation may ask for. */
export const BULK_STATUSES = {
  cancel: ['QUEUED', 'RUNNING'],
  retry: ['FINISHED', 'CANCELLED'],
} as const satisfies Record<BulkKind, readonly JobStatus[]>

/**
 * The lists that an operation goes through, one after the other. What executes is told first, so that no retry of it joins the
 * queue, and once more at the end: what was QUEUED may have started meanwhile.
 */
export function walksOf(kind: BulkKind, status: JobStatus | undefined): readonly BulkWalk[] {
  if (kind === 'cancel') {
    if (status !== undefined) return [{ status }]
    return [{ status: 'RUNNING' }, { status: 'QUEUED' }, { status: 'RUNNING' }]
  }
  const all: readonly BulkWalk[] = [{ status: 'FINISHED', outcome: 'FAILED' }, { status: 'CANCELLED' }]
  return status === undefined ? all : all.filter((walk) => walk.status === status)
}
