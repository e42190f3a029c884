import { useState } from 'preact/hooks'
import { printExact } from '../api/exact-json.ts'
import { ask } from '../api/http.ts'
import { mayOperate, session } from '../api/session.ts'
import type { Chain, Job } from '../api/things.ts'
import { FormDialog } from '../parts/dialog.tsx'
import { AreaField, CheckField, ChoiceField, TextField } from '../parts/field.tsx'
import { Icon } from '../parts/icon.tsx'
import { readJsonText } from '../parts/json-text.ts'
import { attempt, say } from '../parts/toast.tsx'
import { go, href } from '../route.ts'

type Open = 'cancel' | 'retry' | 'again' | 'edit' | null

interface Props {
  readonly job: Job
  readonly chain: Chain
  readonly onDone: () => void
}

/** What can be done with this job now. Who may do nothing sees nothing. */
export function JobActions({ job, chain, onDone }: Props) {
  const [open, setOpen] = useState<Open>(null)
  if (!mayOperate.value) return null
  const last = chain.items.at(-1) ?? job
  const isLive = !chain.settled
  const canRetry = chain.settled && (chain.outcome === 'FAILED' || chain.outcome === 'CANCELLED')
  const waitsForRetry = isLive && last.status === 'QUEUED' && last.attempt > 1
  const move = (to: 'front' | 'back') =>
    void attempt(
      () => ask('POST /api/jobs/{job_id}/move', { params: { job_id: last.job_id }, body: { to } }),
      () => {
        say(to === 'front' ? 'It is first at its priority.' : 'It is last at its priority.')
        onDone()
      },
    )
  const close = () => setOpen(null)
  return (
    <>
      {last.status === 'QUEUED' && (
        <>
          <button type="button" class="button" onClick={() => move('front')}>
            To front
          </button>
          <button type="button" class="button" onClick={() => move('back')}>
            To back
          </button>
          <button type="button" class="button" onClick={() => setOpen('edit')}>
            <Icon name="edit" /> Edit
          </button>
        </>
      )}
      {(canRetry || waitsForRetry) && (
        <button type="button" class="button" onClick={() => setOpen('retry')}>
          <Icon name="retry" /> {waitsForRetry ? 'Retry now' : 'Retry'}
        </button>
      )}
      <button type="button" class="button" onClick={() => setOpen('again')}>
        <Icon name="play" /> Run again
      </button>
      {isLive && (
        <button type="button" class="button danger" onClick={() => setOpen('cancel')}>
          <Icon name="slash" /> Cancel
        </button>
      )}
      {open === 'cancel' && <CancelDialog job={last} onClose={close} onDone={onDone} />}
      {open === 'retry' && <RetryDialog job={last} onClose={close} />}
      {open === 'again' && <RunAgainDialog job={job} onClose={close} />}
      {open === 'edit' && <EditDialog job={last} onClose={close} onDone={onDone} />}
    </>
  )
}

function CancelDialog({ job, onClose, onDone }: { job: Job; onClose: () => void; onDone: () => void }) {
  const [mode, setMode] = useState<'graceful' | 'abort'>('graceful')
  const [reason, setReason] = useState('')
  const act = async () => {
    const answer = await ask('POST /api/jobs/{job_id}/cancel', {
      params: { job_id: job.job_id },
      body: { mode, ...(reason !== '' && { reason }) },
    })
    say(answer.status === 'CANCELLED' ? 'Cancelled.' : 'It will be cancelled where it runs.')
    onDone()
  }
  return (
    <FormDialog title="Cancel this job" submit="Cancel the job" isDanger onClose={onClose} onSubmit={act}>
      {job.status === 'RUNNING' ? (
        <ChoiceField
          label="It runs now"
          value={mode}
          onChange={setMode}
          options={[
            ['graceful', 'Let it end; no retry follows'],
            ['abort', 'Abort it now'],
          ]}
        />
      ) : (
        <p>It has not started, and will not. Its history stays.</p>
      )}
      <TextField label="Reason" value={reason} onInput={setReason} hint="Shown with the job. Optional." />
    </FormDialog>
  )
}

function RetryDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const [dependents, setDependents] = useState(false)
  const act = async () => {
    const retry = await ask('POST /api/jobs/{job_id}/retry', {
      params: { job_id: job.job_id },
      body: dependents ? { dependents } : {},
    })
    say(`Attempt ${retry.attempt} is queued.`)
    go(href('jobs', retry.job_id))
  }
  return (
    <FormDialog title="Retry" submit="Retry" onClose={onClose} onSubmit={act}>
      <p>
        The chain gets a new attempt with the same params and a fresh retry budget. Earlier attempts stay as they are.
      </p>
      <CheckField
        label="Also retry the jobs that were cancelled because of this one"
        checked={dependents}
        onChange={setDependents}
      />
    </FormDialog>
  )
}

function RunAgainDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const mayRead = session.value?.rights.see_payloads ?? true
  const [text, setText] = useState(mayRead ? printExact(job.params) : '')
  const [name, setName] = useState(job.name ?? '')
  const [priority, setPriority] = useState(String(job.priority))
  const read = readJsonText(text)
  const act = async () => {
    const made = await ask('POST /api/jobs', {
      body: {
        type: job.job_type,
        ...(read.value !== undefined && { params: read.value }),
        ...(name !== '' && { name }),
        priority: Number(priority),
        tags: [...job.tags],
        timeout_ms: job.timeout_ms,
      },
    })
    say('A new job is queued.')
    go(href('jobs', made.job_id))
  }
  return (
    <FormDialog
      title={`Run ${job.job_type} again`}
      submit="Enqueue"
      isBig
      isReady={read.wrong === null}
      onClose={onClose}
      onSubmit={act}
    >
      <p class="soft">This makes a new job. The one you are looking at does not change.</p>
      <AreaField label="Params (JSON)" value={text} onInput={setText} rows={12} wrong={read.wrong} />
      <div class="pair">
        <TextField label="Name" value={name} onInput={setName} />
        <TextField label="Priority" type="number" value={priority} onInput={setPriority} required />
      </div>
    </FormDialog>
  )
}

function EditDialog({ job, onClose, onDone }: { job: Job; onClose: () => void; onDone: () => void }) {
  const mayRead = session.value?.rights.see_payloads ?? true
  const before = mayRead ? printExact(job.params) : ''
  const [text, setText] = useState(before)
  const [priority, setPriority] = useState(String(job.priority))
  const dueBefore = job.hold === 'delayed' ? localMinute(job.run_at) : ''
  const [due, setDue] = useState(dueBefore)
  const read = readJsonText(text)
  const act = async () => {
    await ask('PATCH /api/jobs/{job_id}', {
      params: { job_id: job.job_id },
      body: {
        ...(Number(priority) !== job.priority && { priority: Number(priority) }),
        ...(text !== before && { params: read.value }),
        ...(due !== dueBefore && { run_at: due === '' ? null : new Date(due).toISOString() }),
      },
    })
    say('Changed.')
    onDone()
  }
  return (
    <FormDialog
      title="Edit the queued job"
      submit="Save"
      isBig
      isReady={read.wrong === null && (text !== before || due !== dueBefore || Number(priority) !== job.priority)}
      onClose={onClose}
      onSubmit={act}
    >
      <div class="pair">
        <TextField
          label="Priority"
          type="number"
          value={priority}
          onInput={setPriority}
          hint="A new priority puts it last there."
          required
        />
        {(job.hold === null || job.hold === 'delayed') && (
          <TextField
            label="Not before"
            type="datetime-local"
            value={due}
            onInput={setDue}
            hint="In your zone. Empty: as soon as it can."
          />
        )}
      </div>
      {mayRead && <AreaField label="Params (JSON)" value={text} onInput={setText} rows={10} wrong={read.wrong} />}
    </FormDialog>
  )
}

/** As a field of the kind `datetime-local` wants it: in the viewer's zone, without one. */
function localMinute(instant: string): string {
  const at = new Date(instant)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
