import { useState } from 'preact/hooks'
import { ask } from '../api/http.ts'
import type { JobType } from '../api/things.ts'
import { FormDialog } from '../parts/dialog.tsx'
import { ChoiceField, TextField } from '../parts/field.tsx'
import { useParams } from '../parts/params-field.tsx'
import { say } from '../parts/toast.tsx'
import { href } from '../route.ts'

/** Enqueues a job by hand, with a form made of its params. */
export function NewJobDialog({ types, onClose }: { types: readonly JobType[]; onClose: () => void }) {
  const [chosen, setChosen] = useState(types.find((one) => one.registered)?.type ?? types[0]?.type ?? '')
  const [name, setName] = useState('')
  const [priority, setPriority] = useState('0')
  const [tags, setTags] = useState('')
  const [due, setDue] = useState('')
  const params = useParams(chosen, types.find((one) => one.type === chosen)?.params_schema)
  const act = async () => {
    const listed = tags
      .split(',')
      .map((tag) => tag.trim())
      .filter(Boolean)
    const job = await ask('POST /api/jobs', {
      body: {
        type: chosen,
        ...(params.value !== undefined && { params: params.value }),
        ...(name !== '' && { name }),
        ...(listed.length > 0 && { tags: listed }),
        ...(due !== '' && { run_at: new Date(due).toISOString() }),
        priority: Number(priority),
      },
    })
    say('A job is queued.', { link: { href: href('jobs', job.job_id), text: 'Open it' } })
  }
  return (
    <FormDialog
      title="New job"
      submit="Enqueue"
      isBig
      isReady={chosen !== '' && params.isReady}
      onClose={onClose}
      onSubmit={act}
    >
      <div class="pair">
        <ChoiceField
          label="Type"
          value={chosen}
          onChange={setChosen}
          options={types.map((one) => [one.type, one.registered ? one.type : `${one.type} (no node)`])}
        />
        <TextField label="Name" value={name} onInput={setName} />
      </div>
      {params.field}
      {params.toggle && <div>{params.toggle}</div>}
      <div class="pair">
        <TextField label="Priority" type="number" value={priority} onInput={setPriority} required />
        <TextField label="Tags" value={tags} onInput={setTags} hint="Separated by commas." />
        <TextField label="Not before" type="datetime-local" value={due} onInput={setDue} hint="In your zone." />
      </div>
    </FormDialog>
  )
}
