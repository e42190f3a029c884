import type { Job } from './job.ts'
import type { JsonValue } from './json.ts'
import type { Backoff, RetryOverrides, RetryPolicy } from './retry.ts'
import type { Run } from './run.ts'

/** A Job as the world outside sees it, in the HTTP API and in the messages of webhooks. */
export type WireJob = ReturnType<typeof wireJob>

/** Its webhook URL is not among the fields: a part of it may be a secret, and others read this. */
export function wireJob(job: Job) {
  return {
    job_id: job.jobId,
    job_type: job.type,
    name: job.name,
    status: job.status,
    hold: job.hold,
    outcome: job.outcome,
    params: job.params,
    priority: job.priority,
    position: job.position,
    attempt: job.attempt,
    chain_id: job.chainId,
    retry_of: job.retryOf,
    error_retries: job.counts.errorRetries,
    crash_retries: job.counts.crashRetries,
    template_id: job.templateId,
    schedule_id: job.scheduleId,
    slot_at: wireInstant(job.slotAt),
    group_id: job.groupId,
    depends_on: job.dependsOn,
    on_parent_failure: job.onParentFailure,
    business_key: job.businessKey,
    idempotency_key: job.idempotencyKey,
    timeout_ms: job.policy.timeoutMs,
    retry_policy: wireRetryPolicy(job.policy.retry),
    resources: job.policy.resources,
    tags: job.tags,
    created_by: job.createdBy,
    created_at: wireInstant(job.createdAt),
    queued_at: wireInstant(job.queuedAt),
    run_at: wireInstant(job.runAt),
    started_at: wireInstant(job.startedAt),
    finished_at: wireInstant(job.finishedAt),
    cancel_requested_at: wireInstant(job.cancelRequestedAt),
    cancel_reason: job.cancelReason,
  }
}

/** A Run as the world outside sees it. */
export interface WireRun {
  readonly run_id: string
  readonly job_id: string
  readonly chain_id: string
  readonly job_type: string
  readonly attempt: number
  readonly status: Run['status']
  readonly reason: Run['reason']
  readonly params_snapshot: JsonValue
  readonly template_id: string | null
  readonly started_at: string
  readonly finished_at: string | null
  readonly duration_ms: number | null
  readonly node: string
  readonly exit_code: number | null
  readonly error: string | null
  readonly result: JsonValue
  /** The paths of the files it produced. */
  readonly artifacts: readonly string[]
  readonly log_path: string | null
  readonly progress: Run['progress']
}

export function wireRun(run: Run): WireRun {
  return {
    run_id: run.runId,
    job_id: run.jobId,
    chain_id: run.chainId,
    job_type: run.type,
    attempt: run.attempt,
    status: run.status,
    reason: run.reason,
    params_snapshot: run.paramsSnapshot,
    template_id: run.templateId,
    started_at: wireInstant(run.startedAt),
    finished_at: wireInstant(run.finishedAt),
    duration_ms: run.durationMs,
    node: run.nodeId,
    exit_code: run.exitCode,
    error: run.error,
    result: run.result,
    artifacts: run.artifacts.map(({ path }) => path),
    log_path: run.logPath,
    progress: run.progress,
  }
}

export function wireRetryPolicy({ maxRetries, maxCrashRetries, backoff }: RetryPolicy) {
  return { max_retries: maxRetries, max_crash_retries: maxCrashRetries, backoff: wireBackoff(backoff) }
}

/** What a template says otherwise than its type; what it does not say is absent. */
export function wireRetryOverrides({ maxRetries, maxCrashRetries, backoff }: RetryOverrides) {
  return {
    ...(maxRetries !== undefined && { max_retries: maxRetries }),
    ...(maxCrashRetries !== undefined && { max_crash_retries: maxCrashRetries }),
    ...(backoff !== undefined && { backoff: wireBackoff(backoff) }),
  }
}

function wireBackoff(backoff: Backoff) {
  switch (backoff.kind) {
    case 'none':
      return { kind: backoff.kind }
    case 'fixed':
      return { kind: backoff.kind, delay_ms: backoff.delayMs }
    case 'exponential':
      return {
        kind: backoff.kind,
        base_ms: backoff.baseMs,
        factor: backoff.factor,
        max_ms: backoff.maxMs,
        jitter: backoff.jitter,
      }
  }
}

/** ISO-8601 in UTC. */
export function wireInstant(at: number): string
export function wireInstant(at: number | null): string | null
export function wireInstant(at: number | null): string | null {
  if (at === null) return null
  if (at !== last.at) last = { at, text: new Date(at).toISOString() }
  return last.text
}

/** A Job tells the same instant several times, and so do those that were accepted together. */
let last = { at: 0, text: '1970-01-01T00:00:00.000Z' }
