import type { Cli } from '../cli.ts'
import type { Delivery, Webhook } from '../wire.ts'
import { printDetails } from './details.ts'
import { paintStatus } from './status.ts'
import type { Column } from './table.ts'
import { fullTime, lasted, relativeTime } from './times.ts'

export function webhookColumns(cli: Cli): Column<Webhook>[] {
  const { yellow } = cli.colors
  return [
    { title: 'ID', text: (webhook) => webhook.webhook_id },
    {
      title: 'STATE',
      text: ({ enabled }) => (enabled ? 'enabled' : 'disabled'),
      paint: (text, { enabled }) => (enabled ? text : yellow(text)),
      yields: 1,
    },
    { title: 'URL', text: (webhook) => webhook.url, yields: 1, minWidth: 16 },
    { title: 'NAME', text: (webhook) => webhook.name, yields: 4 },
    { title: 'EVENTS', text: ({ events }) => events?.join(', ') ?? 'all', yields: 3 },
    { title: 'TYPES', text: ({ job_types }) => job_types?.join(', ') ?? 'all', yields: 3 },
  ]
}

export function printWebhook(cli: Cli, webhook: Webhook): void {
  const now = cli.clock.now()
  printDetails(cli, `Webhook ${webhook.webhook_id}`, [
    ['url', webhook.url],
    ['name', webhook.name],
    ['state', webhook.enabled ? 'enabled' : 'disabled'],
    ['disabled because', webhook.disabled_reason],
    ['events', webhook.events?.join(', ') ?? 'all'],
    ['job types', webhook.job_types?.join(', ') ?? 'all'],
    ['created', fullTime(webhook.created_at, now)],
    ['changed', fullTime(webhook.updated_at, now)],
  ])
}

export function deliveryColumns(cli: Cli): Column<Delivery>[] {
  const now = cli.clock.now()
  return [
    { title: 'ID', text: (delivery) => delivery.delivery_id },
    {
      title: 'STATUS',
      text: (delivery) => delivery.status,
      paint: (text, delivery) => paintStatus(cli.colors, text, delivery.status),
      yields: 1,
    },
    { title: 'EVENT', text: (delivery) => delivery.event, yields: 1, minWidth: 12 },
    { title: 'JOB', text: (delivery) => delivery.job_id, yields: 3, minWidth: 36 },
    { title: 'TRIES', text: (delivery) => delivery.attempts, align: 'right', yields: 4, minWidth: 5 },
    { title: 'ANSWER', text: (delivery) => delivery.last_status_code, align: 'right', yields: 4, minWidth: 6 },
    { title: 'TOOK', text: (delivery) => lasted(delivery.latency_ms), align: 'right', yields: 6, minWidth: 6 },
    { title: 'MADE', text: (delivery) => relativeTime(delivery.created_at, now), yields: 2 },
    { title: 'ERROR', text: (delivery) => delivery.last_error, yields: 5, minWidth: 12 },
  ]
}
