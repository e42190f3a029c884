import { useEffect, useState } from 'preact/hooks'
import { printExact } from '../api/exact-json.ts'
import { ask, wordsOf } from '../api/http.ts'
import type { Preview, Schedule } from '../api/things.ts'
import { useLive } from '../live/use-live.ts'
import { useTypes } from '../live/use-types.ts'
import { FormDialog } from '../parts/dialog.tsx'
import { AreaField, ChoiceField, TextField } from '../parts/field.tsx'
import { Icon } from '../parts/icon.tsx'
import { readJsonText } from '../parts/json-text.ts'
import { fullTime } from '../parts/time.tsx'
import { cronWords } from './cron-words.ts'

const ZONES: readonly string[] = Intl.supportedValuesOf?.('timeZone') ?? []
const NOTES = {
  'dst-gap': 'DST: the clock is set forward over this time. It fires right after the gap.',
  'dst-overlap': 'DST: the clock shows this time twice. It fires the first time.',
} as const

/** The next slots, in the schedule's zone and in the viewer's, with what the change of clocks does to them. */
export function Slots({ items, zone }: { items: Preview['items']; zone: string }) {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  return (
    <ul class="slots" aria-label="Next slots">
      <li class="faint small">
        <span>{zone}</span>
        <span>Here ({own})</span>
      </li>
      {items.map((slot) => (
        <li key={slot.at}>
          <span>{slot.local.replace('T', ' ').replace(/\.\d+/, '')}</span>
          <span class="soft">{fullTime(slot.at)}</span>
          {slot.note !== null && (
            <span class="dst">
              <Icon name="warn" /> {NOTES[slot.note]}
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}

interface Timing {
  readonly cron?: string
  readonly every_ms?: number
  readonly timezone: string
}

function TimingPreview({ timing }: { timing: Timing }) {
  const [preview, setPreview] = useState<Preview | null>(null)
  const [wrong, setWrong] = useState<string | null>(null)
  useEffect(() => {
    const ended = new AbortController()
    const timer = setTimeout(() => {
      ask('POST /api/schedules/preview', { body: { ...timing, count: 5 }, signal: ended.signal }).then(
        (answer) => {
          setPreview(answer)
          setWrong(null)
        },
        (error: unknown) => {
          if (!ended.signal.aborted) setWrong(wordsOf(error))
        },
      )
    }, 200)
    return () => {
      clearTimeout(timer)
      ended.abort()
    }
  }, [JSON.stringify(timing)])
  return (
    <div class="stack tight" aria-live="polite" data-preview>
      {timing.cron !== undefined && <strong>{cronWords(timing.cron)}</strong>}
      {wrong !== null ? (
        <span class="tone-bad">{wrong}</span>
      ) : (
        preview && <Slots items={preview.items} zone={timing.timezone} />
      )}
    </div>
  )
}

/** Makes a schedule, or changes one: with its next slots before anything is stored. */
export function ScheduleDialog({
  schedule,
  onClose,
  onDone,
}: {
  schedule: Schedule | null
  onClose: () => void
  onDone: () => void
}) {
  const [name, setName] = useState(schedule?.name ?? '')
  const [source, setSource] = useState(schedule?.template_id ?? (schedule?.type ? `type:${schedule.type}` : ''))
  const [kind, setKind] = useState<'cron' | 'every'>(schedule?.every_ms != null ? 'every' : 'cron')
  const [cron, setCron] = useState(schedule?.cron ?? '0 8 * * 1-5')
  const [seconds, setSeconds] = useState(String((schedule?.every_ms ?? 3_600_000) / 1_000))
  const [zone, setZone] = useState(schedule?.timezone ?? 'UTC')
  const [missed, setMissed] = useState<Schedule['missed']>(schedule?.missed ?? 'one')
  const [overlap, setOverlap] = useState<Schedule['overlap']>(schedule?.overlap ?? 'allow')
  const [params, setParams] = useState(schedule?.param_overrides == null ? '' : printExact(schedule.param_overrides))
  const types = useTypes() ?? []
  const templates = useLive(
    'schedule templates',
    (signal) => ask('GET /api/job-templates', { query: { limit: '200' } as never, signal }),
    { concerns: () => false },
  )
  const read = readJsonText(params)
  const timing: Timing = {
    ...(kind === 'cron' ? { cron } : { every_ms: Math.round(Number(seconds) * 1_000) }),
    timezone: zone,
  }
  const sources: [string, string][] = [
    ...types.map(({ type }): [string, string] => [`type:${type}`, type]),
    ...(templates.data?.items ?? []).map((template): [string, string] => [
      template.template_id,
      `template: ${template.name}`,
    ]),
  ]
  const chosen = source || (sources[0]?.[0] ?? '')
  const act = async () => {
    const isTimingSame =
      schedule !== null &&
      timing.timezone === schedule.timezone &&
      (kind === 'cron' ? cron === schedule.cron : timing.every_ms === schedule.every_ms)
    const body = {
      name,
      missed,
      overlap,
      ...(!isTimingSame && timing),
      ...(chosen.startsWith('type:') ? { type: chosen.slice(5) } : { template_id: chosen }),
      ...(read.value !== undefined && { param_overrides: read.value }),
    }
    if (schedule === null) await ask('POST /api/schedules', { body })
    else
      await ask('PATCH /api/schedules/{schedule_id}', {
        params: { schedule_id: schedule.schedule_id },
        body,
        ifMatch: schedule.revision,
      })
    onDone()
  }
  return (
    <FormDialog
      title={schedule === null ? 'New schedule' : `Edit ${schedule.name}`}
      submit="Save"
      isBig
      isReady={read.wrong === null && name !== ''}
      onClose={onClose}
      onSubmit={act}
    >
      <div class="pair">
        <TextField label="Name" value={name} onInput={setName} required />
        <ChoiceField label="Makes jobs of" value={chosen} onChange={setSource} options={sources} />
      </div>
      <div class="pair">
        <ChoiceField
          label="When"
          value={kind}
          onChange={setKind}
          options={[
            ['cron', 'Cron expression'],
            ['every', 'Fixed interval'],
          ]}
        />
        {kind === 'cron' ? (
          <TextField label="Cron" value={cron} onInput={setCron} isMono required />
        ) : (
          <TextField label="Every so many seconds" type="number" value={seconds} onInput={setSeconds} required />
        )}
        <TextField label="Zone" value={zone} onInput={setZone} list={ZONES} required />
      </div>
      <TimingPreview timing={timing} />
      <div class="pair">
        <ChoiceField
          label="Missed slots"
          value={missed}
          onChange={setMissed}
          options={[
            ['one', 'make one job, for the latest'],
            ['all', 'make a job for each'],
            ['none', 'are skipped'],
          ]}
        />
        <ChoiceField
          label="While the previous job is not settled"
          value={overlap}
          onChange={setOverlap}
          options={[
            ['allow', 'make the next all the same'],
            ['skip', 'skip the slot'],
            ['queue-one', 'let one wait'],
          ]}
        />
      </div>
      <AreaField
        label="Params (JSON)"
        value={params}
        onInput={setParams}
        rows={4}
        wrong={read.wrong}
        hint="Over those of the template. Empty: none."
      />
    </FormDialog>
  )
}
