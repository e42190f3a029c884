import { jobStatusAfter } from '../../../domain/job.ts'
import type { FailureReason, RunStatus } from '../../../domain/run.ts'
import type { Claim, FinishedRun, FinishResult, FollowUpResult } from '../../../store/runs.ts'
import { answerEnded, columnsOfOutcome, type EndedRunRow } from '../../shared/ended-runs.ts'
import { countCancelled, countRun } from '../../shared/tallies.ts'
import type { Connection, SqlRow } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { carryOut } from './cascades.ts'
import { completeMany } from './complete-many.ts'
import { endedClaim, settleChain, tellCancelled, tellRunEnd } from './ended.ts'
import { enqueueOrDrop } from './enqueue.ts'
import { laneById } from './interned.ts'
import { releaseBusinessKey } from './keys.ts'
import { findLiveNodeSeq } from './nodes.ts'
import { deleteOccupancies, deleteOccupancy } from './occupancies.ts'
import { noteProgress, writeReport } from './reports.ts'
import { insertRetry, unblockRetry } from './retry.ts'
import { internNode } from './tallies.ts'

// 1 row: finished. 0 rows: this Run has ended before, and that word stands.
const END_RUN = `
update pawl_runs
set status = ?, reason = ?, finished_at = ?, finished_by = ?, will_retry = ?, exit_code = ?, result = ?, error = ?, stack = ?
where seq = ? and run_id = ? and status is null`

// Only for a Job whose body was aborted: every other end follows from its Run.
const MARK_CANCELLED = 'update pawl_jobs set cancelled_at = ? where seq = ?'

export function finishRuns(
  transaction: Transaction,
  runs: readonly FinishedRun[],
  newId: () => string,
): FinishResult[] {
  const bodiesEnded: number[] = []
  const completed = completeMany(transaction, runs)
  const asking: number[] = []
  const results = runs.map((run, index): FinishResult => {
    const finished = finishRun(transaction, run, completed, bodiesEnded)
    if (finished === null) return answerEnded(findEnded(transaction.connection, run), run)
    if (run.outcome.status === 'COMPLETED' && run.followUps.length > 0) asking.push(index)
    return finished
  })
  deleteOccupancies(transaction.connection, bodiesEnded)
  const [first] = runs
  if (first !== undefined && transaction.settled.length > 0) {
    const nodeSeq = transaction.cascades.length === 0 ? null : findLiveNodeSeq(transaction.connection, first.by)
    carryOut(transaction, { nodeSeq, newId }, first.finishedAt)
  }
  for (const index of asking) {
    const { followUps, finishedAt } = runs[index] as FinishedRun
    const written = followUps.map((job) => enqueueOrDrop(transaction, job, finishedAt))
    results[index] = { ...(results[index] as Finished), followUps: written }
  }
  return results
}

type Finished = FinishResult & { readonly kind: 'finished' }

const NO_FOLLOW_UPS: readonly FollowUpResult[] = []

/** All but its follow-ups, which come when all Runs of the list have ended. Null: it had ended before. */
function finishRun(
  transaction: Transaction,
  run: FinishedRun,
  completed: ReadonlySet<string | number>,
  bodiesEnded: number[],
): Finished | null {
  const { job, outcome, finishedAt } = run
  const { claim } = job
  const seq = Number(claim.ref)
  const retry = run.retry !== null && isCancelRequested(transaction, seq, job.groupId) ? null : run.retry
  if (!completed.has(claim.ref) && !endRun(transaction, seq, run, retry !== null)) return null
  if (run.body === 'ended') bodiesEnded.push(seq)

  const nodeSeq = internNode(transaction, run.by)
  countRun(transaction, nodeSeq, {
    status: outcome.status,
    runAt: job.runAt,
    startedAt: job.startedAt,
    finishedAt,
  })
  const status = jobStatusAfter(outcome)
  if (status === 'CANCELLED') {
    transaction.connection.run(MARK_CANCELLED, finishedAt, seq)
    countCancelled(transaction, finishedAt, nodeSeq)
  }
  writeReport(transaction, seq, run.report)
  noteProgress(transaction, seq, job, run.report, finishedAt)
  transaction.noteWhole(seq, {
    kind: status === 'CANCELLED' ? 'job.cancelled' : 'job.finished',
    jobId: claim.jobId,
    runId: claim.runId,
    chainId: job.chainId,
    type: job.type,
    status,
    outcome: outcome.status,
    reason: outcome.status === 'FAILED' ? outcome.reason : null,
    attempt: job.attempt,
    at: finishedAt,
  })
  const ended = endedClaim(job)
  tellRunEnd(transaction, ended, outcome.status, retry !== null, finishedAt)
  if (status === 'CANCELLED') tellCancelled(transaction, ended, finishedAt)
  if (retry !== null) {
    insertRetry(transaction, seq, retry, { awaitsPredecessor: run.body === 'executing', now: finishedAt })
  } else {
    if (job.businessKey !== null && run.body === 'ended') {
      releaseBusinessKey(transaction, job.businessKey, job.chainId)
    }
    settleChain(transaction, ended, status === 'CANCELLED' ? 'CANCELLED' : outcome.status, finishedAt)
  }
  return { kind: 'finished', retryJobId: retry?.jobId ?? null, followUps: NO_FOLLOW_UPS }
}

