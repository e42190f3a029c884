import { createHash } from 'node:crypto'
import type { RunStatus } from '../../domain/run.ts'
import { isSubscribed, type WebhookEvent } from '../../domain/webhook.ts'

export const RUN_EVENTS: Readonly<Record<RunStatus, WebhookEvent>> = {
  COMPLETED: 'job.run.completed',
  FAILED: 'job.run.failed',
  SKIPPED: 'job.run.skipped',
}

/** Who is told of something. */
export interface Receiver {
  /** Null: the Job's own webhook_url. */
  readonly webhookSeq: number | null
  readonly endpoint: string
}

interface SubscribedWebhook {
  readonly webhookSeq: number
  readonly webhookId: string
  readonly events: readonly string[] | null
  readonly jobTypes: readonly string[] | null
}

const NOBODY: readonly Receiver[] = []

/** Everybody who is to be told of this event of a Job. */
export function receiversOf(
  subscribers: readonly SubscribedWebhook[],
  job: { readonly type: string; readonly webhookUrl: string | null },
  event: WebhookEvent,
): readonly Receiver[] {
  if (subscribers.length === 0 && job.webhookUrl === null) return NOBODY
  const receivers: Receiver[] = subscribers
    .filter((subscriber) => isSubscribed(subscriber, event, job.type))
    .map(({ webhookSeq, webhookId }) => ({ webhookSeq, endpoint: webhookId }))
  if (job.webhookUrl !== null) receivers.push({ webhookSeq: null, endpoint: new URL(job.webhookUrl).origin })
  return receivers
}

/**
 * A Job has each event at most once, so receiver, Job and event make an id that is the same however often the transaction
 * is tried, and different from that of any other store.
 */
export function deliveryIdOf(endpoint: string, jobId: string, event: WebhookEvent): string {
  const digest = createHash('sha256').update(`${endpoint}\n${jobId}\n${event}`).digest('hex')
  return `dlv_${digest.slice(0, 32)}`
}
