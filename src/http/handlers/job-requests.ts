import type { z } from 'zod'
import type { RetryOptions } from '../../domain/options.ts'
import type { EnqueueOptions } from '../../operations/enqueue-options.ts'
import type { ListedItem } from '../../operations/listed-requests.ts'
import type { retryPolicy } from '../contract/fields.ts'
import type { listedJob, newJob } from '../contract/job.ts'
import { dateOf, given } from './given.ts'

type Given<Schema extends z.ZodType> = z.output<Schema>

/** What the API calls a Job's options, in the words of the operations. */
export function toEnqueueOptions(body: Given<typeof newJob>, createdBy: string): EnqueueOptions {
  return given({
    name: body.name,
    priority: body.priority,
    runAt: dateOf(body.run_at),
    dependsOn: body.depends_on,
    onParentFailure: body.on_parent_failure,
    idempotencyKey: body.idempotency_key,
    businessKey: body.business_key,
    tags: body.tags,
    timeoutMs: body.timeout_ms,
    retry: body.retry_policy === undefined ? undefined : toRetryOptions(body.retry_policy),
    webhookUrl: body.webhook_url,
    createdBy,
  })
}

/** Params that were not given are an empty object. Null is what was given. */
export function paramsOf({ params }: { readonly params?: unknown }): unknown {
  return params === undefined ? {} : params
}

/** Params that were not given are no overrides for a template. */
export function toListedItem(body: Given<typeof listedJob>, createdBy: string): ListedItem {
  const { type, template_id, params, ref, ...options } = body
  return {
    source: template_id === undefined ? { type: type as string } : { templateId: template_id },
    params: template_id === undefined ? paramsOf(body) : params,
    options: toEnqueueOptions(options, createdBy),
    ref,
  }
}

export function toRetryOptions(policy: Given<typeof retryPolicy>): RetryOptions {
  const { max_retries, max_attempts, max_crash_retries, backoff } = policy
  return given({
    maxRetries: max_retries ?? max_attempts,
    maxCrashRetries: max_crash_retries,
    backoff: backoff === undefined ? undefined : toBackoff(backoff),
  })
}

function toBackoff(backoff: NonNullable<Given<typeof retryPolicy>['backoff']>): NonNullable<RetryOptions['backoff']> {
  switch (backoff.kind) {
    case 'none':
      return { kind: 'none' }
    case 'fixed':
      return { kind: 'fixed', delayMs: backoff.delay_ms }
    case 'exponential': {
      const { base_ms, factor, max_ms, jitter } = backoff
      return { kind: 'exponential', baseMs: base_ms, ...given({ factor, maxMs: max_ms, jitter }) }
    }
  }
}
