import type { Job, JobPolicy } from '../../domain/job.ts'
import { NO_RETRIES_YET } from '../../domain/retry.ts'
import type { FailureReason, LogLine, Outcome } from '../../domain/run.ts'
import type { NewJob } from '../jobs.ts'
import type { NodeRecord } from '../nodes.ts'
import type { ClaimedJob, FinishedRun, RetryOrder, RunReport } from '../runs.ts'

/** The present of every test. Time is an argument, so nothing here reads a clock. */
export const NOW = 1_800_000_000_000
export const SECOND = 1_000
export const HOUR = 3_600_000

let lastId = 0

/** Ids like those of UUIDv7: in the order in which they were made. */
export function newId(): string {
  lastId += 1
  return `01900000-0000-7000-8000-${lastId.toString(16).padStart(12, '0')}`
}

export function newIds(count: number): string[] {
  return Array.from({ length: count }, newId)
}

export function newPolicy(overrides: Partial<JobPolicy> = {}): JobPolicy {
  return {
    retry: { maxRetries: 3, maxCrashRetries: 2, backoff: { kind: 'fixed', delayMs: 5 * SECOND } },
    timeoutMs: 60 * SECOND,
    resources: [],
    ...overrides,
  }
}

export function newJob(overrides: Partial<NewJob> = {}): NewJob {
  return {
    jobId: newId(),
    type: 'story',
    name: null,
    params: '{"genre":"horror"}',
    priority: 0,
    runAt: null,
    policy: newPolicy(),
    tags: [],
    createdBy: null,
    businessKey: null,
    idempotency: null,
    templateId: null,
    scheduleId: null,
    slotAt: null,
    dependsOn: [],
    onParentFailure: 'cancel',
    webhookUrl: null,
    ...overrides,
  }
}

export function newJobs(count: number, overrides: Partial<NewJob> = {}): NewJob[] {
  return Array.from({ length: count }, () => newJob(overrides))
}

/** A Job that takes one permit of each of these resources. */
export function jobTaking(resources: readonly string[], overrides: Partial<NewJob> = {}): NewJob {
  return newJob({ policy: newPolicy({ resources }), ...overrides })
}

/** The Job as it reads right after it was accepted at `now`. Its position is the store's to choose. */
export function asQueued(job: NewJob, position: number, now = NOW): Job {
  const { idempotency, runAt, params, onParentFailure, ...copied } = job
  return {
    ...copied,
    params: JSON.parse(params),
    status: 'QUEUED',
    hold: runAt !== null && runAt > now ? 'delayed' : null,
    outcome: null,
    position,
    attempt: 1,
    chainId: job.jobId,
    retryOf: null,
    counts: NO_RETRIES_YET,
    idempotencyKey: idempotency?.key ?? null,
    groupId: null,
    onParentFailure: job.dependsOn.length === 0 ? null : onParentFailure,
    createdAt: now,
    queuedAt: now,
    runAt: runAt ?? now,
    startedAt: null,
    finishedAt: null,
    cancelRequestedAt: null,
    cancelMode: null,
    cancelReason: null,
  }
}

export function newNode(overrides: Partial<NodeRecord> = {}): NodeRecord {
  return {
    nodeId: newId(),
    name: 'attic',
    host: 'house',
    pid: 4_711,
    types: ['story', 'poem'],
    concurrency: 8,
    startedAt: NOW,
    claims: true,
    ...overrides,
  }
}

export const completed = (result: unknown = { pages: 7 }): Outcome & { status: 'COMPLETED' } => ({
  status: 'COMPLETED',
  result: JSON.stringify(result),
  exitCode: null,
})

export const failed = (reason: FailureReason = 'error'): Outcome & { status: 'FAILED' } => ({
  status: 'FAILED',
  reason,
  error: `the ink ran out (${reason})`,
  stack: 'Error: the ink ran out\n    at write (story.js:1:1)',
  exitCode: null,
})

export const skipped = (message = 'nothing to write'): Outcome => ({ status: 'SKIPPED', message })

export const NO_REPORT: RunReport = { progress: null, logs: [], artifacts: [], logsDropped: 0 }

export function logLines(count: number, text = 'line'): LogLine[] {
  return Array.from({ length: count }, (_, index) => ({
    at: NOW + index,
    level: 'info' as const,
    text: `${text} ${index + 1}`,
    fields: null,
  }))
}

/** A retry that is due at once, unless told otherwise. */
export function newRetry(overrides: Partial<RetryOrder> = {}): RetryOrder {
  return { jobId: newId(), runAt: NOW + SECOND, counts: { ...NO_RETRIES_YET, errorRetries: 1 }, ...overrides }
}

/** How the node that claimed the Job ends it, one second later. */
export function endOf(job: ClaimedJob, overrides: Partial<FinishedRun> = {}): FinishedRun {
  return {
    job,
    by: job.claim.nodeId,
    outcome: completed(),
    finishedAt: NOW + SECOND,
    retry: null,
    followUps: [],
    report: NO_REPORT,
    body: 'ended',
    ...overrides,
  }
}
