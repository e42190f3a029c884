import { Histogram, type Registry } from 'prom-client'
import type { OperationContext } from '../../operations/context.ts'
import type { Timer } from '../../platform/clock.ts'
import type { Logger } from '../../platform/logger.ts'
import type { Transition } from '../../store/events.ts'
import type { FollowedTail, SharedTail } from './shared-tail.ts'

/** Runs whose start is remembered until their end. */
const STARTED_MAX = 100_000

/** Jobs per second that are looked up for how long they waited. Looking at each would slow down a busy store. */
const WAITS_PER_SECOND = 100

export interface JobTimesParts {
  readonly context: OperationContext
  readonly tail: SharedTail
  readonly logger: Logger
  readonly registry: Registry
}

/** Types that have figures of their own. Whoever may enqueue any type could make up more without end. */
const TYPES_MAX = 200

const SECONDS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600]

/**
 * How long Jobs wait and Runs take, watched as it happens, in whatever process. It begins with the first scrape: nobody
 * reads events for a figure that nobody looks at.
 */
export class JobTimes {
  readonly #parts: JobTimesParts
  readonly #runs: Histogram<'job_type' | 'status'>
  readonly #waits: Histogram<'job_type'>
  readonly #startedAt = new Map<string, number>()
  readonly #types = new Set<string>()
  #looked: { readonly jobId: string; readonly at: number }[] = []
  #followed: Promise<FollowedTail> | null = null
  #lookTimer: Timer | null = null
  #isClosed = false

  constructor(parts: JobTimesParts) {
    this.#parts = parts
    const registers = [parts.registry]
    this.#runs = new Histogram({
      name: 'pawl_run_duration_seconds',
      help: 'How long runs took, of those that began and ended since the first scrape.',
      labelNames: ['job_type', 'status'],
      buckets: SECONDS,
      registers,
    })
    this.#waits = new Histogram({
      name: 'pawl_job_wait_seconds',
      help: `How long after their run_at jobs started, since the first scrape; of more than ${WAITS_PER_SECOND} a second, some.`,
      labelNames: ['job_type'],
      buckets: SECONDS,
      registers,
    })
  }

  /** From when this resolves it misses nothing. */
  async begin(): Promise<void> {
    if (this.#followed !== null || this.#isClosed) return
    this.#followed = this.#parts.tail.follow()
    try {
      void this.#watch(await this.#followed)
    } catch (error) {
      this.#followed = null
      throw error
    }
  }

  close(): void {
    this.#isClosed = true
    this.#lookTimer?.cancel()
    void this.#followed?.then(({ leave }) => leave()).catch(() => {})
  }

  async #watch({ tail }: FollowedTail): Promise<void> {
    try {
      for (let seq = tail.lastSeq; !this.#isClosed; ) {
        const rows = await tail.after(seq)
        for (const row of rows) {
          for (const transition of row.transitions) this.#hear(transition)
          seq = row.seq
        }
        if (rows.length === 0 && tail.lastSeq <= seq) await new Promise<void>((resolve) => void tail.onNews(resolve))
      }
    } catch (error) {
      if (!this.#isClosed) this.#parts.logger.warn({ error }, 'The times of jobs cannot be watched any more')
    }
  }

  #hear({ kind, jobId, type, outcome, at }: Transition): void {
    if (kind === 'job.started') {
      if (this.#startedAt.size < STARTED_MAX) this.#startedAt.set(jobId, at)
      this.#lookUp(jobId, at)
    } else if (outcome !== null && (kind === 'job.finished' || kind === 'job.cancelled')) {
      const startedAt = this.#startedAt.get(jobId)
      if (startedAt === undefined) return
      this.#startedAt.delete(jobId)
      this.#runs.observe({ job_type: this.#labelOf(type), status: outcome }, seconds(at - startedAt))
    }
  }

  #labelOf(type: string): string {
    if (this.#types.size < TYPES_MAX) this.#types.add(type)
    return this.#types.has(type) ? type : 'other'
  }

  #lookUp(jobId: string, at: number): void {
    if (this.#looked.length < WAITS_PER_SECOND) this.#looked.push({ jobId, at })
    this.#lookTimer ??= this.#parts.context.clock.after(
      1_000,
      () => {
        this.#lookTimer = null
        void this.#look(this.#looked.splice(0))
      },
      'poll',
    )
  }

  async #look(started: readonly { readonly jobId: string; readonly at: number }[]): Promise<void> {
    const { store, clock } = this.#parts.context
    try {
      for (const { jobId, at } of started) {
        const job = await store.findJob(jobId, clock.now())
        if (job !== null) this.#waits.observe({ job_type: this.#labelOf(job.type) }, seconds(at - job.runAt))
      }
    } catch (error) {
      if (!this.#isClosed) this.#parts.logger.warn({ error }, 'Some waits of jobs could not be read')
    }
  }
}

function seconds(ms: number): number {
  return Math.max(0, ms) / 1_000
}
