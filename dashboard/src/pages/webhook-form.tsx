import { useState } from 'preact/hooks'
import { ask } from '../api/http.ts'
import type { Webhook } from '../api/things.ts'
import { FormDialog } from '../parts/dialog.tsx'
import { CheckField, TextField } from '../parts/field.tsx'

const EVENTS = ['job.run.completed', 'job.run.failed', 'job.run.skipped', 'job.cancelled', 'job.settled'] as const
type Event = (typeof EVENTS)[number]

interface WebhookDialogProps {
  readonly webhook: Webhook | null
  readonly onClose: () => void
  readonly onDone: () => void
  readonly onSecret: (secret: string) => void
}

export function WebhookDialog({ webhook, onClose, onDone, onSecret }: WebhookDialogProps) {
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
