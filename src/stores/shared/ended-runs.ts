import type { FailureReason, Outcome, RunStatus } from '../../domain/run.ts'
import type { FinishedRun, FinishResult } from '../../store/runs.ts'

/** An outcome as the columns of a Run. */
export interface OutcomeColumns {
  readonly reason: FailureReason | null
  readonly exitCode: number | null
  readonly result: string | null
  readonly error: string | null
  readonly stack: string | null
}

export function columnsOfOutcome(outcome: Outcome): OutcomeColumns {
  switch (outcome.status) {
    case 'COMPLETED':
      return { reason: null, exitCode: outcome.exitCode, result: outcome.result, error: null, stack: null }
    case 'FAILED': {
      const { reason, exitCode, error, stack } = outcome
      return { reason, exitCode, result: null, error, stack }
    }
    case 'SKIPPED':
      return { reason: null, exitCode: null, result: null, error: outcome.message, stack: null }
  }
}

/** How a Run ended, and which retry followed. */
export type EndedRunRow = {
  status: RunStatus
  reason: FailureReason | null
  finished_at: number
  finished_by: string
  retry_job_id: string | null
}

/** It has ended before. The same word from the same node is a repeated call after a lost reply. */
export function answerEnded(row: EndedRunRow | undefined, run: FinishedRun): FinishResult {
  // Only an ended chain can be pruned, so a Run that is gone had ended.
  if (row === undefined) return { kind: 'already-finished', status: null, reason: null }
  const isRepeated =
    row.finished_by === run.by &&
    row.finished_at === run.finishedAt &&
    row.status === run.outcome.status &&
    row.reason === (run.outcome.status === 'FAILED' ? run.outcome.reason : null)
  if (!isRepeated) return { kind: 'already-finished', status: row.status, reason: row.reason }
  const followUps = run.followUps.map((job) => ({ kind: 'created' as const, jobId: job.jobId }))
  return { kind: 'finished', retryJobId: row.retry_job_id, followUps }
}
