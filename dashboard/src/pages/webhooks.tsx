import { useState } from 'preact/hooks'
import { ask } from '../api/http.ts'
import { mayAdminister } from '../api/session.ts'
import type { Delivery, Webhook } from '../api/things.ts'
import { useLive } from '../live/use-live.ts'
import { shortId } from '../parts/copy.tsx'
import { FormDialog } from '../parts/dialog.tsx'
import { CannotLoad, Loading, NothingMatches, NothingYet } from '../parts/empty.tsx'
import { CheckField, TextField } from '../parts/field.tsx'
import { Icon } from '../parts/icon.tsx'
import { Card, Listing, PageHead, Stale } from '../parts/listing.tsx'
import { Badge, type Look, lookOf } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Ago, durationWords } from '../parts/time.tsx'
import { attempt, say } from '../parts/toast.tsx'
import { go, href, hrefWith, queryOf, setQuery } from '../route.ts'
import { SecretDialog } from './keys.tsx'

const EVENTS = ['job.run.completed', 'job.run.failed', 'job.run.skipped', 'job.cancelled', 'job.settled'] as const
type Event = (typeof EVENTS)[number]

function lookOfWebhook(webhook: Webhook): Look {
  if (webhook.disabled_reason !== null) return { word: 'Broken', tone: 'bad', icon: 'warn' }
  return webhook.enabled
    ? { word: 'On', tone: 'good', icon: 'check' }
    : { word: 'Disabled', tone: 'none', icon: 'pause' }
}

