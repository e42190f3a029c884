import { jobStatusAfter } from '../../../domain/job.ts'
import type { FailureReason, RunStatus } from '../../../domain/run.ts'
import type { Claim, FinishedRun, FinishResult, FollowUpResult } from '../../../store/runs.ts'
import type { SqlRow } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { enqueueOrDrop } from './enqueue.ts'
import { laneById } from './interned.ts'
import { nodeSeqOf } from './nodes.ts'
import { writeReport } from './reports.ts'
import { insertRetry, unblockRetry } from './retry.ts'

const SELECT_RUN = `
select r.seq, r.status, r.reason, r.finished_at, r.finished_by, r.node_seq, r.log_lines,
  j.job_id, j.chain_id, j.lane_id, j.attempt, j.cancel_requested_at, j.business_key
from pawl_runs r
join pawl_jobs j on j.seq = r.seq
where r.run_id = ?`

interface OpenRow extends SqlRow {
  seq: number
  status: RunStatus | null
  reason: FailureReason | null
  finished_at: number | null
  finished_by: number | null
  node_seq: number
  log_lines: number
  job_id: string
  chain_id: string | null
  lane_id: number
  attempt: number
  cancel_requested_at: number | null
  business_key: string | null
}

// 1 row: finished. 0 rows cannot happen inside the write lock: the status was read there.
const END_RUN = `
update pawl_runs
set status = ?, reason = ?, finished_at = ?, finished_by = ?, will_retry = ?, exit_code = ?, result = ?, error = ?, stack = ?
where seq = ? and status is null`

// Only for a Job whose body was aborted: every other end follows from its Run.
const MARK_CANCELLED = 'update pawl_jobs set cancelled_at = ? where seq = ?'

const DELETE_OCCUPANCY = 'delete from pawl_occupancies where seq = ?'

const RELEASE_BUSINESS_KEY = 'delete from pawl_business_keys where business_key = ? and chain_id = ?'

export function finishRuns(transaction: Transaction, runs: readonly FinishedRun[]): FinishResult[] {
  return runs.map((run) => finishRun(transaction, run))
}

function finishRun(transaction: Transaction, run: FinishedRun): FinishResult {
  const { connection } = transaction
  const row = connection.get<OpenRow>(SELECT_RUN, run.claim.runId)
  // Only an ended chain can be pruned, so a Run that is gone had ended.
  if (row === undefined) return { kind: 'already-finished', status: null, reason: null }
  const by = run.by === run.claim.nodeId ? row.node_seq : nodeSeqOf(connection, run.by)
  if (row.status !== null) return answerEnded(transaction, run, row, by)

  const { outcome } = run
  const retry = row.cancel_requested_at === null ? run.retry : null
  const reason = outcome.status === 'FAILED' ? outcome.reason : null
  const status = jobStatusAfter(outcome)
  connection.run(
    END_RUN,
    outcome.status,
    reason,
    run.finishedAt,
    by === row.node_seq ? null : by,
    retry === null ? 0 : 1,
    outcome.status === 'SKIPPED' ? null : outcome.exitCode,
    outcome.status === 'COMPLETED' ? outcome.result : null,
    outcome.status === 'COMPLETED' ? null : outcome.status === 'FAILED' ? outcome.error : outcome.message,
    outcome.status === 'FAILED' ? outcome.stack : null,
    row.seq,
  )
  if (status === 'CANCELLED') connection.run(MARK_CANCELLED, run.finishedAt, row.seq)
  writeReport(transaction, row.seq, row.log_lines, run.report)
  transaction.note(row.seq, {
    kind: status === 'CANCELLED' ? 'job.cancelled' : 'job.finished',
    jobId: row.job_id,
    runId: run.claim.runId,
    chainId: row.chain_id ?? row.job_id,
    type: laneById(connection, transaction.interned, row.lane_id).type,
    status,
    outcome: outcome.status,
    reason,
    attempt: row.attempt,
    at: run.finishedAt,
  })
  if (run.body === 'ended') connection.run(DELETE_OCCUPANCY, row.seq)
  if (retry !== null) {
    insertRetry(transaction, row.seq, retry, { awaitsPredecessor: run.body === 'executing', now: run.finishedAt })
  } else if (row.business_key !== null && run.body === 'ended') {
    connection.run(RELEASE_BUSINESS_KEY, row.business_key, row.chain_id ?? row.job_id)
  }
  return { kind: 'finished', retryJobId: retry?.jobId ?? null, followUps: writeFollowUps(transaction, run) }
}

function writeFollowUps(transaction: Transaction, run: FinishedRun): FollowUpResult[] {
  if (run.outcome.status !== 'COMPLETED' || run.followUps.length === 0) return []
  return run.followUps.map((job) => enqueueOrDrop(transaction, job, run.finishedAt))
}

const SELECT_SUCCESSOR_ID = 'select job_id from pawl_jobs where retry_of = ?'

/** It has ended before. The same word from the same node is a repeated call after a lost reply. */
function answerEnded(transaction: Transaction, run: FinishedRun, row: OpenRow, by: number): FinishResult {
  const reason = run.outcome.status === 'FAILED' ? run.outcome.reason : null
  const isRepeated =
    (row.finished_by ?? row.node_seq) === by &&
    row.finished_at === run.finishedAt &&
    row.status === run.outcome.status &&
    row.reason === reason
  if (!isRepeated) return { kind: 'already-finished', status: row.status, reason: row.reason }
  const retryJobId = transaction.connection.get<{ job_id: string }>(SELECT_SUCCESSOR_ID, row.job_id)?.job_id ?? null
  const followUps = run.followUps.map((job) => ({ kind: 'created' as const, jobId: job.jobId }))
  return { kind: 'finished', retryJobId, followUps }
}

export function releaseOccupancies(transaction: Transaction, claims: readonly Claim[], now: number): void {
  for (const claim of claims) releaseOccupancy(transaction, claim, now)
}

function releaseOccupancy(transaction: Transaction, claim: Claim, now: number): void {
  const { connection } = transaction
  const row = connection.get<OpenRow>(SELECT_RUN, claim.runId)
  if (row === undefined || row.status === null) return
  // 0 rows: it was released before.
  if (connection.run(DELETE_OCCUPANCY, row.seq) === 0) return
  const chainId = row.chain_id ?? row.job_id
  const chainGoesOn = unblockRetry(transaction, chainId, now)
  if (!chainGoesOn && row.business_key !== null) connection.run(RELEASE_BUSINESS_KEY, row.business_key, chainId)
  transaction.note(row.seq, {
    kind: 'run.released',
    jobId: row.job_id,
    runId: claim.runId,
    chainId,
    type: laneById(connection, transaction.interned, row.lane_id).type,
    status: row.status === 'FAILED' && row.reason === 'cancelled' ? 'CANCELLED' : 'FINISHED',
    outcome: row.status,
    reason: row.reason,
    attempt: row.attempt,
    at: now,
  })
}

export function releaseBusinessKey(transaction: Transaction, key: string, chainId: string): void {
  transaction.connection.run(RELEASE_BUSINESS_KEY, key, chainId)
}
