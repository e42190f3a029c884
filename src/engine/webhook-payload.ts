import type { WebhookEvent } from '../domain/webhook.ts'
import { type WireJob, type WireRun, wireInstant, wireJob, wireRun } from '../domain/wire.ts'
import type { LeasedDelivery } from '../store/webhooks.ts'

/** What a receiver is told: the Run's fields at the top, null where there is no Run, then the whole Job and Run. */
export type WebhookMessage = {
  readonly event: WebhookEvent
  /** Whether a retry of this Job will follow. */
  readonly will_retry: boolean
  /** When it happened. */
  readonly at: string
} & { readonly [Field in Exclude<keyof WireRun, 'job_id'>]: WireRun[Field] | null } & {
  readonly job_id: string
  readonly job: WireJob
  readonly run: WireRun | null
}

/** The text of a delivery. It holds nothing of the attempt, so that a receiver gets the same text each time. */
export function renderDelivery(leased: Pick<LeasedDelivery, 'delivery' | 'job' | 'run'>): string {
  const { delivery, job } = leased
  const run = leased.run === null ? null : wireRun(leased.run)
  const message: WebhookMessage = {
    event: delivery.event,
    will_retry: delivery.willRetry,
    at: wireInstant(delivery.createdAt),
    ...(run ?? NO_RUN),
    job_id: job.jobId,
    job: wireJob(job),
    run,
  }
  return JSON.stringify(message)
}

const NO_RUN: { readonly [Field in keyof WireRun]: null } = {
  run_id: null,
  job_id: null,
  chain_id: null,
  job_type: null,
  attempt: null,
  status: null,
  reason: null,
  params_snapshot: null,
  template_id: null,
  started_at: null,
  finished_at: null,
  duration_ms: null,
  node: null,
  exit_code: null,
  error: null,
  result: null,
  artifacts: null,
  log_path: null,
  progress: null,
}
