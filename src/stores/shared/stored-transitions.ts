import type { BulkOperation } from '../../domain/bulk-operation.ts'
import type { EventRow, OperationProgress, Transition, TransitionKind } from '../../store/events.ts'

/**
 * Transitions of one kind that followed each other, as they are stored. What never changes of a Job (its ids, its type)
 * is not repeated here: its number leads to it.
 */
export type StoredGroup = [
  kind: TransitionKind,
  at: number,
  outcome: Transition['outcome'],
  reason: Transition['reason'],
  seqs: number[],
  progress?: number,
  message?: string | null,
  /** Then there is one number, which is no Job's. */
  operation?: OperationProgress,
]

/** What a transaction noted: its transitions, and the number of the Job of each. */
export function groupTransitions({
  transitions,
  transitionSeqs,
}: {
  readonly transitions: readonly Transition[]
  readonly transitionSeqs: readonly number[]
}): StoredGroup[] {
  const groups: StoredGroup[] = []
  let last: StoredGroup | null = null
  for (let index = 0; index < transitions.length; index++) {
    const transition = transitions[index] as Transition
    const { kind, at, outcome, reason, progress } = transition
    const seq = transitionSeqs[index] as number
    if (
      last !== null &&
      last[0] === kind &&
      last[1] === at &&
      last[2] === outcome &&
      last[3] === reason &&
      progress === undefined &&
      transition.operation === undefined
    ) {
      last[4].push(seq)
      continue
    }
    last = [kind, at, outcome, reason, [seq]]
    if (transition.operation !== undefined) last.push(0, null, transition.operation)
    if (progress !== undefined) last.push(progress, transition.message ?? null)
    groups.push(last)
  }
  return groups
}

/** What is told of a bulk operation: nothing of a Job, so this needs none to be restored. */
export function operationTransition(progress: OperationProgress, at: number): Transition {
  return {
    kind: 'operation.progress',
    jobId: '',
    runId: null,
    chainId: '',
    type: '',
    status: 'RUNNING',
    outcome: null,
    reason: null,
    attempt: 0,
    at,
    operation: progress,
  }
}

export function progressOf(operation: BulkOperation): OperationProgress {
  const { operationId, kind, status, matched, isMatchedCapped, done, changed, skipped, failed } = operation
  return { operationId, kind, status, matched, isMatchedCapped, done, changed, skipped, failed }
}

/** Null: the group is of Jobs. */
export function restoreOperation([kind, at, , , , , , operation]: StoredGroup): Transition | null {
  return kind === 'operation.progress' && operation !== undefined ? operationTransition(operation, at) : null
}

/** A Job that was pruned since has no events any more either. Those of the others keep their places. */
export function withoutPruned(seq: number, all: readonly (Transition | null)[]): EventRow {
  const transitions = all.filter((transition) => transition !== null)
  if (transitions.length === all.length) return { seq, transitions }
  return { seq, transitions, indexes: all.flatMap((transition, index) => (transition === null ? [] : index)) }
}

/** What is stored of a Job, as far as its transitions need it. */
export interface EventJob {
  readonly job_id: string
  readonly chain_id: string | null
  readonly type: string
  readonly attempt: number
  readonly schedule_id: string | null
  readonly run_id: string | null
}

/** The transition that a group stands for, of one of its Jobs. */
export function restoreTransition(group: StoredGroup, job: EventJob): Transition {
  const [kind, at, outcome, reason, , progress, message] = group
  const transition: Transition = {
    kind,
    jobId: job.job_id,
    runId: hadRun(kind, outcome) ? job.run_id : null,
    chainId: job.chain_id ?? job.job_id,
    type: job.type,
    status: statusAfter(kind, reason),
    outcome,
    reason,
    attempt: job.attempt,
    at,
  }
  if (kind === 'schedule.triggered') return { ...transition, scheduleId: job.schedule_id ?? '' }
  return progress === undefined ? transition : { ...transition, progress, message: message ?? null }
}

function hadRun(kind: TransitionKind, outcome: Transition['outcome']): boolean {
  switch (kind) {
    case 'job.queued':
    case 'job.moved':
    case 'job.edited':
    case 'job.released':
    case 'schedule.triggered':
    case 'operation.progress':
      return false
    case 'job.cancelled':
      return outcome !== null
    case 'job.started':
    case 'job.cancel-requested':
    case 'job.finished':
    case 'run.progress':
    case 'run.released':
      return true
  }
}

function statusAfter(kind: TransitionKind, reason: Transition['reason']): Transition['status'] {
  switch (kind) {
    case 'job.queued':
    case 'job.moved':
    case 'job.edited':
    case 'job.released':
    case 'schedule.triggered':
      return 'QUEUED'
    case 'job.started':
    case 'job.cancel-requested':
    case 'run.progress':
    case 'operation.progress':
      return 'RUNNING'
    case 'job.cancelled':
      return 'CANCELLED'
    case 'job.finished':
    case 'run.released':
      return reason === 'cancelled' ? 'CANCELLED' : 'FINISHED'
  }
}
