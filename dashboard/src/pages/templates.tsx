import { useState } from 'preact/hooks'
import { printExact } from '../api/exact-json.ts'
import { ask } from '../api/http.ts'
import { mayAdminister, mayOperate } from '../api/session.ts'
import type { Template } from '../api/things.ts'
import { useLive } from '../live/use-live.ts'
import { useTypes } from '../live/use-types.ts'
import { FormDialog } from '../parts/dialog.tsx'
import { NothingYet } from '../parts/empty.tsx'
import { AreaField, ChoiceField, TextField } from '../parts/field.tsx'
import { Icon } from '../parts/icon.tsx'
import { Redacted } from '../parts/json.tsx'
import { readJsonText } from '../parts/json-text.ts'
import { Listing, PageHead } from '../parts/listing.tsx'
import { Badge } from '../parts/state.tsx'
import { Table } from '../parts/table.tsx'
import { Ago } from '../parts/time.tsx'
import { attempt, say } from '../parts/toast.tsx'
import { href, hrefWith, queryOf, setQuery } from '../route.ts'

type Open = { readonly kind: 'new' } | { readonly kind: 'edit' | 'archive'; readonly template: Template } | null

export function TemplatesPage() {
  const [open, setOpen] = useState<Open>(null)
  const [state, cursor] = [queryOf('state') === 'any' ? 'any' : 'active', queryOf('cursor')]
  const templates = useLive(
    `templates ${state} ${cursor}`,
    (signal) =>
      ask('GET /api/job-templates', { query: { limit: '50', state, ...(cursor && { cursor }) } as never, signal }),
    { everyMs: 10_000 },
  )
  const enqueue = (template: Template) =>
    void attempt(async () => {
      const job = await ask('POST /api/jobs', { body: { template_id: template.template_id } })
      say('A job is queued.', { link: { href: href('jobs', job.job_id), text: 'Open it' } })
    })
  return (
    <>
      <PageHead title="Templates" sub="A type with params and policy, under a name">
        <label class="check">
          <input
            type="checkbox"
            checked={state === 'any'}
            onChange={({ currentTarget }) => setQuery({ state: currentTarget.checked ? 'any' : null, cursor: null })}
          />
          Also archived
        </label>
        {mayAdminister.value && (
          <button type="button" class="button primary" onClick={() => setOpen({ kind: 'new' })}>
            <Icon name="plus" /> New template
          </button>
        )}
      </PageHead>
      <div class="card">
        <Listing
          live={templates}
          empty={<NothingYet title="No templates yet" command="pawl templates create my-template --type <type>" />}
        >
          {(items) => (
            <Table
              label="Templates"
              rows={items}
              keyOf={(template) => template.template_id}
              nameOf={(template) => template.name}
              columns={[
                {
                  key: 'name',
                  head: 'Template',
                  class: 'lead',
                  cell: (template) => (
                    <span class="main-cell">
                      <a class="clip" href={hrefWith(['jobs'], { template_id: template.template_id })}>
                        {template.name}
                      </a>
                      <span class="under clip">{template.description ?? template.job_type}</span>
                    </span>
                  ),
                },
                {
                  key: 'state',
                  head: 'State',
                  class: 'side-cell',
                  cell: (template) => (
                    <Badge
                      look={
                        template.archived_at === null
                          ? { word: 'Active', tone: 'good', icon: 'check' }
                          : { word: 'Archived', tone: 'none', icon: 'box' }
                      }
                    />
                  ),
                },
                { key: 'type', head: 'Type', cell: (template) => <span class="mono">{template.job_type}</span> },
                {
                  key: 'params',
                  head: 'Params',
                  cell: (template) =>
                    'redacted' in template ? (
                      <Redacted what="hidden" />
                    ) : (
                      <span class="mono soft">{cut(printExact(template.default_params, 0))}</span>
                    ),
                },
                { key: 'updated', head: 'Changed', class: 'num', cell: (template) => <Ago at={template.updated_at} /> },
                {
                  key: 'act',
                  head: '',
                  class: 'num',
                  cell: (template) =>
                    template.archived_at === null && (
                      <span class="row keep tight">
                        {mayOperate.value && (
                          <button type="button" class="button slim" onClick={() => enqueue(template)}>
                            Enqueue
                          </button>
                        )}
                        {mayAdminister.value && (
                          <>
                            <button
                              type="button"
                              class="button slim"
                              onClick={() => setOpen({ kind: 'edit', template })}
                            >
                              Edit
                            </button>
                            <button
                              type="button"
                              class="button slim danger"
                              onClick={() => setOpen({ kind: 'archive', template })}
                            >
                              Archive
                            </button>
                          </>
                        )}
                      </span>
                    ),
                },
              ]}
            />
          )}
        </Listing>
      </div>
      {(open?.kind === 'new' || open?.kind === 'edit') && (
        <TemplateDialog
          template={open.kind === 'edit' ? open.template : null}
          onClose={() => setOpen(null)}
          onDone={templates.reload}
        />
      )}
      {open?.kind === 'archive' && (
        <FormDialog
          title={`Archive ${open.template.name}`}
          submit="Archive"
          isDanger
          onClose={() => setOpen(null)}
          onSubmit={async () => {
            await ask('DELETE /api/job-templates/{template_id}', { params: { template_id: open.template.template_id } })
            templates.reload()
          }}
        >
          <p>No new jobs can be made from it. Its jobs and their history stay.</p>
        </FormDialog>
      )}
    </>
  )
}

function cut(text: string): string {
  return text.length > 90 ? `${text.slice(0, 89)}…` : text
}

function TemplateDialog({
  template,
  onClose,
  onDone,
}: {
  template: Template | null
  onClose: () => void
  onDone: () => void
}) {
  const [name, setName] = useState(template?.name ?? '')
  const [type, setType] = useState(template?.job_type ?? '')
  const [params, setParams] = useState(printExact(template?.default_params ?? {}))
  const [description, setDescription] = useState(template?.description ?? '')
  const names = useTypes()?.map((one) => one.type) ?? []
  const chosen = type || (names[0] ?? '')
  const read = readJsonText(params)
  const act = async () => {
    const body = {
      name,
      job_type: chosen,
      ...(read.value !== undefined && { default_params: read.value }),
      description: description === '' ? null : description,
    }
    if (template === null) await ask('POST /api/job-templates', { body })
    else
      await ask('PATCH /api/job-templates/{template_id}', {
        params: { template_id: template.template_id },
        body,
        ifMatch: template.revision,
      })
    onDone()
  }
  return (
    <FormDialog
      title={template === null ? 'New template' : `Edit ${template.name}`}
      submit="Save"
      isBig
      isReady={read.wrong === null && name !== ''}
      onClose={onClose}
      onSubmit={act}
    >
      <div class="pair">
        <TextField label="Name" value={name} onInput={setName} required />
        <ChoiceField label="Job type" value={chosen} onChange={setType} options={names.map((one) => [one, one])} />
      </div>
      <AreaField label="Default params (JSON)" value={params} onInput={setParams} wrong={read.wrong} />
      <TextField label="Description" value={description} onInput={setDescription} />
    </FormDialog>
  )
}
