import type { z } from 'zod'
import type { RetryOptions } from '../../domain/options.ts'
import type { EnqueueOptions } from '../../operations/enqueue-options.ts'
import type { retryPolicy } from '../contract/fields.ts'
import type { newJob } from '../contract/jobs.ts'

type Given<Schema extends z.ZodType> = z.output<Schema>

/** What the API calls a Job's options, in the words of the operations. What is absent stays absent. */
export function toEnqueueOptions(body: Given<typeof newJob>, createdBy: string | null): EnqueueOptions {
  return {
    ...(body.name !== undefined && { name: body.name }),
    ...(body.priority !== undefined && { priority: body.priority }),
    ...(body.run_at !== undefined && { runAt: new Date(body.run_at) }),
    ...(body.depends_on !== undefined && { dependsOn: body.depends_on }),
    ...(body.on_parent_failure !== undefined && { onParentFailure: body.on_parent_failure }),
    ...(body.idempotency_key !== undefined && { idempotencyKey: body.idempotency_key }),
    ...(body.business_key !== undefined && { businessKey: body.business_key }),
    ...(body.tags !== undefined && { tags: body.tags }),
    ...(body.timeout_ms !== undefined && { timeoutMs: body.timeout_ms }),
    ...(body.retry_policy !== undefined && { retry: toRetryOptions(body.retry_policy) }),
    ...(body.webhook_url !== undefined && { webhookUrl: body.webhook_url }),
    ...(createdBy !== null && { createdBy }),
  }
}

export function toRetryOptions(policy: Given<typeof retryPolicy>): RetryOptions {
  const { max_retries, max_attempts, max_crash_retries, backoff } = policy
  const maxRetries = max_retries ?? max_attempts
  return {
    ...(maxRetries !== undefined && { maxRetries }),
    ...(max_crash_retries !== undefined && { maxCrashRetries: max_crash_retries }),
    ...(backoff !== undefined && { backoff: toBackoff(backoff) }),
  }
}

function toBackoff(backoff: NonNullable<Given<typeof retryPolicy>['backoff']>): NonNullable<RetryOptions['backoff']> {
  switch (backoff.kind) {
    case 'none':
      return { kind: 'none' }
    case 'fixed':
      return { kind: 'fixed', delayMs: backoff.delay_ms }
    case 'exponential':
      return {
        kind: 'exponential',
        baseMs: backoff.base_ms,
        ...(backoff.factor !== undefined && { factor: backoff.factor }),
        ...(backoff.max_ms !== undefined && { maxMs: backoff.max_ms }),
        ...(backoff.jitter !== undefined && { jitter: backoff.jitter }),
      }
  }
}
