import type { OnParentFailure } from './dependency.ts'
import type { CancelMode, Hold, JobStatus } from './job.ts'
import type { FailureReason, RunStatus } from './run.ts'
import type { Holder, JobAhead, WaitingTicket } from './standing.ts'

/** Every code of a reason. docs/why.md says what each means and what to do. */
export const WHY_CODES = [
  'body_still_executing',
  'cancel_requested',
  'cancelled',
  'cancelled_for_parent',
  'completed',
  'delayed',
  'dependents',
  'failed',
  'group_order',
  'group_stopped',
  'jobs_ahead',
  'no_free_place',
  'no_node',
  'node_dead',
  'nodes_stopped',
  'not_retryable',
  'predecessor_executing',
  'ready',
  'reservation_first',
  'resource_limit',
  'retries_exhausted',
  'retry_follows',
  'running',
  'running_limit',
  'settled',
  'skipped',
  'type_limit',
  'waiting_for_parent',
] as const

export type WhyCode = (typeof WHY_CODES)[number]

/** A body that holds a permit or a place. One of `runId` and `reservationId` is set. */
export interface WhyHolder {
  readonly runId: string | null
  readonly reservationId: string | null
  readonly jobId: string | null
  readonly type: string
  readonly nodeId: string
  readonly nodeName: string
  /** False: its node is dead, and recovery ends it as soon as a node is alive. */
  readonly nodeAlive: boolean
  readonly startedAt: number
  /** Its outcome is known, and only its code has not ended. */
  readonly hasEnded: boolean
}

/** Another Job, and how it stands. */
export interface WhyJob {
  readonly jobId: string
  readonly type: string
  readonly status: JobStatus
  readonly hold: Hold | null
  readonly outcome: RunStatus | null
  readonly runAt: number
}

interface WhyNode {
  readonly nodeId: string
  readonly name: string
}

type Body = Pick<WhyHolder, 'runId' | 'reservationId' | 'jobId' | 'nodeId' | 'nodeName' | 'startedAt'>

interface Said<Code extends WhyCode> {
  readonly code: Code
  /** One sentence for people. Facts in it are also beside it. */
  readonly message: string
}

/** What concerns one limit. */
interface LimitReason<Code extends WhyCode> extends Said<Code> {
  /** The limit, as `setLimit` takes it: `running`, `type:<name>` or `resource:<name>`. */
  readonly name: string
  readonly max: number
  readonly taken: number
  readonly holders: readonly WhyHolder[]
}

/** One parent of the Job. Without a `jobId` it stands for the `count` parents that are not named one by one. */
interface ParentReason<Code extends WhyCode> extends Said<Code> {
  readonly groupId: string | null
  /** As it was named. */
  readonly parentId: string | null
  /** The last Job of the parent's chain. */
  readonly jobId: string | null
  readonly type: string | null
  readonly status: JobStatus | null
  readonly hold: Hold | null
  readonly outcome: RunStatus | null
  readonly onParentFailure: OnParentFailure | null
  /** How many parents it waits for, this one included. */
  readonly count: number
}

