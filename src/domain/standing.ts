import type { OnParentFailure } from './dependency.ts'
import type { CancelMode, Hold, Job, JobStatus } from './job.ts'
import type { FailureReason, Progress, RunStatus } from './run.ts'

/** A rank is exact up to this one. */
export const RANK_MAX = 1_000

/** Of holders, parents, tickets, dependents and Jobs ahead, so many are named. */
export const LISTED_MAX = 10

/** Dependents and tickets are counted up to this number. */
export const COUNTED_MAX = 1_000

/** Nodes and bodies on them that are looked at, of each. */
export const NODES_MAX = 100

/** A body that holds a permit, or a place. */
export interface Holder {
  /** `run`: of a Job. `direct`: of a direct execution. */
  readonly kind: 'run' | 'direct'
  /** The Run's or the reservation's id. */
  readonly id: string
  readonly jobId: string | null
  readonly type: string
  readonly nodeId: string
  readonly nodeName: string
  readonly startedAt: number
  /** Its outcome is known already, and only its code has not ended: after a timeout, for example. */
  readonly hasEnded: boolean
}

/** A ticket of a direct execution that waits, and is served before any Job. */
export interface WaitingTicket {
  readonly reservationId: string
  readonly type: string
  readonly createdBy: string | null
  /** The node that asked for it. */
  readonly callerNodeId: string
  readonly callerName: string
  readonly createdAt: number
}

/** Bodies that need the same: one type, and a permit of each of these limits. */
export interface Kind {
  readonly type: string
  /** Names of all limits of which it takes a permit; many of them may not be limited. */
  readonly limits: readonly string[]
  /** Those of them that have no permit left. */
  readonly lacks: readonly string[]
}

/** Waiting tickets of one kind. */
export interface TicketLane extends Kind {
  /** Counted up to `COUNTED_MAX`. */
  readonly waiting: number
  /** At most `LISTED_MAX`. */
  readonly oldest: readonly WaitingTicket[]
}

/** Ready Jobs of one kind that come before this one. */
export interface LaneAhead extends Kind {
  readonly count: number
}

/** One limit that a Job needs a permit of. */
export interface LimitStanding {
  /** `running`, `type:<name>` or `resource:<name>` */
  readonly name: string
  readonly max: number
  readonly taken: number
  /** Who holds the permits, those that began first, at most `LISTED_MAX`. Empty while permits are left. */
  readonly holders: readonly Holder[]
}

/** A Job of another chain, or another Job of this one. */
export interface OtherJob {
  readonly jobId: string
  readonly type: string
  readonly attempt: number
  readonly status: JobStatus
  readonly hold: Hold | null
  readonly outcome: RunStatus | null
  readonly runAt: number
  /** Somebody asked for it: it is no automatic retry. */
  readonly isByHand: boolean
}

/** One parent for which a Job waits. */
export interface UnmetParent {
  /** As it was named. */
  readonly parentId: string
  /** The last Job of its chain: what it waits for now. Null: pruned. */
  readonly last: OtherJob | null
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

/** Where a Job stands among those that nothing but limits and places keeps from starting. */
export interface Rank {
  /** Ready Jobs that come before it, counted up to `RANK_MAX`. */
  readonly ahead: number
  /** The first of them, at most `LISTED_MAX`. */
  readonly first: readonly JobAhead[]
  /** The same by kind. Null: there are more than were counted. */
  readonly lanes: readonly LaneAhead[] | null
}

/** A node that handles the type of the Job. */
export interface NodeStanding {
  readonly nodeId: string
  readonly name: string
  readonly types: readonly string[]
  /** Whether it claims: not before its start, nor after its stop. */
  readonly claims: boolean
  readonly concurrency: number
  /** Bodies that execute there. */
  readonly bodies: number
}

/** An order to the members of the Job's group that has not reached it yet. */
export interface GroupOrder {
  readonly groupId: string
  readonly kind: 'cancel' | 'stop' | 'skip'
  readonly mode: CancelMode
  readonly reason: string | null
  readonly orderedAt: number
}

/** The Run of a Job that has one. */
export interface RunStanding {
  readonly runId: string
  readonly nodeId: string
  readonly nodeName: string
  readonly status: RunStatus | null
  readonly reason: FailureReason | null
  readonly error: string | null
  readonly startedAt: number
  readonly finishedAt: number | null
  readonly willRetry: boolean
  readonly progress: Progress | null
}

/** What became of the chains that waited for this one. */
export interface Dependents {
  /** They wait still. Each counted up to `COUNTED_MAX`. */
  readonly waiting: number
  /** They waited until it had ended as they needed it. */
  readonly released: number
  /** They were cancelled or skipped before that. */
  readonly givenUp: number
  /** The last Jobs of some of these chains, at most `LISTED_MAX`. */
  readonly first: readonly OtherJob[]
}

export interface QueuedStanding {
  readonly kind: 'queued'
  readonly job: Job
  /** Null while something holds the Job: then others may come and go before it is its turn. */
  readonly rank: Rank | null
  /** At most `LISTED_MAX`. */
  readonly unmetParents: readonly UnmetParent[]
  readonly unmetParentCount: number
  /** The body of an earlier attempt that has not ended. */
  readonly predecessor: Holder | null
  readonly groupOrder: GroupOrder | null
  /** Only limits that it needs a permit of. */
  readonly limits: readonly LimitStanding[]
  readonly tickets: readonly TicketLane[]
  /** Nodes that handle its type and have not left, at most `NODES_MAX`, those that claim first. */
  readonly nodes: readonly NodeStanding[]
  /** Bodies on these nodes, those that began first, at most `NODES_MAX`. */
  readonly bodies: readonly Holder[]
}

export interface RunningStanding {
  readonly kind: 'running'
  readonly job: Job
  /** Null: the database was damaged. */
  readonly run: RunStanding | null
  readonly groupOrder: GroupOrder | null
}

export interface EndedStanding {
  readonly kind: 'ended'
  readonly job: Job
  /** Null: it was cancelled before it started. */
  readonly run: RunStanding | null
  /** A body of it still executes, though its outcome is known. */
  readonly body: Holder | null
  /** The next Job of the chain, or null. */
  readonly next: OtherJob | null
  /** The last Job of the chain, which may be this one. */
  readonly last: OtherJob
  /** The parent whose failure cancelled it, and the last Job of that chain. */
  readonly cancelledFor: { readonly parentId: string; readonly last: OtherJob | null } | null
  /** When the whole group to which it belongs was cancelled. */
  readonly groupCancelRequestedAt: number | null
  readonly dependents: Dependents
}

/** Everything that keeps a Job from starting, or what came of it, as it was in one instant. */
export type Standing = QueuedStanding | RunningStanding | EndedStanding
