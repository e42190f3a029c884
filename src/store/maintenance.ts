import type { JobPolicy } from '../domain/job.ts'
import type { Outcome } from '../domain/run.ts'
import type { ClaimedJob, RetryOrder } from './runs.ts'

/** What a store knows of a type: enough to accept Jobs of it where no handler is at hand. */
export interface TypeRecord {
  readonly type: string
  readonly policy: JobPolicy
}

export interface LimitRecord {
  readonly name: string
  readonly max: number
}

/**
 * What no sequence of commits can lead to, only damage from outside: a restored backup of one table, a hand-written
 * `update`. Recovery repairs it.
 */
export type Damage =
  /** A Job that is not QUEUED any more, has not been cancelled, and yet has no Run. */
  | { readonly kind: 'run-missing'; readonly job: DamagedJob }
  /** A Run that has not ended, though nothing says where its body executes. */
  | { readonly kind: 'occupancy-missing'; readonly job: ClaimedJob }
  /** A Run that failed and was to be retried, without its retry. */
  | { readonly kind: 'retry-missing'; readonly job: DamagedJob }

export interface DamagedJob {
  readonly jobId: string
  readonly policy: JobPolicy
  readonly counts: ClaimedJob['counts']
}

export interface PruneRequest {
  /** Only chains whose last Job ended before this instant. */
  readonly endedBefore: number
  readonly limit: number
  /** Where the previous page stopped, or null for the first. */
  readonly cursor: string | null
}

export interface PrunePage {
  readonly jobsRemoved: number
  /** Settled groups that went with the last of their members. */
  readonly groupsRemoved: number
  /** Log files of the removed Runs, for the caller to delete. */
  readonly logPaths: readonly string[]
  /** Null: everything has been looked at. */
  readonly nextCursor: string | null
}

/** What `pruneChains` would remove with the same request. */
export interface PrunableChains {
  readonly jobs: number
  readonly groups: number
  readonly nextCursor: string | null
}

export interface MaintenanceStore {
  /** Makes types known on this store; what is stored of them already is replaced. */
  registerTypes(types: readonly TypeRecord[], now: number): Promise<void>
  findTypes(): Promise<readonly TypeRecord[]>

  /** Stores limits that are not stored yet, and returns all that are. */
  declareLimits(limits: readonly LimitRecord[]): Promise<readonly LimitRecord[]>
  /** Null removes the limit. */
  setLimit(name: string, max: number | null): Promise<void>
  listLimits(): Promise<readonly LimitRecord[]>

  /** Looks at the latest rows only: a start must not cost more after a million Jobs. */
  findDamage(limit: number): Promise<readonly Damage[]>
  /** Writes the FAILED Run that is missing, which ends the Job, and writes the retry. False: it was not so any more. */
  repairMissingRun(repair: {
    readonly jobId: string
    readonly runId: string
    readonly by: string
    readonly outcome: Outcome & { readonly status: 'FAILED' }
    readonly retry: RetryOrder | null
    readonly newId: () => string
    readonly now: number
  }): Promise<boolean>
  /** Writes the retry that was decided on but is not there. False: it was not so any more. */
  repairMissingRetry(repair: {
    readonly jobId: string
    readonly retry: RetryOrder
    readonly now: number
  }): Promise<boolean>

  /** Removes settled chains with all that belongs to them, page by page. Idempotency keys stay. */
  pruneChains(request: PruneRequest): Promise<PrunePage>
  /** The same without removing anything, page by page. */
  countPrunableChains(request: PruneRequest): Promise<PrunableChains>
  /** Removes event rows older than this instant, at most `limit`. The newest row stays. Returns how many were removed. */
  pruneEvents(before: number, limit: number): Promise<number>

  /** Writes a consistent copy of the whole store to a new file, while work goes on. */
  backup(path: string): Promise<void>
}