export type WhyReason =
  // QUEUED
  | (Said<'predecessor_executing'> & { readonly [Fact in keyof Body]: Body[Fact] | null })
  | ParentReason<'waiting_for_parent'>
  | ParentReason<'group_order'>
  | (Said<'delayed'> & { readonly runAt: number })
  | (Said<'no_node'> & { readonly type: string /** Of nodes that handled it. */; readonly dead: readonly WhyNode[] })
  | (Said<'nodes_stopped'> & { readonly type: string; readonly nodes: readonly WhyNode[] })
  | LimitReason<'resource_limit'>
  | LimitReason<'type_limit'>
  | LimitReason<'running_limit'>
  | (Said<'reservation_first'> &
      WaitingTicket & {
        /** The limit of which it holds back the permits; null: it takes the next place. */
        readonly name: string | null
        /** How many wait before this Job, counted up to 1,000. */
        readonly count: number
      })
  | (Said<'no_free_place'> & {
      /** Places on all nodes that handle the type and claim. */
      readonly max: number
      readonly taken: number
      readonly nodes: readonly WhyNode[]
      readonly holders: readonly WhyHolder[]
    })
  | (Said<'jobs_ahead'> & {
      /** Counted up to 1,000. */
      readonly count: number
      readonly jobs: readonly JobAhead[]
    })
  | Said<'ready'>
  // RUNNING
  | (Said<'running'> & {
      readonly runId: string | null
      readonly nodeId: string | null
      readonly nodeName: string | null
      readonly startedAt: number | null
      /** When its time is over; null: it may take as long as it likes. */
      readonly timeoutAt: number | null
      /** From 0 to 1. */
      readonly progress: number | null
      readonly progressMessage: string | null
    })
  | (Said<'node_dead'> & { readonly nodeId: string; readonly nodeName: string })
  | (Said<'cancel_requested'> & {
      readonly cancelRequestedAt: number
      readonly mode: CancelMode
      readonly reason: string | null
      /** Set when the whole group is cancelled. */
      readonly groupId: string | null
    })
  // Ended
  | (Said<'completed'> & Ended)
  | (Said<'skipped'> & Ended & { readonly reason: string | null })
  | (Said<'failed'> & Ended & { readonly reason: FailureReason | null; readonly error: string | null })
  | (Said<'cancelled'> & {
      readonly finishedAt: number | null
      readonly mode: CancelMode | null
      readonly reason: string | null
      /** Set when its body was aborted; null: it never started. */
      readonly runId: string | null
      /** Set when the whole group was cancelled. */
      readonly groupId: string | null
    })
  | (Said<'cancelled_for_parent'> & {
      readonly parentId: string
      readonly jobId: string | null
      readonly type: string | null
      readonly status: JobStatus | null
      readonly outcome: RunStatus | null
    })
  | (Said<'group_stopped'> & {
      readonly groupId: string | null
      /** The member that failed. */
      readonly jobId: string | null
    })
  | (Said<'retry_follows'> & {
      readonly jobId: string | null
      readonly attempt: number
      readonly status: JobStatus | null
      readonly hold: Hold | null
      readonly outcome: RunStatus | null
      readonly runAt: number | null
      readonly byHand: boolean
    })
  | (Said<'retries_exhausted'> & { readonly retries: number; readonly max: number })
  | (Said<'not_retryable'> & { readonly reason: FailureReason | null })
  | (Said<'body_still_executing'> & Body)
  | (Said<'dependents'> & {
      /** Each counted up to 1,000. */
      readonly waiting: number
      readonly released: number
      readonly cancelled: number
      readonly jobs: readonly WhyJob[]
    })
  | (Said<'settled'> & {
      readonly chainId: string
      readonly jobId: string
      readonly outcome: RunStatus | 'CANCELLED'
      readonly attempts: number
    })

interface Ended {
  readonly runId: string | null
  readonly nodeId: string | null
  readonly nodeName: string | null
  readonly startedAt: number | null
  readonly finishedAt: number | null
}

/** What is known besides the stored facts. */
export interface WhyContext {
  readonly now: number
  /** Nodes that have not left, but are dead. */
  readonly dead: ReadonlySet<string>
  /** Whether somebody is there to recover what the dead left. */
  readonly isAnyNodeAlive: boolean
}

export function toWhyHolder(holder: Holder, { dead }: WhyContext): WhyHolder {
  const { kind, id, jobId, type, nodeId, nodeName, startedAt, hasEnded } = holder
  return {
    runId: kind === 'run' ? id : null,
    reservationId: kind === 'direct' ? id : null,
    jobId,
    type,
    nodeId,
    nodeName,
    nodeAlive: !dead.has(nodeId),
    startedAt,
    hasEnded,
  }
}
