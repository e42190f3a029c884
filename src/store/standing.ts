import type { OnParentFailure } from '../domain/dependency.ts'
import type { Hold, Job, JobStatus } from '../domain/job.ts'
import type { FailureReason, RunStatus } from '../domain/run.ts'

/** A body that holds a permit, or a place. */
export interface Holder {
  /** `run`: of a Job. `direct`: of a direct execution. */
  readonly kind: 'run' | 'direct'
  /** The Run's or the reservation's id. */
  readonly id: string
  readonly jobId: string | null
  readonly type: string
  readonly nodeId: string
  readonly startedAt: number
  /** Its outcome is known already, and only its code has not ended: after a timeout, for example. */
  readonly hasEnded: boolean
}

/** A ticket of a direct execution that waits, and is served before any Job. */
export interface WaitingTicket {
  readonly reservationId: string
  readonly type: string
  readonly createdBy: string | null
  readonly createdAt: number
}

/** One limit that a Job needs a permit of. */
export interface LimitStanding {
  /** `running`, `type:<name>` or `resource:<name>` */
  readonly name: string
  readonly max: number
  readonly taken: number
  /** Who holds the permits, those that began first, at most `LISTED_MAX`. */
  readonly holders: readonly Holder[]
  /** Waiting tickets that hold permits of it back, oldest first, at most `LISTED_MAX`. */
  readonly tickets: readonly WaitingTicket[]
}

/** One parent for which a Job waits. */
export interface UnmetParent {
  /** As it was named. */
  readonly parentId: string
  /** The last Job of its chain: what it waits for now. Null: pruned. */
  readonly lastJobId: string | null
  readonly type: string | null
  readonly status: JobStatus | null
  readonly hold: Hold | null
  readonly outcome: RunStatus | null
  readonly onFailure: OnParentFailure
  /** The order of a sequential group, and not somebody's word. */
  readonly ofGroup: boolean
}

/** A Job before this one in the queue. */
export interface JobAhead {
  readonly jobId: string
  readonly type: string
  readonly priority: number
}

/** What a Job that ended led to. */
export interface Aftermath {
  readonly reason: FailureReason | null
  readonly error: string | null
  /** The next Job of the chain, or null. */
  readonly retryJobId: string | null
  /** The parent whose failure cancelled it, or null. */
  readonly cancelledFor: string | null
  /** A body of it still executes, though its outcome is known. */
  readonly body: Holder | null
  /** How many dependents waited for its chain; counted up to `LISTED_MAX`. */
  readonly dependents: number
}

/** Everything that keeps a Job from starting, as it was in one instant: read in one go. */
export interface Standing {
  readonly job: Job
  /** QUEUED Jobs that come before it, counted up to `RANK_MAX`. Null: it is not QUEUED. */
  readonly ahead: number | null
  /** The first of the queue, at most `LISTED_MAX`: what will start before it. */
  readonly firstAhead: readonly JobAhead[]
  /** At most `LISTED_MAX`. */
  readonly unmetParents: readonly UnmetParent[]
  readonly unmetParentCount: number
  /** The body of an earlier attempt that has not ended. */
  readonly predecessor: Holder | null
  /** Only limits that it needs a permit of. */
  readonly limits: readonly LimitStanding[]
  /** Waiting tickets, oldest first, at most `LISTED_MAX`. */
  readonly tickets: readonly WaitingTicket[]
  /** Bodies that execute on each node, by its id. */
  readonly bodiesByNode: ReadonlyMap<string, number>
  /** Set when it has ended. */
  readonly aftermath: Aftermath | null
}

/** A rank is exact up to this one. */
export const RANK_MAX = 1_000

/** Of holders, parents, tickets and Jobs ahead, so many are named. */
export const LISTED_MAX = 10

export interface StandingStore {
  /** Costs the same at any backlog: it reads what is named above, and nothing that grows. */
  findStanding(jobId: string, now: number): Promise<Standing | null>
}
