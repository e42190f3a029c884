import type { Job } from '../domain/job.ts'
import type { JsonValue } from '../domain/json.ts'
import { NO_RETRIES_YET } from '../domain/retry.ts'
import type { NewJob } from '../store/jobs.ts'

/**
 * A Job as it stands right after its acceptance, when it has neither parents nor a group: nothing of it need be read. Field
 * by field, because spreading would take longer than reading it.
 */
export function queuedJob(accepted: NewJob, position: number, now: number): Job {
  const runAt = accepted.runAt ?? now
  return {
    jobId: accepted.jobId,
    type: accepted.type,
    name: accepted.name,
    status: 'QUEUED',
    hold: runAt > now ? 'delayed' : null,
    outcome: null,
    params: JSON.parse(accepted.params) as JsonValue,
    priority: accepted.priority,
    position,
    attempt: 1,
    chainId: accepted.jobId,
    retryOf: null,
    counts: NO_RETRIES_YET,
    policy: accepted.policy,
    tags: accepted.tags,
    createdBy: accepted.createdBy,
    businessKey: accepted.businessKey,
    idempotencyKey: accepted.idempotency?.key ?? null,
    templateId: accepted.templateId,
    scheduleId: accepted.scheduleId,
    slotAt: accepted.slotAt,
    groupId: null,
    dependsOn: [],
    onParentFailure: null,
    webhookUrl: accepted.webhookUrl,
    createdAt: now,
    queuedAt: now,
    runAt,
    startedAt: null,
    finishedAt: null,
    cancelRequestedAt: null,
    cancelMode: null,
    cancelReason: null,
  }
}
