import type { BulkCounts, BulkKind, BulkStatus } from '../domain/bulk-operation.ts'
import type { JobStatus } from '../domain/job.ts'
import type { FailureReason, RunStatus } from '../domain/run.ts'

export type TransitionKind =
  | 'job.queued'
  | 'job.started'
  | 'job.finished'
  | 'job.cancelled'
  | 'job.cancel-requested'
  | 'job.moved'
  /** Its params or its instant were changed, and perhaps its place too. */
  | 'job.edited'
  /** The last parent it waited for has settled. */
  | 'job.released'
  /** A slot of its schedule made it, or somebody who triggered the schedule. */
  | 'schedule.triggered'
  | 'run.progress'
  | 'run.released'
  /** A bulk operation has begun, has done a page, or has ended. */
  | 'operation.progress'

/** How far a bulk operation was. */
export interface OperationProgress extends BulkCounts {
  readonly operationId: string
  readonly kind: BulkKind
  readonly status: BulkStatus
}

/** One step of one Job, as it was committed; or of a bulk operation, and then all that is said of a Job is empty. */
export interface Transition {
  readonly kind: TransitionKind
  readonly jobId: string
  readonly runId: string | null
  readonly chainId: string
  readonly type: string
  readonly status: JobStatus
  readonly outcome: RunStatus | null
  readonly reason: FailureReason | null
  readonly attempt: number
  readonly at: number
  /** Only of `schedule.triggered`. */
  readonly scheduleId?: string
  /** Only of `run.progress`. */
  readonly progress?: number
  readonly message?: string | null
  /** Only of `operation.progress`. */
  readonly operation?: OperationProgress
}

/** All transitions of one commit. Rows are numbered upwards, in an order in which the commits may have happened. */
export interface EventRow {
  readonly seq: number
  readonly transitions: readonly Transition[]
  /**
   * Which of the commit's transitions each of these is, counted from 0. Absent: all of them are here. Others are gone with
   * Jobs that were pruned, and who had read half of the row still finds its place.
   */
  readonly indexes?: readonly number[]
}

export type Stir =
  /** A ticket was taken, or given back. */
  | 'tickets'
  /** A direct execution has started or ended. */
  | 'reservations'
  /** A cascade was stored. */
  | 'cascades'
  /** A delivery became due. */
  | 'deliveries'
  /** A schedule was made or changed. */
  | 'schedules'
  /** A group has settled. */
  | 'groups'
  /** A bulk operation was started, or aborted. */
  | 'operations'

export type StoreSignal =
  /** This store object committed something. */
  | { readonly kind: 'committed'; readonly row: EventRow }
  /** This store object committed something that is no step of a Job, and that somebody may wait for. */
  | {
      readonly kind: 'stirred'
      readonly what: ReadonlySet<Stir>
      /** The groups that have settled. */
      readonly groupIds: ReadonlySet<string>
      /** The direct executions that have started or ended, and the tickets that will not be served. */
      readonly reservationIds: ReadonlySet<string>
    }
  /** Somebody else did: another process, or another connection of this one. */
  | { readonly kind: 'changed-elsewhere' }

export interface EventStore {
  /**
   * Rows after `seq`, oldest first. A store may hold back the newest ones for a moment, until nothing can appear before them:
   * so whoever goes on from the last row he read misses none. When a row can be read, so can all that were committed before
   * its own transaction began.
   */
  readEvents(afterSeq: number, limit: number): Promise<readonly EventRow[]>
  /** The number of the newest row that can be read, 0 when there is none. */
  lastEventSeq(): Promise<number>
  /** Calls the listener after each commit, from here or elsewhere. Returns the way to stop it. */
  subscribe(listener: (signal: StoreSignal) => void): () => void
}
