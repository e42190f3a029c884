import type { Webhook } from '../../../domain/webhook.ts'
import type { Page } from '../../../store/jobs.ts'
import type { SigningSecrets, WebhookFilter } from '../../../store/webhooks.ts'
import { readCursor } from '../../shared/list-spots.ts'
import {
  type SecretsRow,
  secretsAt,
  toWebhook,
  WEBHOOK_COLUMNS,
  type WebhookRow,
  webhookDefinition,
} from '../../shared/webhook-rows.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

const INSERT_WEBHOOK = `
insert into pawl_webhooks (
  name, url, events, job_types, enabled, disabled_reason, webhook_id, secret, revision, created_at, updated_at
)
values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

export function createWebhook(transaction: Transaction, webhook: Webhook, secret: string): void {
  const { webhookId, revision, createdAt, updatedAt } = webhook
  const { connection } = transaction
  connection.run(
    INSERT_WEBHOOK,
    ...webhookDefinition(webhook, webhook.enabled ? 1 : 0),
    webhookId,
    secret,
    revision,
    createdAt,
    updatedAt,
  )
  transaction.subscribers = null
}

// 1 row: changed. 0 rows: it is not there, or somebody else changed it since that revision.
const UPDATE_WEBHOOK = `
update pawl_webhooks
set name = ?, url = ?, events = ?, job_types = ?, enabled = ?, disabled_reason = ?, revision = revision + 1, updated_at = ?
where webhook_id = ? and revision = ? and deleted_at is null`

const EXISTS_WEBHOOK = 'select 1 as found from pawl_webhooks where webhook_id = ? and deleted_at is null'

export function changeWebhook(
  transaction: Transaction,
  { webhook, now }: { readonly webhook: Webhook; readonly now: number },
): 'changed' | 'stale' | 'not-found' {
  const { connection } = transaction
  const { webhookId, revision } = webhook
  if (
    connection.run(UPDATE_WEBHOOK, ...webhookDefinition(webhook, webhook.enabled ? 1 : 0), now, webhookId, revision) ===
    0
  ) {
    return connection.get(EXISTS_WEBHOOK, webhookId) === undefined ? 'not-found' : 'stale'
  }
  transaction.subscribers = null
  // What waited while it was disabled may be sent.
  if (webhook.enabled) transaction.stirs.add('deliveries')
  return 'changed'
}

// 1 row: rotated. 0 rows: it is not there.
const ROTATE_SECRET = `
update pawl_webhooks
set previous_secret = secret, previous_secret_until = ?, secret = ?, updated_at = ?
where webhook_id = ? and deleted_at is null`

export function rotateWebhookSecret(
  { connection }: Transaction,
  webhookId: string,
  secret: string,
  previousUntil: number,
  now: number,
): 'rotated' | 'not-found' {
  return connection.run(ROTATE_SECRET, previousUntil, secret, now, webhookId) === 1 ? 'rotated' : 'not-found'
}

// 1 row: disabled. 0 rows: it was before, or the delivery went to the URL of a Job.
const DISABLE_WEBHOOK = `
update pawl_webhooks
set enabled = 0, disabled_reason = ?, revision = revision + 1, updated_at = ?
where webhook_seq = (select webhook_seq from pawl_deliveries where delivery_seq = ?) and enabled = 1`

/** The receiver of this delivery asked never to be told again. */
export function disableReceiver(transaction: Transaction, deliverySeq: number, reason: string, now: number): void {
  transaction.connection.run(DISABLE_WEBHOOK, reason, now, deliverySeq)
  transaction.subscribers = null
}

// 1 row: removed. 0 rows: it was before, or never existed. Its row stays for its log, without what could sign.
const DELETE_WEBHOOK = `
update pawl_webhooks
set enabled = 0, deleted_at = ?, updated_at = ?, secret = '', previous_secret = null, previous_secret_until = null
where webhook_id = ? and deleted_at is null`

// Rows changed: deliveries that will not be made any more, also those under way. It reads the pending ones only.
const FAIL_PENDING = `
update pawl_deliveries
set status = 'FAILED', last_error = 'the webhook was removed', next_attempt_at = null, sender_seq = null, leased_until = null
where status = 'PENDING' and endpoint = ?`

export function removeWebhook(
  transaction: Transaction,
  webhookId: string,
  now: number,
  revision: number | null = null,
): 'removed' | 'stale' | 'not-found' {
  const { connection } = transaction
  const current = revision === null ? null : findWebhook(connection, webhookId)
  if (current !== null && current.revision !== revision) return 'stale'
  if (connection.run(DELETE_WEBHOOK, now, now, webhookId) === 0) return 'not-found'
  connection.run(FAIL_PENDING, webhookId)
  transaction.subscribers = null
  return 'removed'
}

const SELECT_WEBHOOK = `select ${WEBHOOK_COLUMNS} from pawl_webhooks where webhook_id = ? and deleted_at is null`

export function findWebhook(connection: Connection, webhookId: string): Webhook | null {
  const row = connection.get<WebhookRow<number>>(SELECT_WEBHOOK, webhookId)
  return row === undefined ? null : toWebhook(row)
}

const SELECT_WEBHOOKS = `
select ${WEBHOOK_COLUMNS}
from pawl_webhooks
where webhook_seq < ? and deleted_at is null
order by webhook_seq desc
limit ?`

/** A cursor is the number of the last one of the page before. */
export function listWebhooks(connection: Connection, { limit, cursor }: WebhookFilter): Page<Webhook> {
  const rows = connection.all<WebhookRow<number>>(SELECT_WEBHOOKS, ...readCursor(cursor, 1), limit)
  const last = rows[rows.length - 1]
  const nextCursor = rows.length === limit && last !== undefined ? String(last.webhook_seq) : null
  return { items: rows.map(toWebhook), nextCursor }
}

const SELECT_RECEIVER = `
select url, secret, previous_secret, previous_secret_until
from pawl_webhooks
where webhook_seq = ? and enabled = 1 and deleted_at is null`

/** Where an enabled webhook is told, and what signs. Null: it is disabled, or removed. */
export function findReceiver(
  connection: Connection,
  webhookSeq: number,
  now: number,
): { readonly url: string; readonly secrets: SigningSecrets } | null {
  const row = connection.get<SecretsRow & { url: string }>(SELECT_RECEIVER, webhookSeq)
  return row === undefined ? null : { url: row.url, secrets: secretsAt(row, now) }
}

const SELECT_DEFAULT_SECRET = `
select secret, previous_secret, previous_secret_until
from pawl_secrets
where name = 'webhooks'`

/** What signs deliveries to the URLs of Jobs. Null: nobody has declared a secret yet. */
export function findDefaultSecrets(connection: Connection, now: number): SigningSecrets | null {
  const row = connection.get<SecretsRow>(SELECT_DEFAULT_SECRET)
  return row === undefined ? null : secretsAt(row, now)
}

// 1 row: it is the store's secret now. 0 rows: there is one already, and it stays.
const DECLARE_SECRET = `
insert into pawl_secrets (name, secret)
values ('webhooks', ?)
on conflict (name) do nothing`

export function declareDefaultSecret({ connection }: Transaction, secret: string): string {
  connection.run(DECLARE_SECRET, secret)
  return connection.get<SecretsRow>(SELECT_DEFAULT_SECRET)?.secret ?? secret
}

const ROTATE_DEFAULT_SECRET = `
insert into pawl_secrets (name, secret)
values ('webhooks', ?)
on conflict (name) do update
set previous_secret = secret, previous_secret_until = ?, secret = excluded.secret`

export function rotateDefaultSecret({ connection }: Transaction, secret: string, previousUntil: number): void {
  connection.run(ROTATE_DEFAULT_SECRET, secret, previousUntil)
}
