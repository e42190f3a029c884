import type { BulkCancelMode, BulkCounts, BulkKind, BulkOperation, BulkStatus } from '../domain/bulk-operation.ts'
import type { JobFilter, Page } from './jobs.ts'

/** What the Jobs of an operation must match: any filter of `listJobs`. */
export type BulkFilter = Omit<JobFilter, 'limit' | 'cursor'>

export interface NewBulkOperation {
  readonly operationId: string
  readonly kind: BulkKind
  readonly filter: BulkFilter | null
  readonly jobIds: readonly string[] | null
  readonly mode: BulkCancelMode | null
  readonly reason: string | null
  readonly createdBy: string | null
  readonly matched: Pick<BulkCounts, 'matched' | 'isMatchedCapped'>
}

/** Where the next page begins. */
export interface BulkPlace {
  /** Which of the lists that the operation goes through. */
  readonly walk: number
  /** Null: from the first on. */
  readonly cursor: string | null
}

/** An operation with what is needed to go on with it. */
export interface RunningBulkOperation {
  readonly operation: BulkOperation
  readonly filter: BulkFilter | null
  /** Pages so far. Who applies the next one must say this number. */
  readonly pages: number
  readonly place: BulkPlace
  /** The highest number of a Job when it began: what was accepted later is not touched. */
  readonly lastSeq: number
}

export interface BulkMatchRequest {
  readonly kind: BulkKind
  /** What a Job that executes is already asked to do at least is not asked again. */
  readonly mode: BulkCancelMode | null
  readonly filter: JobFilter
  /** Null: whatever is there. */
  readonly lastSeq: number | null
}

export interface BulkOperationFilter {
  readonly status?: BulkStatus
  readonly limit: number
  readonly cursor?: string | null
}

export interface BulkOperationStore {
  /** Writes the order. It concerns Jobs that are there already; nothing is done to them yet. */
  startOperation(operation: NewBulkOperation, now: number): Promise<void>

  findOperation(operationId: string): Promise<BulkOperation | null>

  /** Newest first. */
  listOperations(filter: BulkOperationFilter): Promise<Page<BulkOperation>>

  /** Those that have not ended, oldest first. */
  findRunningOperations(limit: number): Promise<readonly RunningBulkOperation[]>

  /**
   * Ids of Jobs to which the operation applies, in the order of the list: of a cancel, those of chains that were there at
   * its beginning; of a retry, the last ones of their chains. Pages may be short, as those of `listJobs`.
   */
  matchJobs(request: BulkMatchRequest): Promise<Page<string>>

  /**
   * Does to each of the Jobs what the operation says, as `cancelJob` and `retryByHand` would, and notes with it how many there
   * were and where the next page begins. `lost`: somebody else has applied this page, or the operation has ended.
   */
  applyOperationPage(page: {
    readonly operationId: string
    /** As `findRunningOperations` said. */
    readonly pages: number
    readonly jobIds: readonly string[]
    /** So many more Jobs could not be read or written. */
    readonly failed: number
    /** Null: this was the last page, and the operation is COMPLETED. */
    readonly next: BulkPlace | null
    readonly newId: () => string
    readonly now: number
  }): Promise<'applied' | 'lost'>

  /** Nothing more is done; what was done stays. `ended`: it had ended before. */
  abortOperation(operationId: string, now: number): Promise<'aborted' | 'ended' | 'not-found'>

  /** Removes operations that ended before this instant, at most `limit`. Returns how many were removed. */
  pruneOperations(before: number, limit: number): Promise<number>

  /** How many operations ended before this instant. */
  countPrunableOperations(before: number): Promise<number>
}
