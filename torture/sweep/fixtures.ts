import type { JobPolicy, OnParentFailure, Schedule, Template, Webhook } from 'pawl'
import type {
  ApiKey,
  AuditNote,
  ClaimedJob,
  ClaimedTicket,
  DeliveryAttempt,
  FinishedDirectRun,
  FinishedRun,
  LeasedDelivery,
  NewGroup,
  NewJob,
  NodeRecord,
  RetryOrder,
  RunReport,
  Slot,
  SlotFiring,
} from 'pawl/store'

type Outcome = FinishedRun['outcome']
type Failed = Outcome & { readonly status: 'FAILED' }

/** The present of every operation: time is an argument, so nothing here reads a clock. */
export const NOW = 1_800_000_000_000
export const SECOND = 1_000
export const HOUR = 3_600_000

/** More dependents or members than are dealt with at once. */
export const MANY = 150

let lastId = 0

/** Ids like those of UUIDv7: in the order in which they were made. */
export function newId(): string {
  lastId += 1
  return `01900000-0000-7000-8000-${lastId.toString(16).padStart(12, '0')}`
}

export function newPolicy(overrides: Partial<JobPolicy> = {}): JobPolicy {
  const retry = { maxRetries: 3, maxCrashRetries: 2, backoff: { kind: 'fixed', delayMs: 5 * SECOND } } as const
  return { retry, timeoutMs: 60 * SECOND, resources: [], ...overrides }
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

export function newJobs(count: number): NewJob[] {
  return Array.from({ length: count }, () => newJob())
}

/** A Job that depends on these. */
export function childOf(
  parents: readonly (string | NewJob)[],
  onParentFailure: OnParentFailure = 'cancel',
  overrides: Partial<NewJob> = {},
): NewJob {
  const dependsOn = parents.map((parent) => (typeof parent === 'string' ? parent : parent.jobId))
  return newJob({ dependsOn, onParentFailure, ...overrides })
}

export function childrenOf(parent: string, count: number): NewJob[] {
  return Array.from({ length: count }, () => childOf([parent]))
}

export function newGroup(overrides: Partial<NewGroup> = {}): NewGroup {
  return { groupId: newId(), name: null, mode: 'parallel', onFailure: 'stop', createdBy: null, ...overrides }
}

export function newNode(overrides: Partial<NodeRecord> = {}): NodeRecord {
  const place = { name: 'attic', host: 'house', pid: 4_711, startedAt: NOW }
  return { nodeId: newId(), ...place, types: ['story', 'poem'], concurrency: 8, claims: true, ...overrides }
}

export const COMPLETED: Outcome = { status: 'COMPLETED', result: '{"pages":7}', exitCode: null }

export const failed = (reason: Failed['reason'] = 'error'): Failed => ({
  status: 'FAILED',
  reason,
  error: `the ink ran out (${reason})`,
  stack: null,
  exitCode: null,
})

const NO_REPORT: RunReport = { progress: null, logs: [], artifacts: [], logsDropped: 0 }

/** Something of all that a body can report. */
export const REPORT: RunReport = {
  progress: { fraction: 0.5, message: 'half' },
  logs: [1, 2].map((line) => ({ at: NOW + line, level: 'info', text: `line ${line}`, fields: null })),
  artifacts: [{ name: 'a', path: '/tmp/a' }],
  logsDropped: 0,
}

/** A retry that is due a second later, unless told otherwise. */
export function newRetry(overrides: Partial<RetryOrder> = {}): RetryOrder {
  const counts = { errorRetries: 1, crashRetries: 0, shutdownRetries: 0 }
  return { jobId: newId(), runAt: NOW + SECOND, counts, ...overrides }
}

/** How the node that claimed the Job ends it, one second later. */
export function endOf(job: ClaimedJob, overrides: Partial<FinishedRun> = {}): FinishedRun {
  const plain = { outcome: COMPLETED, retry: null, followUps: [], report: NO_REPORT, body: 'ended' } as const
  return { job, by: job.claim.nodeId, finishedAt: NOW + SECOND, ...plain, ...overrides }
}

export function endOfDirect(ticket: ClaimedTicket, overrides: Partial<FinishedDirectRun> = {}): FinishedDirectRun {
  return { ticket, outcome: COMPLETED, finishedAt: NOW + SECOND, followUps: [], body: 'ended', ...overrides }
}

/** Every hour from `NOW` on. */
export function newSchedule(overrides: Partial<Schedule> = {}): Schedule {
  return {
    scheduleId: newId(),
    name: 'hourly story',
    target: { kind: 'type', type: 'story' },
    paramOverrides: { genre: 'horror' },
    timing: { kind: 'every', everyMs: HOUR, anchorAt: NOW, timezone: 'UTC' },
    missed: 'one',
    overlap: 'allow',
    priority: 0,
    tags: [],
    businessKey: null,
    enabled: true,
    disabledReason: null,
    revision: 1,
    createdAt: NOW,
    updatedAt: NOW,
    lastSlotAt: NOW,
    nextSlotAt: NOW + HOUR,
    lastTriggeredAt: null,
    ...overrides,
  }
}

export function newSlot(scheduleId: string, slotAt: number, overrides: Partial<NewJob> = {}): Slot {
  return { slotAt, job: newJob({ ...overrides, scheduleId, slotAt }) }
}

/** The firing of these slots, after which the schedule goes on an hour after the last of them. */
export function newFiring(
  { scheduleId, revision, overlap, lastSlotAt }: Schedule,
  slots: readonly Slot[],
  overrides: Partial<SlotFiring> = {},
): SlotFiring {
  const last = slots.at(-1)?.slotAt ?? lastSlotAt
  return { scheduleId, revision, overlap, slots, skipped: [], lastSlotAt: last, nextSlotAt: last + HOUR, ...overrides }
}

export function newTemplate(overrides: Partial<Template> = {}): Template {
  return {
    templateId: newId(),
    name: 'nightly story',
    type: 'story',
    defaultParams: { genre: 'horror', pages: 7 },
    retry: null,
    timeoutMs: undefined,
    description: null,
    revision: 1,
    createdAt: NOW,
    updatedAt: NOW,
    archivedAt: null,
    ...overrides,
  }
}

export const SECRET = 'whsec_bGVtb24='
export const OTHER_SECRET = 'whsec_bWVsb24='

export function newWebhook(overrides: Partial<Webhook> = {}): Webhook {
  return {
    webhookId: newId(),
    name: null,
    url: 'https://example.com/hook',
    events: ['job.settled'],
    jobTypes: null,
    enabled: true,
    disabledReason: null,
    revision: 1,
    createdAt: NOW,
    updatedAt: NOW,
    ...overrides,
  }
}

/** What came of sending it: by default it arrived. */
export function attemptOf(leased: LeasedDelivery, overrides: Partial<DeliveryAttempt> = {}): DeliveryAttempt {
  return {
    lease: leased.lease,
    deliveryId: leased.delivery.deliveryId,
    at: NOW + 2 * SECOND,
    statusCode: 204,
    error: null,
    latencyMs: 12,
    responseExcerpt: null,
    next: { kind: 'delivered' },
    disableWebhook: null,
    ...overrides,
  }
}

export function newKey(overrides: Partial<ApiKey> = {}): ApiKey {
  const life = { createdAt: NOW, expiresAt: null, revokedAt: null }
  return { keyId: newId(), name: 'ada', role: 'operator', prefix: 'pawl_ada', createdBy: null, ...life, ...overrides }
}

/** As long as a SHA-256 in hex. */
export function newHash(): string {
  return newId().replaceAll('-', '').repeat(2)
}

export function newNote(subject: string | null, made: readonly string[] = []): AuditNote {
  const what = { actor: 'key:ada', action: 'job.something', subject, at: NOW }
  return { ...what, made: () => made, details: () => '{"by":"hand"}' }
}
