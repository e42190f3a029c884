import { useState } from 'preact/hooks'
import { ask } from '../api/http.ts'
import { mayAdminister, readSession, session } from '../api/session.ts'
import type { ApiKey } from '../api/things.ts'
import { useLive } from '../live/use-live.ts'
import { Copy } from '../parts/copy.tsx'
import { Dialog, FormDialog } from '../parts/dialog.tsx'
import { NothingYet } from '../parts/empty.tsx'
import { ChoiceField, TextField } from '../parts/field.tsx'
import { Icon } from '../parts/icon.tsx'
import { Listing, PageHead } from '../parts/listing.tsx'
import { Badge, type Look } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Ago, now } from '../parts/time.tsx'
import { queryOf } from '../route.ts'

function lookOfKey(key: ApiKey): Look {
  if (key.revoked_at !== null) return { word: 'Revoked', tone: 'none', icon: 'slash' }
  if (key.expires_at !== null && Date.parse(key.expires_at) <= now.value)
    return { word: 'Expired', tone: 'none', icon: 'clock' }
  return { word: 'Open', tone: 'good', icon: 'check' }
}

export function SecretDialog({
  title,
  secret,
  children,
  onClose,
}: {
  title: string
  secret: string
  children: string
  onClose: () => void
}) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      foot={
        <button type="button" class="button primary" onClick={onClose}>
          I have kept it
        </button>
      }
    >
      <div class="dialog-body">
        <p>{children}</p>
        <div class="secret">
          <code class="grow" data-secret>
            {secret}
          </code>
          <Copy text={secret} what="secret" />
        </div>
      </div>
    </Dialog>
  )
}

export function KeysPage() {
  const [open, setOpen] = useState<'create' | null>(null)
  const [made, setMade] = useState<string | null>(null)
  const [revoked, setRevoked] = useState<ApiKey | null>(null)
  const cursor = queryOf('cursor')
  const keys = useLive(mayAdminister.value ? `keys ${cursor}` : null, (signal) =>
    ask('GET /api/keys', { query: { limit: '50', ...(cursor && { cursor }) } as never, signal }),
  )
  if (!mayAdminister.value) return <NothingYet title="Only admins see keys">Your key may not.</NothingYet>
  return (
    <>
      <PageHead title="Keys" sub="Who may use the API and this page, and as what">
        <button type="button" class="button primary" onClick={() => setOpen('create')}>
          <Icon name="plus" /> New key
        </button>
      </PageHead>
      {session.value?.keys_required === false && (
        <div class="banner warn">
          <Icon name="warn" />
          <div>
            There are no keys: everybody who reaches this server is admin. From the first key on, the API and this page
            ask for one.
          </div>
        </div>
      )}
      <div class="card">
        <Listing
          live={keys}
          empty={<NothingYet title="No keys yet" command="pawl keys create --name me --role admin" />}
        >
          {(items) => (
            <Table
              label="Keys"
              rows={items}
              keyOf={(key) => key.key_id}
              nameOf={(key) => key.name}
              columns={[
                {
                  key: 'name',
                  head: 'Key',
                  class: 'lead',
                  cell: (key) => (
                    <span class="main-cell">
                      <strong class="clip">{key.name}</strong>
                      <span class="under mono">{key.prefix}…</span>
                    </span>
                  ),
                },
                { key: 'state', head: 'State', class: 'side-cell', cell: (key) => <Badge look={lookOfKey(key)} /> },
                { key: 'role', head: 'Role', cell: (key) => key.role },
                { key: 'created', head: 'Made', class: 'num', cell: (key) => <Ago at={key.created_at} /> },
                { key: 'expires', head: 'Expires', class: 'num', cell: (key) => <Ago at={key.expires_at} /> },
                {
                  key: 'act',
                  head: '',
                  class: 'num',
                  cell: (key) =>
                    key.revoked_at === null && (
                      <button type="button" class="button slim danger" onClick={() => setRevoked(key)}>
                        Revoke
                      </button>
                    ),
                },
              ]}
            />
          )}
        </Listing>
      </div>
      {open === 'create' && <CreateDialog onClose={() => setOpen(null)} onMade={setMade} />}
      {made !== null && (
        <SecretDialog
          title="The new key"
          secret={made}
          onClose={() => {
            setMade(null)
            keys.reload()
            void readSession()
          }}
        >
          It is shown this once. Keep it where secrets are kept.
        </SecretDialog>
      )}
      {revoked !== null && (
        <FormDialog
          title={`Revoke ${revoked.name}`}
          submit="Revoke"
          isDanger
          onClose={() => setRevoked(null)}
          onSubmit={async () => {
            await ask('DELETE /api/keys/{key_id}', { params: { key_id: revoked.key_id } })
            keys.reload()
          }}
        >
          <p>From then on it opens nothing, and sessions made with it end. This cannot be undone.</p>
        </FormDialog>
      )}
    </>
  )
}

function CreateDialog({ onClose, onMade }: { onClose: () => void; onMade: (key: string) => void }) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<'viewer' | 'operator' | 'admin'>('viewer')
  const [days, setDays] = useState('90')
  const act = async () => {
    const made = await ask('POST /api/keys', {
      body: { name, role, ...(Number(days) > 0 && { expires_in_ms: Number(days) * 86_400_000 }) },
    })
    onMade(made.key)
  }
  return (
    <FormDialog title="New key" submit="Make the key" onClose={onClose} onSubmit={act} isReady={name !== ''}>
      <TextField label="Name" value={name} onInput={setName} placeholder="ci" required />
      <ChoiceField
        label="Role"
        value={role}
        onChange={setRole}
        options={[
          ['viewer', 'viewer: reads'],
          ['operator', 'operator: also enqueues, cancels, retries, moves, triggers'],
          ['admin', 'admin: everything'],
        ]}
      />
      <TextField label="Expires after days" type="number" value={days} onInput={setDays} hint="Empty or 0: never." />
    </FormDialog>
  )
}
