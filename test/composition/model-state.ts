import type { ChainOutcome } from '../../src/domain/chain.ts'
import type { OnParentFailure } from '../../src/domain/dependency.ts'
import type { GroupMode, OnMemberFailure } from '../../src/domain/group.ts'

/** What every Job is accepted with, as JSON text. An edit may change it. */
export const PARAMS = '{"n":0}'

export interface ModelJob {
  /** Null: the store has chosen it, and the comparison will tell. */
  id: string | null
  readonly chain: ModelChain
  readonly attempt: number
  readonly createdAt: number
  readonly retryOf: ModelJob | null
  status: 'QUEUED' | 'RUNNING' | 'FINISHED' | 'CANCELLED'
  outcome: 'COMPLETED' | 'FAILED' | 'SKIPPED' | null
  priority: number
  position: number
  runAt: number
  /** JSON text */
  params: string
  group: ModelGroup | null
  /** Its body executes, also when its outcome is known. */
  isOccupied: boolean
  isCancelRequested: boolean
  /** It was cancelled because another had failed: a parent, or a member of its group. */
  isCancelledForAnother: boolean
}

export interface Edge {
  readonly parentId: string
  readonly parent: ModelChain
  /** By whoever made the Job; else by the order of a sequential group. */
  readonly isNamed: boolean
  /** The order of a sequential group, until its chain leaves the group. */
  ofGroup: boolean
  onFailure: OnParentFailure
  /** `given-up`: the child was cancelled or skipped while it waited. */
  state: 'waiting' | 'met' | 'given-up'
}

export interface ModelChain {
  /** Chains are numbered in the order in which they were accepted. */
  readonly number: number
  readonly businessKey: string | null
  readonly jobs: ModelJob[]
  readonly edges: Edge[]
  isPruned: boolean
}

export interface ModelGroup {
  readonly id: string
  readonly mode: GroupMode
  readonly onFailure: OnMemberFailure
  readonly total: number
  readonly settled: Record<ChainOutcome, number>
  /** Members that have not started were stopped, skipped or cancelled. */
  isStopped: boolean
  isCancelRequested: boolean
  startedAt: number | null
  finishedAt: number | null
}

export interface Cascade {
  readonly kind: 'settled' | 'revived' | 'stop' | 'skip' | 'cancel'
  readonly subject: ModelChain | ModelGroup
  cursor: number
}

export interface Request {
  readonly id: string
  readonly priority: number
  readonly runAt: number | null
  readonly dependsOn: readonly string[]
  readonly onParentFailure: OnParentFailure
  readonly businessKey: string | null
  readonly idempotencyKey: string | null
}

export function lastOf(chain: ModelChain): ModelJob {
  return chain.jobs.at(-1) as ModelJob
}

export function outcomeOf(chain: ModelChain): ChainOutcome | null {
  const last = lastOf(chain)
  if (last.status === 'CANCELLED') return 'CANCELLED'
  return last.status === 'FINISHED' ? last.outcome : null
}

export function isWaiting({ state }: Edge): boolean {
  return state === 'waiting'
}

/** The member before it, or a failed one that it named. If that one is tried again, the stopped member may follow. */
export function isCauseOfStop({ ofGroup, parent }: Edge): boolean {
  const outcome = outcomeOf(parent)
  return ofGroup || (outcome !== null && isFailure(outcome))
}

/** The group does not stop or skip the child any more, so the edge itself says what a failure means. */
export function leaveGroup(edge: Edge): void {
  edge.ofGroup = false
  if (edge.onFailure === 'wait') edge.onFailure = 'cancel'
}

export function inOrder(a: ModelJob, b: ModelJob): number {
  return b.priority - a.priority || a.position - b.position || a.createdAt - b.createdAt
}

export function isFailure(outcome: ChainOutcome): boolean {
  return outcome === 'FAILED' || outcome === 'CANCELLED'
}
