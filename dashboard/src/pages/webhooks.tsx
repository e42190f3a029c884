import { useState } from 'preact/hooks'
import { ask } from '../api/http.ts'
import { mayAdminister } from '../api/session.ts'
import type { Webhook } from '../api/things.ts'
import { useLive } from '../live/use-live.ts'
import { CannotLoad, Loading, NothingYet } from '../parts/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { Card, Listing, PageHead } from '../parts/listing.tsx'
import { Badge, type Look } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Ago } from '../parts/time.tsx'
import { href, queryOf } from '../route.ts'
import { DeliveryRows } from './deliveries.tsx'
import { SecretDialog } from './keys.tsx'
import { WebhookDialog } from './webhook-form.tsx'

export function lookOfWebhook(webhook: Webhook): Look {
  if (webhook.disabled_reason !== null) return { word: 'Broken', tone: 'bad', icon: 'warn' }
  return webhook.enabled
    ? { word: 'On', tone: 'good', icon: 'check' }
    : { word: 'Disabled', tone: 'none', icon: 'pause' }
}

export function nameOf(webhook: Webhook): string {
  return webhook.name ?? webhook.url
}

export function WebhooksPage() {
  const [isOpen, setOpen] = useState(false)
  const [secret, setSecret] = useState<string | null>(null)
  const cursor = queryOf('cursor')
  const webhooks = useLive(
    `webhooks ${cursor}`,
    (signal) => ask('GET /api/webhooks', { query: { limit: '50', ...(cursor && { cursor }) } as never, signal }),
    { everyMs: 5_000 },
  )
  const deliveries = useLive(
    'deliveries',
    (signal) => ask('GET /api/webhook-deliveries', { query: { limit: '20' } as never, signal }),
    { everyMs: 2_000 },
  )
  return (
    <>
      <PageHead title="Webhooks" sub="Who is told when jobs end">
        {mayAdminister.value && (
          <button type="button" class="button primary" onClick={() => setOpen(true)}>
            <Icon name="plus" /> New webhook
          </button>
        )}
      </PageHead>
      <div class="card">
        <Listing
          live={webhooks}
          empty={
            <NothingYet
              title="No webhooks yet"
              command="pawl webhooks create https://example.com/hooks/pawl --event job.settled"
            />
          }
        >
          {(items) => (
            <Table
              label="Webhooks"
              rows={items}
              keyOf={(webhook) => webhook.webhook_id}
              nameOf={nameOf}
              hrefOf={(webhook) => href('webhooks', webhook.webhook_id)}
              columns={[
                {
                  key: 'name',
                  head: 'Webhook',
                  class: 'lead',
                  cell: (webhook) => (
                    <span class="main-cell">
                      <a class="clip" href={href('webhooks', webhook.webhook_id)}>
                        {nameOf(webhook)}
                      </a>
                      <span class="under clip mono">{webhook.url}</span>
                    </span>
                  ),
                },
                {
                  key: 'state',
                  head: 'State',
                  class: 'side-cell',
                  cell: (webhook) => <Badge look={lookOfWebhook(webhook)} />,
                },
                { key: 'events', head: 'Events', cell: (webhook) => webhook.events?.join(', ') ?? 'all' },
                { key: 'types', head: 'Types', cell: (webhook) => webhook.job_types?.join(', ') ?? 'all' },
                { key: 'changed', head: 'Changed', class: 'num', cell: (webhook) => <Ago at={webhook.updated_at} /> },
              ]}
            />
          )}
        </Listing>
      </div>
      <Card title="Latest deliveries">
        {deliveries.data === null ? (
          deliveries.problem ? (
            <CannotLoad problem={deliveries.problem} onRetry={deliveries.reload} />
          ) : (
            <Loading />
          )
        ) : deliveries.data.items.length === 0 ? (
          <div class="card-body faint">Nothing was sent yet.</div>
        ) : (
          <DeliveryRows items={deliveries.data.items} onDone={deliveries.reload} />
        )}
      </Card>
      {isOpen && (
        <WebhookDialog webhook={null} onClose={() => setOpen(false)} onDone={webhooks.reload} onSecret={setSecret} />
      )}
      {secret !== null && (
        <SecretDialog title="The signing secret" secret={secret} onClose={() => setSecret(null)}>
          It is shown this once. The receiver checks signatures with it.
        </SecretDialog>
      )}
    </>
  )
}