function endRun(transaction: Transaction, seq: number, run: FinishedRun, willRetry: boolean): boolean {
  const { outcome, by } = run
  const { runId, nodeId } = run.job.claim
  const { reason, exitCode, result, error, stack } = columnsOfOutcome(outcome)
  const changed = transaction.connection.run(
    END_RUN,
    outcome.status,
    reason,
    run.finishedAt,
    by === nodeId ? null : internNode(transaction, by),
    willRetry ? 1 : 0,
    exitCode,
    result,
    error,
    stack,
    seq,
    runId,
  )
  return changed === 1
}

const SELECT_CANCEL_REQUESTED = 'select cancel_requested_at from pawl_jobs where seq = ?'

const SELECT_GROUP_CANCEL_REQUESTED = 'select cancel_requested_at from pawl_groups where group_id = ?'

/** Somebody may have asked for it after the engine last looked. Then no retry follows, whatever the engine ordered. */
function isCancelRequested({ connection }: Transaction, seq: number, groupId: string | null): boolean {
  const wish = connection.get<{ cancel_requested_at: number | null }>(SELECT_CANCEL_REQUESTED, seq)
  if (wish?.cancel_requested_at != null) return true
  if (groupId === null) return false
  // The order to cancel the whole group may not have reached this member yet.
  const group = connection.get<{ cancel_requested_at: number | null }>(SELECT_GROUP_CANCEL_REQUESTED, groupId)
  return group?.cancel_requested_at != null
}

const SELECT_ENDED = `
select r.status, r.reason, r.finished_at, coalesce(f.node_id, n.node_id) as finished_by, next.job_id as retry_job_id
from pawl_runs r
join pawl_nodes n on n.node_seq = r.node_seq
join pawl_jobs j on j.seq = r.seq
left join pawl_nodes f on f.node_seq = r.finished_by
left join pawl_jobs next on next.retry_of = j.job_id
where r.run_id = ?`

function findEnded(connection: Connection, run: FinishedRun): EndedRunRow | undefined {
  return connection.get<EndedRunRow>(SELECT_ENDED, run.job.claim.runId)
}

const SELECT_RELEASED = `
select r.seq, r.status, r.reason, j.job_id, j.chain_id, j.lane_id, j.attempt, j.business_key
from pawl_runs r
join pawl_jobs j on j.seq = r.seq
where r.run_id = ? and r.status is not null`

interface ReleasedRow extends SqlRow {
  seq: number
  status: RunStatus
  reason: FailureReason | null
  job_id: string
  chain_id: string | null
  lane_id: number
  attempt: number
  business_key: string | null
}

export function releaseOccupancies(transaction: Transaction, claims: readonly Claim[], now: number): void {
  for (const claim of claims) releaseOccupancy(transaction, claim, now)
}

function releaseOccupancy(transaction: Transaction, claim: Claim, now: number): void {
  const { connection } = transaction
  const row = connection.get<ReleasedRow>(SELECT_RELEASED, claim.runId)
  // 0 rows: it was released before.
  if (row === undefined || !deleteOccupancy(connection, row.seq)) return
  const chainId = row.chain_id ?? row.job_id
  const chainGoesOn = unblockRetry(transaction, chainId, now)
  if (!chainGoesOn && row.business_key !== null) releaseBusinessKey(transaction, row.business_key, chainId)
  transaction.note(row.seq, {
    kind: 'run.released',
    jobId: row.job_id,
    runId: claim.runId,
    chainId,
    type: laneById(connection, transaction.interned, row.lane_id).type,
    status: row.reason === 'cancelled' ? 'CANCELLED' : 'FINISHED',
    outcome: row.status,
    reason: row.reason,
    attempt: row.attempt,
    at: now,
  })
}
