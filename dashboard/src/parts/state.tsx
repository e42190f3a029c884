import type { Job } from '../api/things.ts'
import { Icon, type IconName } from './icon.tsx'

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | 'wait' | 'none'

/** A state is told by its word, its shape and its colour, in this order of weight. */
export interface Look {
  readonly word: string
  readonly tone: Tone
  readonly icon: IconName
}

const HOLDS: Readonly<Record<NonNullable<Job['hold']>, Look>> = {
  delayed: { word: 'Delayed', tone: 'wait', icon: 'clock' },
  dependencies: { word: 'Waits for parents', tone: 'wait', icon: 'link' },
  group: { word: 'Waits in group', tone: 'wait', icon: 'link' },
  predecessor: { word: 'Waits for attempt', tone: 'wait', icon: 'link' },
  paused: { word: 'Paused', tone: 'warn', icon: 'pause' },
  signal: { word: 'Awaits signal', tone: 'wait', icon: 'pause' },
}

const WORDS: Readonly<Record<string, Look>> = {
  COMPLETED: { word: 'Completed', tone: 'good', icon: 'check' },
  FAILED: { word: 'Failed', tone: 'bad', icon: 'cross' },
  SKIPPED: { word: 'Skipped', tone: 'none', icon: 'skip' },
  CANCELLED: { word: 'Cancelled', tone: 'none', icon: 'slash' },
  RUNNING: { word: 'Running', tone: 'busy', icon: 'turn' },
  QUEUED: { word: 'Queued', tone: 'none', icon: 'ring' },
  CREATED: { word: 'Created', tone: 'none', icon: 'ring' },
  PARTIAL: { word: 'Partial', tone: 'warn', icon: 'warn' },
  WAITING: { word: 'Waiting', tone: 'wait', icon: 'clock' },
  RELEASED: { word: 'Released', tone: 'good', icon: 'check' },
  EXPIRED: { word: 'Expired', tone: 'bad', icon: 'clock' },
  PENDING: { word: 'Pending', tone: 'wait', icon: 'clock' },
  DELIVERED: { word: 'Delivered', tone: 'good', icon: 'check' },
  FINISHED: { word: 'Finished', tone: 'good', icon: 'check' },
  ABORTED: { word: 'Aborted', tone: 'none', icon: 'slash' },
}

export function lookOf(state: string): Look {
  return WORDS[state.toUpperCase()] ?? { word: state, tone: 'none', icon: 'ring' }
}

export function lookOfJob(job: Pick<Job, 'status' | 'hold' | 'outcome' | 'attempt' | 'cancel_requested_at'>): Look {
  if (job.status === 'QUEUED' && job.hold !== null) {
    return job.hold === 'delayed' && job.attempt > 1 ? { ...HOLDS.delayed, word: 'Retry waits' } : HOLDS[job.hold]
  }
  if (job.status === 'RUNNING' && job.cancel_requested_at !== null) {
    return { word: 'Cancelling', tone: 'warn', icon: 'turn' }
  }
  return lookOf(job.status === 'FINISHED' ? (job.outcome ?? 'FINISHED') : job.status)
}

export function Badge({ look }: { look: Look }) {
  return (
    <span class={`badge ${look.tone}`}>
      <Icon name={look.icon} turning={look.icon === 'turn'} />
      {look.word}
    </span>
  )
}

export function Tags({ tags }: { tags: readonly string[] }) {
  return (
    <span class="tags">
      {tags.map((tag) => (
        <span class="tag" key={tag} title={tag}>
          {tag}
        </span>
      ))}
    </span>
  )
}
