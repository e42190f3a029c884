import type { Clock, Timer } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'
import type { Claim, RunReport, RunStore } from '../store/runs.ts'
import { isPassing } from './insist.ts'
import { EMPTY_REPORT, type Reporter } from './reporter.ts'

/** How often reports of bodies are written while they execute. */
const REPORT_EVERY_MS = 1_000

interface TakenReport {
  readonly reporter: Reporter
  readonly claim: Claim
  readonly report: RunReport
}

/** Writes what the bodies of Jobs report, for all of them together and about once a second. */
export class ReportWriter {
  readonly #store: Pick<RunStore, 'recordReports'>
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #unwritten = new Map<Reporter, Claim>()
  readonly #underWay = new Map<Reporter, Promise<void>>()
  #timer: Timer | null = null
  #isFailing = false

  constructor(store: Pick<RunStore, 'recordReports'>, clock: Clock, logger: Logger) {
    this.#store = store
    this.#clock = clock
    this.#logger = logger
  }

  /** A body has said something. */
  noteChanged(reporter: Reporter, claim: Claim): void {
    this.#unwritten.set(reporter, claim)
    this.#timer ??= this.#clock.after(REPORT_EVERY_MS, () => {
      this.#timer = null
      const changed = [...this.#unwritten]
      this.#unwritten.clear()
      void this.#write(changed)
    })
  }

  /** What a body has said and nobody has written, for the outcome that is written now. */
  takeRest(reporter: Reporter): RunReport {
    this.#unwritten.delete(reporter)
    if (this.#unwritten.size === 0) {
      this.#timer?.cancel()
      this.#timer = null
    }
    return reporter.take()
  }

  /** Resolves when what is being written of this body is written, or has been put back. Null: nothing is. */
  underWay(reporter: Reporter): Promise<void> | null {
    return this.#underWay.get(reporter) ?? null
  }

  /** Lines that came after the outcome are too late; the store counts them. */
  async writeLate(reporter: Reporter, claim: Claim): Promise<void> {
    this.#unwritten.delete(reporter)
    await this.#write([[reporter, claim]])
  }

  async #write(changed: readonly (readonly [Reporter, Claim])[]): Promise<void> {
    const taken: TakenReport[] = []
    for (const [reporter, claim] of changed) {
      // One after the other, or its lines could change places.
      if (this.#underWay.has(reporter)) this.noteChanged(reporter, claim)
      else {
        const report = reporter.take()
        if (report !== EMPTY_REPORT) taken.push({ reporter, claim, report })
      }
    }
    if (taken.length === 0) return
    const writing = this.#writeAll(taken)
    for (const { reporter } of taken) this.#underWay.set(reporter, writing)
    await writing
    for (const { reporter } of taken) this.#underWay.delete(reporter)
  }

  async #writeAll(taken: readonly TakenReport[]): Promise<void> {
    try {
      await this.#record(taken)
    } catch (error) {
      if (isPassing(error)) return this.#putBack(taken, error)
      // One of them cannot be written, or none. Each on its own, so that it is lost alone.
      await Promise.all(taken.map((one) => this.#writeAlone(one)))
    }
  }

  async #writeAlone(taken: TakenReport): Promise<void> {
    try {
      await this.#record([taken])
    } catch (error) {
      if (isPassing(error)) return this.#putBack([taken], error)
      // What a body says is worth less than the body: it goes on, and the loss is told.
      const { runId } = taken.claim
      this.#logger.warn({ error, runId }, 'Logs and progress could not be written and were dropped')
    }
  }

  async #record(taken: readonly TakenReport[]): Promise<void> {
    const reports = taken.map(({ claim, report }) => ({ claim, report }))
    await this.#store.recordReports(reports, this.#clock.now())
    this.#isFailing = false
  }

  /** They come with the next ones, or with the outcome. */
  #putBack(taken: readonly TakenReport[], error: unknown): void {
    if (!this.#isFailing) this.#logger.warn({ error }, 'Logs and progress cannot be written; trying until they can')
    this.#isFailing = true
    for (const { reporter, claim, report } of taken) {
      reporter.putBack(report)
      this.noteChanged(reporter, claim)
    }
  }
}