function nameOf(webhook: Webhook): string {
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
              command="pawl webhooks create https://example.com/hooks/pawl --events job.settled"
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

function DeliveryRows({ items, onDone }: { items: readonly Delivery[]; onDone: () => void }) {
  const replay = (delivery: Delivery) =>
    void attempt(
      () =>
        ask('POST /api/webhook-deliveries/{delivery_id}/replay', {
          params: { delivery_id: delivery.delivery_id },
          body: {},
        }),
      () => {
        say('It is sent again.')
        onDone()
      },
    )
  return (
    <Table
      label="Deliveries"
      rows={items}
      keyOf={(delivery) => delivery.delivery_id}
      nameOf={(delivery) => delivery.event}
      columns={[
        {
          key: 'event',
          head: 'Event',
          class: 'lead',
          cell: (delivery) => (
            <span class="main-cell">
              <strong class="clip">{delivery.event}</strong>
              <span class="under">
                job <a href={href('jobs', delivery.job_id)}>{shortId(delivery.job_id)}</a>
              </span>
            </span>
          ),
        },
        {
          key: 'state',
          head: 'State',
          class: 'side-cell',
          cell: (delivery) => <Badge look={lookOf(delivery.status)} />,
        },
        { key: 'tries', head: 'Tries', class: 'num', cell: (delivery) => delivery.attempts },
        {
          key: 'answer',
          head: 'Answer',
          cell: (delivery) => (
            <span class="clip" title={delivery.response_excerpt ?? delivery.last_error ?? ''}>
              {delivery.last_status_code ?? ''} <span class="soft">{delivery.last_error ?? ''}</span>
            </span>
          ),
        },
        {
          key: 'latency',
          head: 'Took',
          class: 'num',
          cell: (delivery) => (delivery.latency_ms === null ? '–' : durationWords(delivery.latency_ms)),
        },
        { key: 'created', head: 'Made', class: 'num', cell: (delivery) => <Ago at={delivery.created_at} /> },
        {
          key: 'act',
          head: '',
          class: 'num',
          cell: (delivery) =>
            mayAdminister.value &&
            delivery.status !== 'PENDING' && (
              <button type="button" class="button slim" onClick={() => replay(delivery)}>
                <Icon name="retry" /> Replay
              </button>
            ),
        },
      ]}
    />
  )
}

export function WebhookPage({ id }: { id: string }) {
  const [open, setOpen] = useState<'edit' | 'rotate' | 'remove' | null>(null)
  const [secret, setSecret] = useState<string | null>(null)
  const [status, cursor] = [queryOf('status'), queryOf('cursor')]
  const live = useLive(id, (signal) => ask('GET /api/webhooks/{webhook_id}', { params: { webhook_id: id }, signal }), {
    everyMs: 5_000,
  })
  const deliveries = useLive(
    `${id} ${status} ${cursor}`,
    (signal) =>
      ask('GET /api/webhooks/{webhook_id}/deliveries', {
        params: { webhook_id: id },
        query: { limit: '50', ...(status && { status }), ...(cursor && { cursor }) } as never,
        signal,
      }),
    { everyMs: 2_000 },
  )
  const webhook = live.data
  if (webhook === null) return live.problem ? <CannotLoad problem={live.problem} onRetry={live.reload} /> : <Loading />
  const replayFailed = () =>
    void attempt(async () => {
      const { count } = await ask('POST /api/webhooks/{webhook_id}/replay', {
        params: { webhook_id: id },
        body: { status: 'FAILED' },
      })
      say(`${count.toLocaleString('en')} deliveries are sent again.`)
    }, deliveries.reload)
  return (
    <>
      {live.problem && <Stale />}
      <PageHead
        title={
          <span class="row">
            {nameOf(webhook)} <Badge look={lookOfWebhook(webhook)} />
          </span>
        }
        sub={<span class="mono">{webhook.url}</span>}
      >
        {mayAdminister.value && (
          <>
            <button type="button" class="button" onClick={replayFailed}>
              <Icon name="retry" /> Replay failed
            </button>
            <button type="button" class="button" onClick={() => setOpen('rotate')}>
              <Icon name="keys" /> Rotate secret
            </button>
            <button type="button" class="button" onClick={() => setOpen('edit')}>
              <Icon name="edit" /> Edit
            </button>
            <button type="button" class="button danger" onClick={() => setOpen('remove')}>
              Remove
            </button>
          </>
        )}
      </PageHead>
      {webhook.disabled_reason !== null && (
        <div class="banner bad">
          <Icon name="warn" />
          <div>{webhook.disabled_reason}</div>
        </div>
      )}
      <div class="card">
        <nav class="tabs" aria-label="By state">
          {(['', 'PENDING', 'DELIVERED', 'FAILED'] as const).map((one) => (
            <a
              href={hrefWith(['webhooks', id], { status: one })}
              aria-current={one === status ? 'true' : undefined}
              key={one}
            >
              {one === '' ? 'All deliveries' : lookOf(one).word}
            </a>
          ))}
        </nav>
        <Listing
          live={deliveries}
          empty={
            status === '' ? (
              <NothingYet title="Nothing was sent yet">The next end of a job is told.</NothingYet>
            ) : (
              <NothingMatches what="deliveries" onClear={() => setQuery({ status: null })} />
            )
          }
        >
          {(items) => <DeliveryRows items={items} onDone={deliveries.reload} />}
        </Listing>
      </div>
      {open === 'edit' && (
        <WebhookDialog webhook={webhook} onClose={() => setOpen(null)} onDone={live.reload} onSecret={setSecret} />
      )}
      {open === 'rotate' && (
        <FormDialog
          title="Rotate the secret"
          submit="Rotate"
          onClose={() => setOpen(null)}
          onSubmit={async () => {
            const rotated = await ask('POST /api/webhooks/{webhook_id}/rotate-secret', {
              params: { webhook_id: id },
              body: {},
            })
            setSecret(rotated.secret)
          }}
        >
          <p>A new secret signs from now on. The old one signs too for a day, so that the receiver can follow.</p>
        </FormDialog>
      )}
      {open === 'remove' && (
        <FormDialog
          title="Remove the webhook"
          submit="Remove"
          isDanger
          onClose={() => setOpen(null)}
          onSubmit={async () => {
            await ask('DELETE /api/webhooks/{webhook_id}', { params: { webhook_id: id } })
            go(href('webhooks'))
          }}
        >
          <p>Nothing more is sent to it. What was pending has failed; its log stays.</p>
        </FormDialog>
      )}
      {secret !== null && (
        <SecretDialog title="The signing secret" secret={secret} onClose={() => setSecret(null)}>
          It is shown this once. The receiver checks signatures with it.
        </SecretDialog>
      )}
    </>
  )
}

interface WebhookDialogProps {
  readonly webhook: Webhook | null
  readonly onClose: () => void
  readonly onDone: () => void
  readonly onSecret: (secret: string) => void
}

function WebhookDialog({ webhook, onClose, onDone, onSecret }: WebhookDialogProps) {
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [name, setName] = useState(webhook?.name ?? '')
  const [types, setTypes] = useState(webhook?.job_types?.join(', ') ?? '')
  const [events, setEvents] = useState<ReadonlySet<Event>>(new Set(webhook?.events ?? EVENTS))
  const [isEnabled, setEnabled] = useState(webhook?.enabled ?? true)
  const act = async () => {
    const chosen = types
      .split(',')
      .map((type) => type.trim())
      .filter(Boolean)
    const body = {
      name: name === '' ? null : name,
      events: events.size === EVENTS.length ? null : [...events],
      job_types: chosen.length === 0 ? null : chosen,
      enabled: isEnabled,
    }
    if (webhook === null) onSecret((await ask('POST /api/webhooks', { body: { ...body, url } })).secret)
    else {
      await ask('PATCH /api/webhooks/{webhook_id}', {
        params: { webhook_id: webhook.webhook_id },
        body: { ...body, ...(url !== webhook.url && { url }) },
        ifMatch: webhook.revision,
      })
    }
    onDone()
  }
  return (
    <FormDialog
      title={webhook === null ? 'New webhook' : 'Edit the webhook'}
      submit="Save"
      isReady={url !== '' && events.size > 0}
      onClose={onClose}
      onSubmit={act}
    >
      <TextField label="URL" value={url} onInput={setUrl} placeholder="https://example.com/hooks/pawl" required />
      <TextField label="Name" value={name} onInput={setName} />
      <fieldset class="field">
        <legend class="label">Events</legend>
        {EVENTS.map((event) => (
          <CheckField
            key={event}
            label={event}
            checked={events.has(event)}
            onChange={(on) => setEvents(new Set(on ? [...events, event] : [...events].filter((one) => one !== event)))}
          />
        ))}
      </fieldset>
      <TextField
        label="Only these job types"
        value={types}
        onInput={setTypes}
        hint="Separated by commas. Empty: all."
      />
      <CheckField label="Enabled" checked={isEnabled} onChange={setEnabled} />
    </FormDialog>
  )
}
