import { useRef, useState } from 'preact/hooks'
import type { Chain, Job, ListedRun } from '../api/things.ts'
import { shortId } from '../parts/copy.tsx'
import { durationWords } from '../parts/duration-words.ts'
import { Icon } from '../parts/icon.tsx'
import { Badge, lookOf, lookOfJob } from '../parts/state.tsx'
import { Ago, clockTime, now } from '../parts/time.tsx'
import { href } from '../route.ts'
import { around, lengthOf, type Phases, phasesOf, placeIn, type Stretch, ticksOf, wholeOf } from './timeline-window.ts'

const REASONS: Readonly<Record<string, string>> = {
  error: 'its handler threw',
  timeout: 'it took too long',
  crash: 'its process died; recovery ended it',
  shutdown: 'its process was stopped',
  cancelled: 'it was aborted',
  'invalid-params': 'its params were not valid',
  'unserialisable-result': 'its result cannot be stored',
  'result-too-large': 'its result is too large',
}

interface Props {
  readonly chain: Chain
  readonly runs: ReadonlyMap<string, ListedRun>
  readonly currentId: string
  readonly nodeNames: ReadonlyMap<string, string>
}

/** Dragged over less than this share, it was a click. */
const DRAG_MIN = 0.02

/**
 * The chain from its first attempt to its last, all on one clock: how long each was delayed, waited and ran, and what came of
 * it. Dragging over it, or the button of an attempt, brings a part nearer.
 */
export function JobTimeline({ chain, runs, currentId, nodeNames }: Props) {
  const [zoomed, setZoomed] = useState<Stretch | null>(null)
  const whole = wholeOf(chain, now.value)
  const window = zoomed ?? whole
  return (
    <div class="card-body stack tight">
      <Axis window={window} whole={whole} onZoom={setZoomed} isZoomed={zoomed !== null} />
      <ol class="timeline">
        {chain.items.map((job) => (
          <Attempt
            job={job}
            run={runs.get(job.job_id)}
            node={nodeNames.get(runs.get(job.job_id)?.node ?? '')}
            isHere={job.job_id === currentId}
            window={window}
            onZoom={(stretch) => setZoomed(around(stretch, whole))}
            onDrag={setZoomed}
            key={job.job_id}
          />
        ))}
      </ol>
    </div>
  )
}

interface AxisProps {
  readonly window: Stretch
  readonly whole: Stretch
  readonly isZoomed: boolean
  readonly onZoom: (window: Stretch | null) => void
}

function Axis({ window, whole, isZoomed, onZoom }: AxisProps) {
  const middle = (window.from + window.to) / 2
  const half = lengthOf(window) / 4
  return (
    <>
      <div class="row spread">
        <span class="legend">
          <span class="key delayed">delayed</span>
          <span class="key waited">waits for a place</span>
          <span class="key busy">runs</span>
        </span>
        <span class="row keep tight">
          <button
            type="button"
            class="button slim square"
            aria-label="Zoom in"
            title="Zoom in. Dragging over the bars does so too"
            onClick={() => onZoom({ from: middle - half, to: middle + half })}
          >
            <Icon name="plus" />
          </button>
          <button type="button" class="button slim" disabled={!isZoomed} onClick={() => onZoom(null)}>
            Whole chain
          </button>
        </span>
      </div>
      <div class="axis" aria-hidden="true">
        {ticksOf(window, whole).map((at) => (
          <span
            key={at}
            style={{ left: `${(100 * (at + whole.from - window.from)) / Math.max(1, lengthOf(window))}%` }}
          >
            {at === 0 ? '0' : durationWords(at)}
          </span>
        ))}
      </div>
    </>
  )
}

interface AttemptProps {
  readonly job: Job
  readonly run: ListedRun | undefined
  readonly node: string | undefined
  readonly isHere: boolean
  readonly window: Stretch
  readonly onZoom: (stretch: Stretch) => void
  readonly onDrag: (window: Stretch) => void
}

