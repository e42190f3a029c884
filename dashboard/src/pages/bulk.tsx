import { useEffect, useState } from 'preact/hooks'
import { ask, wordsOf } from '../api/http.ts'
import { FormDialog } from '../parts/dialog.tsx'
import { ChoiceField, TextField } from '../parts/field.tsx'
import { say } from '../parts/toast.tsx'
import { href } from '../route.ts'

/** Which jobs: those that match, or those that were chosen one by one. */
export type Target = { readonly filter: Readonly<Record<string, string>> } | { readonly job_ids: readonly string[] }

interface DryRun {
  readonly matched: number
  readonly matched_or_more: boolean
}

interface BulkDialogProps {
  readonly kind: 'cancel' | 'retry'
  readonly target: Target
  readonly onClose: () => void
  readonly onStarted: () => void
}

function countWords({ matched, matched_or_more: orMore }: DryRun): string {
  const count = `${matched.toLocaleString('en')}${orMore ? ' or more' : ''}`
  return `${count} ${matched === 1 && !orMore ? 'job' : 'jobs'}`
}

/** First counts, then asks, then does it. */
export function BulkDialog({ kind, target, onClose, onStarted }: BulkDialogProps) {
  const [dryRun, setDryRun] = useState<DryRun | null>(null)
  const [wrong, setWrong] = useState<string | null>(null)
  const [mode, setMode] = useState<'graceful' | 'abort'>('graceful')
  const [reason, setReason] = useState('')
  useEffect(() => {
    ask('POST /api/operations', { body: { kind, ...target, dry_run: true } as never }).then(
      (answer) => setDryRun(answer as DryRun),
      (error: unknown) => setWrong(wordsOf(error)),
    )
  }, [])
  const verb = kind === 'cancel' ? 'Cancel' : 'Retry'
  const start = async () => {
    const body = { kind, ...target, ...(kind === 'cancel' && { mode, ...(reason !== '' && { reason }) }) }
    const answer = await ask('POST /api/operations', { body: body as never })
    say(`${verb} has begun.`, {
      link: {
        href: 'operation_id' in answer ? href('operations', answer.operation_id) : href('operations'),
        text: 'Progress',
      },
    })
    onStarted()
  }
  return (
    <FormDialog
      title={`${verb} jobs`}
      submit={dryRun === null ? verb : `${verb} ${countWords(dryRun)}`}
      isDanger={kind === 'cancel'}
      isReady={dryRun !== null && dryRun.matched > 0}
      onClose={onClose}
      onSubmit={start}
    >
      <p data-dry-run>
        {wrong !== null && <span class="tone-bad">{wrong}</span>}
        {wrong === null && dryRun === null && 'Counting…'}
        {dryRun !== null && (
          <>
            <strong>{countWords(dryRun)}</strong> match now. Nothing is changed until you confirm.
          </>
        )}
      </p>
      {'filter' in target && (
        <ul class="row">
          {Object.entries(target.filter).map(([name, value]) => (
            <li class="tag" key={name}>
              {name}: {value}
            </li>
          ))}
        </ul>
      )}
      {kind === 'cancel' && (
        <>
          <ChoiceField
            label="Jobs that run"
            value={mode}
            onChange={setMode}
            options={[
              ['graceful', 'may end, and are not retried'],
              ['abort', 'are aborted now'],
            ]}
          />
          <TextField label="Reason" value={reason} onInput={setReason} hint="Shown with each job. Optional." />
        </>
      )}
      {kind === 'retry' && <p class="soft">Each failed or cancelled chain gets a new attempt, last at its priority.</p>}
    </FormDialog>
  )
}
