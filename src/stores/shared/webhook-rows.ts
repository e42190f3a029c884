import type { Webhook, WebhookEvent } from '../../domain/webhook.ts'
import type { SigningSecrets } from '../../store/webhooks.ts'

export const WEBHOOK_COLUMNS = `
  webhook_seq, webhook_id, name, url, events, job_types, enabled, disabled_reason, revision, created_at, updated_at`

/** `Flag`: how the database keeps a truth value. */
export type WebhookRow<Flag extends boolean | number> = {
  webhook_seq: number
  webhook_id: string
  name: string | null
  url: string
  events: string | null
  job_types: string | null
  enabled: Flag
  disabled_reason: string | null
  revision: number
  created_at: number
  updated_at: number
}

/** The columns that a change replaces, in the order of the statements that write them. */
export function webhookDefinition<Flag extends boolean | number>(
  webhook: Webhook,
  enabled: Flag,
): (string | null | Flag)[] {
  return [
    webhook.name,
    webhook.url,
    webhook.events === null ? null : JSON.stringify(webhook.events),
    webhook.jobTypes === null ? null : JSON.stringify(webhook.jobTypes),
    enabled,
    webhook.disabledReason,
  ]
}

export function toWebhook(row: WebhookRow<boolean | number>): Webhook {
  return {
    webhookId: row.webhook_id,
    name: row.name,
    url: row.url,
    events: row.events === null ? null : (JSON.parse(row.events) as WebhookEvent[]),
    jobTypes: row.job_types === null ? null : (JSON.parse(row.job_types) as string[]),
    enabled: Boolean(row.enabled),
    disabledReason: row.disabled_reason,
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export type SecretsRow = {
  secret: string
  previous_secret: string | null
  previous_secret_until: number | null
}

/** What signs at an instant: while a rotation lasts, the secret before too. */
export function secretsAt({ secret, previous_secret, previous_secret_until }: SecretsRow, now: number): SigningSecrets {
  const signsToo = previous_secret !== null && previous_secret_until !== null && previous_secret_until > now
  return signsToo ? [secret, previous_secret] : [secret]
}
