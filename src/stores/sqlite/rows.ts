import type { OnParentFailure } from '../../domain/dependency.ts'
import { type CancelMode, decideHold, type Job, type JobStatus } from '../../domain/job.ts'
import type { JsonValue } from '../../domain/json.ts'
import type { Artifact, FailureReason, Run, RunStatus } from '../../domain/run.ts'
import type { Connection, SqlRow } from './connection.ts'
import { laneById, policyById } from './statements/interned.ts'
import { findParents, type ParentRow } from './statements/parents.ts'
import type { Interned } from './transaction.ts'

/** What makes a Job, of the tables that `FROM_JOBS` joins. */
export const JOB_COLUMNS = `
  j.seq, j.job_id, j.lane_id, j.policy_id, j.priority, j.position, j.run_at, j.created_at, j.attempt, j.chain_id,
  j.retry_of, j.error_retries, j.crash_retries, j.shutdown_retries, j.cancelled_at, j.cancel_requested_at, j.cancel_mode,
  j.cancel_reason, j.name, j.tags, j.created_by, j.business_key, j.idempotency_key, j.params,
  j.template_id, j.schedule_id, j.slot_at, j.group_id, j.parents, j.webhook_url, j.cancelled_for, q.seq as queued,
  q.awaits_predecessor, q.unmet_parents, r.status as run_status, r.started_at, r.finished_at`

/** The row in the queue that belongs to the Job `j`: found by its place, which is the same in both. */
export const IN_QUEUE =
  'q.priority = j.priority and q.position = j.position and q.created_at = j.created_at and q.seq = j.seq'

export const FROM_JOBS = `
from pawl_jobs j
left join pawl_queue q on ${IN_QUEUE}
left join pawl_runs r on r.seq = j.seq`

export interface JobRow extends SqlRow {
  seq: number
  job_id: string
  lane_id: number
  policy_id: number
  priority: number
  position: number
  run_at: number
  created_at: number
  attempt: number
  chain_id: string | null
  retry_of: string | null
  error_retries: number
  crash_retries: number
  shutdown_retries: number
  cancelled_at: number | null
  cancel_requested_at: number | null
  cancel_mode: CancelMode | null
  cancel_reason: string | null
  name: string | null
  tags: string | null
  created_by: string | null
  business_key: string | null
  idempotency_key: string | null
  params: string
  template_id: string | null
  schedule_id: string | null
  slot_at: number | null
  group_id: string | null
  parents: number
  webhook_url: string | null
  cancelled_for: string | null
  queued: number | null
  awaits_predecessor: number | null
  unmet_parents: number | null
  run_status: RunStatus | null
  started_at: number | null
  finished_at: number | null
}

/** A Job's status is not stored but follows from where its rows are, so that it cannot contradict them. */
export function statusOf(row: JobRow): JobStatus {
  if (row.cancelled_at !== null) return 'CANCELLED'
  if (row.queued !== null) return 'QUEUED'
  return row.run_status === null ? 'RUNNING' : 'FINISHED'
}

export function toJob(row: JobRow, connection: Connection, interned: Interned, now: number): Job {
  const status = statusOf(row)
  const parents = row.parents === 0 ? [] : findParents(connection, row)
  const named = parents.filter(({ of_group, place }) => of_group === 0 && place >= 0)
  const facts = {
    runAt: row.run_at,
    awaitsPredecessor: row.awaits_predecessor === 1,
    awaits: whomItAwaits(row, parents),
  }
  return {
    jobId: row.job_id,
    type: laneById(connection, interned, row.lane_id).type,
    name: row.name,
    status,
    hold: status === 'QUEUED' ? decideHold(facts, now) : null,
    outcome: row.run_status,
    params: JSON.parse(row.params) as JsonValue,
    priority: row.priority,
    position: row.position,
    attempt: row.attempt,
    chainId: row.chain_id ?? row.job_id,
    retryOf: row.retry_of,
    counts: countsOf(row),
    policy: policyById(connection, interned, row.policy_id),
    tags: row.tags === null ? [] : (JSON.parse(row.tags) as string[]),
    createdBy: row.created_by,
    businessKey: row.business_key,
    idempotencyKey: row.idempotency_key,
    templateId: row.template_id,
    scheduleId: row.schedule_id,
    slotAt: row.slot_at,
    groupId: row.group_id,
    dependsOn: named.map(({ parent_id }) => parent_id),
    onParentFailure: (named[0]?.on_failure as OnParentFailure | undefined) ?? null,
    webhookUrl: row.webhook_url,
    createdAt: row.created_at,
    queuedAt: row.created_at,
    runAt: row.run_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at ?? row.cancelled_at,
    cancelRequestedAt: row.cancel_requested_at,
    cancelMode: row.cancel_mode,
    cancelReason: row.cancel_reason,
  }
}

function whomItAwaits(row: JobRow, parents: readonly ParentRow[]): 'nobody' | 'parents' | 'group' {
  if (row.unmet_parents === null || row.unmet_parents === 0) return 'nobody'
  return parents.some(({ met, of_group }) => met === 0 && of_group === 0) ? 'parents' : 'group'
}

export function countsOf(row: {
  error_retries: number
  crash_retries: number
  shutdown_retries: number
}): Job['counts'] {
  return { errorRetries: row.error_retries, crashRetries: row.crash_retries, shutdownRetries: row.shutdown_retries }
}

export const RUN_COLUMNS = `
  r.seq, r.run_id, j.job_id, j.chain_id, j.lane_id, j.template_id, j.attempt, r.status, r.reason, j.params, n.node_id, r.started_at,
  r.finished_at, r.will_retry, r.exit_code, r.result, r.error, r.stack, r.artifacts, r.log_path, r.progress,
  r.progress_message, r.logs_dropped`

export interface RunRow extends SqlRow {
  seq: number
  run_id: string
  job_id: string
  chain_id: string | null
  lane_id: number
  template_id: string | null
  attempt: number
  status: RunStatus | null
  reason: FailureReason | null
  params: string
  node_id: string
  started_at: number
  finished_at: number | null
  will_retry: number
  exit_code: number | null
  result: string | null
  error: string | null
  stack: string | null
  artifacts: string | null
  log_path: string | null
  progress: number | null
  progress_message: string | null
  logs_dropped: number
}

export function toRun(row: RunRow, connection: Connection, interned: Interned): Run {
  return {
    runId: row.run_id,
    jobId: row.job_id,
    chainId: row.chain_id ?? row.job_id,
    type: laneById(connection, interned, row.lane_id).type,
    templateId: row.template_id,
    attempt: row.attempt,
    status: row.status,
    reason: row.reason,
    paramsSnapshot: JSON.parse(row.params) as JsonValue,
    nodeId: row.node_id,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    durationMs: row.finished_at === null ? null : row.finished_at - row.started_at,
    result: row.result === null ? null : (JSON.parse(row.result) as JsonValue),
    error: row.error,
    stack: row.stack,
    exitCode: row.exit_code,
    willRetry: row.will_retry === 1,
    artifacts: row.artifacts === null ? [] : (JSON.parse(row.artifacts) as Artifact[]),
    logPath: row.log_path,
    progress: row.progress === null ? null : { fraction: row.progress, message: row.progress_message },
    logsDropped: row.logs_dropped,
  }
}
