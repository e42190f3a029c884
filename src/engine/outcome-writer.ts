import type { Clock } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'
import { Batcher } from './batcher.ts'
import { insist, isBusy, isClosed, isPassing } from './insist.ts'
import { describeThrown } from './isolation/sent-error.ts'
import { type Failure, failure } from './outcome.ts'

export interface OutcomeWriterParts<End, Result> {
  readonly clock: Clock
  readonly logger: Logger
  readonly write: (ends: readonly End[]) => Promise<readonly Result[]>
  /** The same end with another outcome, and without what may be the reason that it cannot be written. */
  readonly instead: (end: End, outcome: Failure) => End
  readonly idOf: (end: End) => string
}

/**
 * Writes the outcomes of bodies. The handler had its effect, so its outcome must be written, however long the store cannot
 * take it: dropping it would run the Job again. The very same call is repeated; the store answers a repetition as it
 * answered the first.
 */
export class OutcomeWriter<End, Result> {
  readonly #parts: OutcomeWriterParts<End, Result>
  readonly #batcher: Batcher<End, Result>
  readonly #underWay = new Set<string>()
  #calls = 0

  constructor(parts: OutcomeWriterParts<End, Result>) {
    this.#parts = parts
    this.#batcher = new Batcher((ends) => this.#writeWhile(ends))
  }

  write(end: End): Promise<Result> {
    this.#underWay.add(this.#parts.idOf(end))
    return this.#batcher.add(end)
  }

  isWriting(id: string): boolean {
    return this.#underWay.has(id)
  }

  /** How many outcomes have no answer yet. */
  get size(): number {
    return this.#underWay.size
  }

  /** No call to the store is under way. Outcomes that it did not take may wait for their next try. */
  get isQuiet(): boolean {
    return this.#calls === 0
  }

  drained(): Promise<void> {
    return this.#batcher.drained()
  }

  async #writeWhile(ends: readonly End[]): Promise<readonly Result[]> {
    try {
      return await this.#writeAll(ends)
    } finally {
      for (const end of ends) this.#underWay.delete(this.#parts.idOf(end))
    }
  }

  /** All together; but one that cannot be written must not take the others with it. */
  async #writeAll(ends: readonly End[]): Promise<readonly Result[]> {
    try {
      return await this.#insist(ends)
    } catch (error) {
      if (isClosed(error)) throw error
      return Promise.all(ends.map((end) => this.#writeAlone(end)))
    }
  }

  /** What the body reported or asked for may be what cannot be written. Then it has failed, and says so. */
  async #writeAlone(end: End): Promise<Result> {
    try {
      return await this.#writeOne(end)
    } catch (error) {
      if (isClosed(error)) throw error
      const { logger, instead, idOf } = this.#parts
      logger.error({ error, runId: idOf(end) }, 'An outcome cannot be written; the run fails instead')
      const outcome = failure('error', `The outcome could not be written: ${describeThrown(error).message}`)
      return this.#writeOne(instead(end, outcome))
    }
  }

  async #writeOne(end: End): Promise<Result> {
    return (await this.#insist([end]))[0] as Result
  }

  #insist(ends: readonly End[]): Promise<readonly Result[]> {
    const { clock, logger } = this.#parts
    // Busy may be what only one of them needs: a row that somebody holds. Then the others do not wait for it.
    const helps = (error: unknown) => isPassing(error) && (ends.length === 1 || !isBusy(error))
    return insist(clock, logger, 'An outcome cannot be written; trying until it can', () => this.#call(ends), helps)
  }

  async #call(ends: readonly End[]): Promise<readonly Result[]> {
    this.#calls++
    try {
      return await this.#parts.write(ends)
    } finally {
      this.#calls--
    }
  }
}
