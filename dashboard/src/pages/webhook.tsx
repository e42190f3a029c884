import { useState } from 'preact/hooks'
import { ask } from '../api/http.ts'
import { mayAdminister } from '../api/session.ts'
import { useLive } from '../live/use-live.ts'
import { FormDialog } from '../parts/dialog.tsx'
import { CannotLoad, Loading, NothingMatches, NothingYet } from '../parts/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { Listing, PageHead, Stale } from '../parts/listing.tsx'
import { Badge, lookOf } from '../parts/state.tsx'
import { attempt, say } from '../parts/toast.tsx'
import { go, href, hrefWith, queryOf, setQuery } from '../route.ts'
import { DeliveryRows } from './deliveries.tsx'
import { SecretDialog } from './keys.tsx'
import { WebhookDialog } from './webhook-form.tsx'
import { lookOfWebhook, nameOf } from './webhooks.tsx'

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
