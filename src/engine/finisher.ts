import { decideRetry } from '../domain/retry.ts'
import type { Outcome } from '../domain/run.ts'
import type { Clock } from '../platform/clock.ts'
import type { IdSource } from '../platform/ids.ts'
import type { Logger } from '../platform/logger.ts'
import type { Random } from '../platform/random.ts'
import type { NewJob } from '../store/jobs.ts'
import type {
  ClaimedTicket,
  DirectClaim,
  DirectFinishResult,
  FinishedDirectRun,
  ReservationStore,
} from '../store/reservations.ts'
import type { Claim, ClaimedJob, FinishedRun, FinishResult, RetryOrder, RunReport, RunStore } from '../store/runs.ts'
import { Batcher } from './batcher.ts'
import { insist } from './insist.ts'
import { OutcomeWriter } from './outcome-writer.ts'
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

/** One direct execution that is to end. */
export interface DirectEnding {
  readonly ticket: ClaimedTicket
  readonly outcome: Outcome
  readonly body: 'ended' | 'executing'
  readonly followUps: readonly NewJob[]
}

export interface FinisherParts {
  readonly store: Pick<RunStore, 'finishRuns' | 'releaseOccupancies'> &
    Pick<ReservationStore, 'finishDirectRuns' | 'releaseDirectOccupancies'>
  readonly clock: Clock
  readonly random: Random
  readonly newId: IdSource
  readonly logger: Logger
  readonly nodeId: string
}

/** The only place where bodies get their outcomes, whoever ended them: itself, a timeout, a cancellation, a shutdown, recovery. */
export class Finisher {
  readonly #parts: FinisherParts
  readonly #runs: OutcomeWriter<FinishedRun, FinishResult>
  readonly #directRuns: OutcomeWriter<FinishedDirectRun, DirectFinishResult>
  readonly #releases: Batcher<Claim, undefined>
  readonly #directReleases: Batcher<DirectClaim, undefined>

  constructor(parts: FinisherParts) {
    const { store, clock, logger, newId } = parts
    this.#parts = parts
    this.#runs = new OutcomeWriter({
      clock,
      logger,
      write: (runs) => store.finishRuns(runs, newId),
      instead: (run, outcome) => ({ ...run, outcome, retry: null, followUps: [], report: EMPTY_REPORT }),
      idOf: ({ job }) => job.claim.runId,
    })
    this.#directRuns = new OutcomeWriter({
      clock,
      logger,
      write: (runs) => store.finishDirectRuns(runs),
      instead: (run, outcome) => ({ ...run, outcome, followUps: [] }),
      idOf: ({ ticket }) => ticket.claim.reservationId,
    })
    this.#releases = this.#releaser((claims: readonly Claim[]) => store.releaseOccupancies(claims, clock.now()))
    this.#directReleases = this.#releaser((claims: readonly DirectClaim[]) =>
      store.releaseDirectOccupancies(claims, clock.now()),
    )
  }

  /** Writes an outcome together with everything that follows from it. */
  finish({ job, outcome, vetoed, body, report, followUps }: Ending): Promise<FinishResult> {
    const finishedAt = this.#parts.clock.now()
    const retry = this.decideRetryOrder(job, outcome, vetoed, finishedAt)
    return this.#runs.write({ job, by: this.#parts.nodeId, outcome, finishedAt, retry, followUps, report, body })
  }

  /** The same for a direct execution. Whatever came of it, nothing follows but what it asked for itself. */
  finishDirect(ending: DirectEnding): Promise<DirectFinishResult> {
    return this.#directRuns.write({ ...ending, finishedAt: this.#parts.clock.now() })
  }

  /** By the id of a Run, or of a reservation. */
  isFinishing(id: string): boolean {
    return this.#runs.isWriting(id) || this.#directRuns.isWriting(id)
  }

  /** How many outcomes the store has not taken yet. */
  get size(): number {
    return this.#runs.size + this.#directRuns.size
  }

  /** No outcome is on its way to the store. One that it did not take may wait for its next try. */
  get isQuiet(): boolean {
    return this.#runs.isQuiet && this.#directRuns.isQuiet
  }

  /** The body of a Run whose outcome was written before has really ended. */
  async release(claim: Claim): Promise<void> {
    await this.#releases.add(claim)
  }

  async releaseDirect(claim: DirectClaim): Promise<void> {
    await this.#directReleases.add(claim)
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
    const outcomes = Promise.all([this.#runs.drained(), this.#directRuns.drained()])
    const drained = outcomes.then(() => Promise.all([this.#releases.drained(), this.#directReleases.drained()]))
    await new Promise<void>((resolve) => {
      const timer = this.#parts.clock.after(timeoutMs, resolve)
      void drained.then(() => {
        timer.cancel()
        resolve()
      })
    })
  }

  #releaser<Right>(release: (rights: readonly Right[]) => Promise<void>): Batcher<Right, undefined> {
    const { clock, logger } = this.#parts
    return new Batcher(async (rights: readonly Right[]) => {
      await insist(clock, logger, 'The end of a body cannot be written; trying until it can', () => release(rights))
      return rights.map(() => undefined)
    })
  }
}
