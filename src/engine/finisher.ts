import { decideRetry } from '../domain/retry.ts'
import type { Outcome } from '../domain/run.ts'
import { type Clock, delay } from '../platform/clock.ts'
import type { IdSource } from '../platform/ids.ts'
import type { Logger } from '../platform/logger.ts'
import type { Random } from '../platform/random.ts'
import type { NewJob } from '../store/jobs.ts'
import type { Claim, ClaimedJob, FinishedRun, FinishResult, RetryOrder, RunReport, RunStore } from '../store/runs.ts'
import { Batcher } from './batcher.ts'
import { describeThrown } from './isolation/sent-error.ts'
import { failure } from './outcome.ts'
import { EMPTY_REPORT } from './reporter.ts'

/** One Run that is to end. */
export interface Ending {
  readonly job: ClaimedJob
  readonly outcome: Outcome
  readonly vetoed: boolean
  readonly body: 'ended' | 'executing'
  readonly report: RunReport
  readonly followUps: readonly NewJob[]
}

export interface FinisherParts {
  readonly store: Pick<RunStore, 'finishRuns' | 'releaseOccupancies'>
  readonly clock: Clock
  readonly random: Random
  readonly newId: IdSource
  readonly logger: Logger
  readonly nodeId: string
}

const RETRY_WRITE_MS = 250

/** The only place where Runs end, whoever ended them: their body, a timeout, a cancellation, a shutdown, recovery. */
export class Finisher {
  readonly #parts: FinisherParts
  readonly #finishes: Batcher<FinishedRun, FinishResult>
  readonly #releases: Batcher<Claim, undefined>
  /** Runs whose end is being written. */
  readonly #finishing = new Set<string>()

  constructor(parts: FinisherParts) {
    this.#parts = parts
    this.#finishes = new Batcher((runs) => this.#writeFinishes(runs))
    this.#releases = new Batcher(async (claims) => {
      await this.#write(() => parts.store.releaseOccupancies(claims, parts.clock.now()))
      return claims.map(() => undefined)
    })
  }

  /** Writes an outcome together with everything that follows from it. */
  async finish(ending: Ending): Promise<FinishResult> {
    const { job } = ending
    const finishedAt = this.#parts.clock.now()
    this.#finishing.add(job.claim.runId)
    try {
      return await this.#finishes.add({
        job,
        by: this.#parts.nodeId,
        outcome: ending.outcome,
        finishedAt,
        retry: this.decideRetryOrder(job, ending.outcome, ending.vetoed, finishedAt),
        followUps: ending.followUps,
        report: ending.report,
        body: ending.body,
      })
    } finally {
      this.#finishing.delete(job.claim.runId)
    }
  }

  isFinishing(runId: string): boolean {
    return this.#finishing.has(runId)
  }

  /** The body of a Run whose outcome was written before has really ended. */
  async release(claim: Claim): Promise<void> {
    await this.#releases.add(claim)
  }

  decideRetryOrder(
    job: Pick<ClaimedJob, 'counts' | 'policy'>,
    outcome: Outcome,
    vetoed: boolean,
    now: number,
  ): RetryOrder | null {
    if (outcome.status !== 'FAILED') return null
    const decision = decideRetry({
      counts: job.counts,
      reason: outcome.reason,
      policy: job.policy.retry,
      vetoed,
      now,
      random: this.#parts.random.next(),
    })
    if (decision.kind === 'stop') return null
    return { jobId: this.#parts.newId(), runAt: decision.runAt, counts: decision.counts }
  }

  /** Nothing is pending, or the time is up: an outcome that cannot be written by then is left to recovery. */
  async drained(timeoutMs: number): Promise<void> {
    const drained = this.#finishes.drained().then(() => this.#releases.drained())
    await new Promise<void>((resolve) => {
      const timer = this.#parts.clock.after(timeoutMs, resolve)
      void drained.then(() => {
        timer.cancel()
        resolve()
      })
    })
  }

  /** All together; but one that cannot be written must not take the others with it. */
  async #writeFinishes(runs: readonly FinishedRun[]): Promise<readonly FinishResult[]> {
    try {
      return await this.#write(() => this.#parts.store.finishRuns(runs))
    } catch (error) {
      if (isClosed(error)) throw error
      return Promise.all(runs.map((run) => this.#writeAlone(run)))
    }
  }

  /** What the body reported or asked for may be what cannot be written. Then the Run fails, and says so. */
  async #writeAlone(run: FinishedRun): Promise<FinishResult> {
    const { store, logger } = this.#parts
    const finishOne = async (one: FinishedRun) => (await this.#write(() => store.finishRuns([one])))[0] as FinishResult
    try {
      return await finishOne(run)
    } catch (error) {
      if (isClosed(error)) throw error
      logger.error({ error, runId: run.job.claim.runId }, 'An outcome cannot be written; the run fails instead')
      const outcome = failure('error', `The outcome could not be written: ${describeThrown(error).message}`)
      return finishOne({ ...run, outcome, retry: null, followUps: [], report: EMPTY_REPORT })
    }
  }

  /**
   * The handler had its effect, so its outcome must be written, however long the store cannot: dropping it would run the
   * Job again. The very same finish is repeated; the store answers a repetition as it answered the first.
   */
  async #write<T>(write: () => Promise<T>): Promise<T> {
    for (let isLogged = false; ; isLogged = true) {
      try {
        return await write()
      } catch (error) {
        if (isPermanent(error)) throw error
        if (!isLogged) this.#parts.logger.error({ error }, 'An outcome cannot be written; trying until it can')
        await delay(this.#parts.clock, RETRY_WRITE_MS)
      }
    }
  }
}

function isClosed(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'closed'
}

/** Trying again cannot help: the store is closed, or the code is wrong. */
function isPermanent(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return !(code === 'store_busy' || code === 'storage_full' || code === 'database_unavailable')
}
