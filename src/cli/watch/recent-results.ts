import type { WatchEvent } from './watch-event.ts'

/** A Job that has ended. What only its Run knows comes later. */
export interface RecentResult {
  readonly jobId: string
  readonly runId: string | null
  readonly type: string
  readonly name: string | null
  readonly attempt: number | null
  /** COMPLETED, FAILED, SKIPPED or CANCELLED. */
  readonly outcome: string
  readonly reason: string | null
  readonly at: string
  readonly details: ResultDetails | null
}

export interface ResultDetails {
  readonly durationMs: number | null
  readonly error: string | null
}

const KEPT_MAX = 100

/** The latest results, newest first. */
export class RecentResults {
  #results: RecentResult[] = []

  add(event: WatchEvent, name: string | null): void {
    const { jobId, runId, type, attempt, at } = event
    const isCancelled = event.kind === 'job.cancelled'
    this.put({
      jobId,
      runId,
      type,
      name,
      attempt,
      outcome: isCancelled ? 'CANCELLED' : (event.outcome ?? 'FINISHED'),
      reason: isCancelled ? null : event.reason,
      at,
      details: null,
    })
  }

  /** A Job ends once: who tells it again is right if he knows more. */
  put(result: RecentResult): void {
    const others = this.#results.filter(({ jobId }) => jobId !== result.jobId)
    this.#results = [result, ...others].sort((a, b) => b.at.localeCompare(a.at)).slice(0, KEPT_MAX)
  }

  describe(jobId: string, name: string | null, details: ResultDetails): void {
    this.#results = this.#results.map((result) =>
      result.jobId === jobId ? { ...result, name: name ?? result.name, details } : result,
    )
  }

  latest(count: number): readonly RecentResult[] {
    return this.#results.slice(0, count)
  }
}
