import { RecentResults } from './recent-results.ts'
import { Throughput } from './throughput.ts'
import type { WatchEvent } from './watch-event.ts'

/** A body that executes right now. */
export interface RunningBody {
  readonly jobId: string
  readonly type: string
  readonly name: string | null
  readonly attempt: number
  readonly startedAt: number
  readonly isCancelRequested: boolean
  /** Null: it has not said how far it is. */
  readonly progress: ShownProgress | null
}

export interface ShownProgress {
  readonly fraction: number
  readonly message: string | null
}

export interface WaitingJob {
  readonly jobId: string
  readonly type: string
  readonly name: string | null
  readonly attempt: number
  readonly priority: number
  readonly hold: string | null
  readonly runAt: number
}

/** A direct execution that waits or executes. */
export interface ActiveDirect {
  readonly reservationId: string
  readonly type: string
  readonly status: 'WAITING' | 'RUNNING'
  readonly since: number
}

/** What the API said at one moment. */
export interface Snapshot {
  /** Those that claim. */
  readonly nodes: number
  /** `12`, or `10000+`. */
  readonly queueLength: string
  readonly running: readonly RunningBody[]
  readonly queue: readonly WaitingJob[]
  readonly directs: readonly ActiveDirect[]
}

export type Connection =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'connected' }
  | { readonly kind: 'lost'; readonly since: number; readonly message: string }

const NOTHING: Snapshot = { nodes: 0, queueLength: '0', running: [], queue: [], directs: [] }

/** So many bodies can tell how far they are; more than any screen shows. */
const PROGRESS_MAX = 1_000

/**
 * What the live view knows. Lists come from snapshots; events say that it is time for a new one, carry progress, and are
 * the results.
 */
export class WatchState {
  readonly recent = new RecentResults()
  readonly throughput = new Throughput()
  connection: Connection = { kind: 'connecting' }
  /** Of bodies that began later the events tell everything. */
  listeningSince = 0
  /** Something has happened since the last snapshot. */
  isStale = true
  #snapshot = NOTHING
  readonly #progress = new Map<string, ShownProgress>()

  get snapshot(): Snapshot {
    return this.#snapshot
  }

  adopt(snapshot: Snapshot): void {
    this.#snapshot = snapshot
    const running = new Set(snapshot.running.map(({ jobId }) => jobId))
    for (const jobId of this.#progress.keys()) if (!running.has(jobId)) this.#progress.delete(jobId)
  }

  /** What events told is newer than what a snapshot says. */
  progressOf(body: RunningBody): ShownProgress | null {
    return this.#progress.get(body.jobId) ?? body.progress
  }

  hear(event: WatchEvent, now: number): void {
    if (event.kind === 'run.progress') {
      if (event.progress !== null && this.#progress.size < PROGRESS_MAX) {
        this.#progress.set(event.jobId, { fraction: event.progress, message: event.message })
      }
      return
    }
    this.isStale = true
    if (event.kind === 'job.finished') this.throughput.count(now)
    if (event.kind === 'job.finished' || event.kind === 'job.cancelled') this.#end(event)
  }

  /** It goes from one list to the other at once; all else waits for the next snapshot. */
  #end(event: WatchEvent): void {
    const { running, queue } = this.#snapshot
    const isIt = ({ jobId }: { readonly jobId: string }): boolean => jobId === event.jobId
    const known = running.find(isIt) ?? queue.find(isIt)
    this.recent.add(event, known?.name ?? null)
    if (known === undefined) return
    const others = (job: { readonly jobId: string }): boolean => !isIt(job)
    this.#snapshot = { ...this.#snapshot, running: running.filter(others), queue: queue.filter(others) }
  }
}