function Attempt({ job, run, node, isHere, window, onZoom, onDrag }: AttemptProps) {
  const look = lookOfJob(job)
  const phases = phasesOf(job, now.value)
  const words = wordsOf(phases)
  return (
    <li class={isHere ? 'attempt here' : 'attempt'}>
      <span class={`mark tone-${look.tone}`}>
        <Icon name={look.icon} />
      </span>
      <div class="what">
        <div class="row">
          {isHere ? <span>Attempt {job.attempt}</span> : <a href={href('jobs', job.job_id)}>Attempt {job.attempt}</a>}
          <Badge look={run?.reason === 'crash' ? { ...lookOf('FAILED'), word: 'Crashed' } : look} />
          {isHere && <span class="tag">this job</span>}
          <span class="faint small">
            {clockTime(job.queued_at)} · <Ago at={job.queued_at} />
          </span>
          <button
            type="button"
            class="button plain slim square"
            aria-label={`Zoom to attempt ${job.attempt}`}
            title="Zoom to this attempt"
            onClick={() => onZoom({ from: phases.waited.from, to: (phases.ran ?? phases.waited).to })}
          >
            <Icon name="search" />
          </button>
        </div>
        <Spans phases={phases} tone={job.finished_at === null ? 'busy' : look.tone} window={window} onDrag={onDrag} />
        <div class="small soft">
          {words}
          {run && ` on ${node ?? shortId(run.node)}`}
          {run?.reason && ` · ${REASONS[run.reason] ?? run.reason}`}
          {job.cancel_reason !== null && ` · ${job.cancel_reason}`}
        </div>
        {run?.error && <div class="small tone-bad clip">{run.error}</div>}
      </div>
    </li>
  )
}

function wordsOf({ delayed, waited, ran }: Phases): string {
  return [
    ...(lengthOf(delayed) > 0 ? [`delayed ${durationWords(lengthOf(delayed))}`] : []),
    `waited ${durationWords(lengthOf(waited))}`,
    ...(ran === null ? [] : [`ran ${durationWords(lengthOf(ran))}`]),
  ].join(' · ')
}

interface SpansProps {
  readonly phases: Phases
  readonly tone: string
  readonly window: Stretch
  readonly onDrag: (window: Stretch) => void
}

function Spans({ phases, tone, window, onDrag }: SpansProps) {
  const begun = useRef<number | null>(null)
  const [marked, setMarked] = useState<readonly [number, number] | null>(null)
  const shareOf = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as HTMLElement).getBoundingClientRect()
    return Math.min(1, Math.max(0, (event.clientX - left) / Math.max(1, width)))
  }
  const end = () => {
    begun.current = null
    setMarked(null)
  }
  const bars: readonly (readonly [string, Stretch | null])[] = [
    ['delayed', phases.delayed],
    ['waited', phases.waited],
    [`ran-${tone}`, phases.ran],
  ]
  return (
    <div
      class="spans"
      role="img"
      aria-label={wordsOf(phases)}
      onPointerDown={(event) => {
        begun.current = shareOf(event)
        event.currentTarget.setPointerCapture(event.pointerId)
      }}
      onPointerMove={(event) => {
        if (begun.current === null) return
        const at = shareOf(event)
        setMarked([Math.min(begun.current, at), Math.max(begun.current, at)])
      }}
      onPointerUp={() => {
        if (marked !== null && marked[1] - marked[0] > DRAG_MIN) {
          const length = lengthOf(window)
          onDrag({ from: window.from + marked[0] * length, to: window.from + marked[1] * length })
        }
        end()
      }}
      onPointerCancel={end}
    >
      {bars.map(([name, stretch]) => {
        const place = stretch && placeIn(window, stretch)
        return (
          place && (
            <div class={`span ${name}`} style={{ left: `${place.left}%`, width: `${place.width}%` }} key={name} />
          )
        )
      })}
      {marked !== null && (
        <div class="marked" style={{ left: `${marked[0] * 100}%`, width: `${(marked[1] - marked[0]) * 100}%` }} />
      )}
    </div>
  )
}
