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
insert into pawl.webhooks (
  name, url, events, job_types, enabled, disabled_reason, webhook_id, secret, revision, created_at, updated_at
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`

export async function createWebhook(transaction: Transaction, webhook: Webhook, secret: string): Promise<void> {
  const { webhookId, revision, createdAt, updatedAt, enabled } = webhook
  const definition = webhookDefinition(webhook, enabled)
  const { connection } = transaction
  await connection.run(INSERT_WEBHOOK, ...definition, webhookId, secret, revision, createdAt, updatedAt)
  transaction.subscribers = null
}

// 1 row: changed. 0 rows: it is not there, or somebody else changed it since that revision.
const UPDATE_WEBHOOK = `
update pawl.webhooks
set name = $1, url = $2, events = $3, job_types = $4, enabled = $5, disabled_reason = $6, revision = revision + 1,
  updated_at = $7
where webhook_id = $8 and revision = $9 and deleted_at is null`

export async function changeWebhook(
  transaction: Transaction,
  { webhook, now }: { readonly webhook: Webhook; readonly now: number },
): Promise<'changed' | 'stale' | 'not-found'> {
  const { connection } = transaction
  const { webhookId, revision, enabled } = webhook
  const definition = webhookDefinition(webhook, enabled)
  if ((await connection.run(UPDATE_WEBHOOK, ...definition, now, webhookId, revision)) === 0) {
    return (await findWebhook(connection, webhookId)) === null ? 'not-found' : 'stale'
  }
  transaction.subscribers = null
  // What waited while it was disabled may be sent.
  if (enabled) transaction.stirs.add('deliveries')
  return 'changed'
}

// 1 row: rotated. 0 rows: it is not there.
const ROTATE_SECRET = `
update pawl.webhooks
set previous_secret = secret, previous_secret_until = $1, secret = $2, updated_at = $3
where webhook_id = $4 and deleted_at is null`

export async function rotateWebhookSecret(
  { connection }: Transaction,
  webhookId: string,
  secret: string,
  previousUntil: number,
  now: number,
): Promise<'rotated' | 'not-found'> {
  const rotated = await connection.run(ROTATE_SECRET, previousUntil, secret, now, webhookId)
  return rotated === 1 ? 'rotated' : 'not-found'
}

// As many rows as webhooks. In this order, and before their deliveries, as whoever removes one takes them.
const LOCK_RECEIVERS = `
select webhook_seq
from pawl.webhooks
where webhook_seq in (select webhook_seq from pawl.deliveries where delivery_seq = any($1::bigint[]))
order by webhook_seq
for no key update`

/** To be called before anything is written about deliveries whose receivers may have to be disabled. */
export async function lockReceivers({ connection }: Transaction, deliverySeqs: readonly number[]): Promise<void> {
  if (deliverySeqs.length > 0) await connection.all(LOCK_RECEIVERS, deliverySeqs)
}

// 1 row: disabled. 0 rows: it was before, or the delivery went to the URL of a Job.
const DISABLE_WEBHOOK = `
update pawl.webhooks
set enabled = false, disabled_reason = $1, revision = revision + 1, updated_at = $2
where webhook_seq = (select webhook_seq from pawl.deliveries where delivery_seq = $3) and enabled`

/** The receiver of this delivery asked never to be told again. */
export async function disableReceiver(
  transaction: Transaction,
  deliverySeq: number,
  reason: string,
  now: number,
): Promise<void> {
  await transaction.connection.run(DISABLE_WEBHOOK, reason, now, deliverySeq)
  transaction.subscribers = null
}

// 1 row: removed. 0 rows: it was before, never existed, or is not at that revision. Its row stays for its log, without what
// could sign.
const DELETE_WEBHOOK = `
update pawl.webhooks
set enabled = false, deleted_at = $1, updated_at = $1, secret = '', previous_secret = null, previous_secret_until = null
where webhook_id = $2 and deleted_at is null and revision = coalesce($3::integer, revision)`

// Rows changed: deliveries that will not be made any more, also those under way. It reads the pending ones only.
const FAIL_PENDING = `
update pawl.deliveries
set status = 'FAILED', last_error = 'the webhook was removed', next_attempt_at = null, sender_seq = null, leased_until = null
where status = 'PENDING' and delivery_seq = any(array(
  select delivery_seq
  from pawl.deliveries
  where status = 'PENDING' and endpoint = $1
  order by delivery_seq
  for update
))`

/** Waits for those who write or replay deliveries to it, and hold its row `for share`: so what they wrote fails too. */
export async function removeWebhook(
  transaction: Transaction,
  webhookId: string,
  now: number,
  revision: number | null = null,
): Promise<'removed' | 'stale' | 'not-found'> {
  const { connection } = transaction
  if ((await connection.run(DELETE_WEBHOOK, now, webhookId, revision)) === 0) {
    return (await findWebhook(connection, webhookId)) === null ? 'not-found' : 'stale'
  }
  await connection.run(FAIL_PENDING, webhookId)
  transaction.subscribers = null
  return 'removed'
}

const SELECT_WEBHOOK = `select ${WEBHOOK_COLUMNS} from pawl.webhooks where webhook_id = $1 and deleted_at is null`

export async function findWebhook(connection: Connection, webhookId: string): Promise<Webhook | null> {
  const row = await connection.get<WebhookRow<boolean>>(SELECT_WEBHOOK, webhookId)
  return row === undefined ? null : toWebhook(row)
}

const SELECT_WEBHOOKS = `
select ${WEBHOOK_COLUMNS}
from pawl.webhooks
where webhook_seq < $1::bigint and deleted_at is null
order by webhook_seq desc
limit $2`

/** A cursor is the number of the last one of the page before. */
export async function listWebhooks(connection: Connection, { limit, cursor }: WebhookFilter): Promise<Page<Webhook>> {
  const rows = await connection.all<WebhookRow<boolean>>(SELECT_WEBHOOKS, ...readCursor(cursor, 1), limit)
  const last = rows[rows.length - 1]
  const nextCursor = rows.length === limit && last !== undefined ? String(last.webhook_seq) : null
  return { items: rows.map(toWebhook), nextCursor }
}

const SELECT_RECEIVERS = `
select webhook_seq, url, secret, previous_secret, previous_secret_until
from pawl.webhooks
where webhook_seq = any($1::integer[]) and enabled and deleted_at is null`

type ReceiverRow = SecretsRow & { webhook_seq: number; url: string }

/** Where enabled webhooks are told, and what signs, by their numbers. One that is missing is disabled, or removed. */
export async function findReceivers(
  connection: Connection,
  webhookSeqs: readonly number[],
  now: number,
): Promise<ReadonlyMap<number, { readonly url: string; readonly secrets: SigningSecrets }>> {
  if (webhookSeqs.length === 0) return new Map()
  const rows = await connection.all<ReceiverRow>(SELECT_RECEIVERS, webhookSeqs)
  return new Map(rows.map((row) => [row.webhook_seq, { url: row.url, secrets: secretsAt(row, now) }]))
}

const SELECT_DEFAULT_SECRET = `
select secret, previous_secret, previous_secret_until
from pawl.secrets
where name = 'webhooks'`

/** What signs deliveries to the URLs of Jobs. Null: nobody has declared a secret yet. */
export async function findDefaultSecrets(connection: Connection, now: number): Promise<SigningSecrets | null> {
  const row = await connection.get<SecretsRow>(SELECT_DEFAULT_SECRET)
  return row === undefined ? null : secretsAt(row, now)
}

// 1 row: it is the store's secret now. 0 rows: there is one already, perhaps since a moment, and it stays.
const DECLARE_SECRET = `
insert into pawl.secrets (name, secret)
values ('webhooks', $1)
on conflict (name) do nothing`

export async function declareDefaultSecret({ connection }: Transaction, secret: string): Promise<string> {
  await connection.run(DECLARE_SECRET, secret)
  // A statement of its own sees what another node committed while the one above waited for it.
  return (await connection.get<SecretsRow>(SELECT_DEFAULT_SECRET))?.secret ?? secret
}

const ROTATE_DEFAULT_SECRET = `
insert into pawl.secrets as s (name, secret)
values ('webhooks', $1)
on conflict (name) do update
set previous_secret = s.secret, previous_secret_until = $2, secret = excluded.secret`

export async function rotateDefaultSecret(
  { connection }: Transaction,
  secret: string,
  previousUntil: number,
): Promise<void> {
  await connection.run(ROTATE_DEFAULT_SECRET, secret, previousUntil)
}
