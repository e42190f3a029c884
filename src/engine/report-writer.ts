import type { Clock, Timer } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'
import type { Claim, RunReport, RunStore } from '../store/runs.ts'
import { EMPTY_REPORT, type Reporter } from './reporter.ts'

/** How often reports of bodies are written while they execute. */
const REPORT_EVERY_MS = 1_000

/** Writes what the bodies of Jobs report, for all of them together and about once a second. */
export class ReportWriter {
  readonly #store: Pick<RunStore, 'recordReports'>
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #unwritten = new Map<Reporter, Claim>()
  #timer: Timer | null = null

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

  /** Lines that came after the outcome are too late; the store counts them. */
  async writeLate(reporter: Reporter, claim: Claim): Promise<void> {
    this.#unwritten.delete(reporter)
    await this.#write([[reporter, claim]])
  }

  async #write(changed: readonly (readonly [Reporter, Claim])[]): Promise<void> {
    const reports = changed
      .map(([reporter, claim]) => ({ claim, report: reporter.take() }))
      .filter(({ report }) => report !== EMPTY_REPORT)
    if (reports.length === 0) return
    try {
      await this.#store.recordReports(reports, this.#clock.now())
    } catch {
      // One of them cannot be written, or none. Each on its own, so that it is lost alone.
      await Promise.all(reports.map((report) => this.#writeAlone(report)))
    }
  }

  async #writeAlone(report: { readonly claim: Claim; readonly report: RunReport }): Promise<void> {
    try {
      await this.#store.recordReports([report], this.#clock.now())
    } catch (error) {
      // What a body says is worth less than the body: it goes on, and the loss is told.
      const { runId } = report.claim
      this.#logger.warn({ error, runId }, 'Logs and progress could not be written and were dropped')
    }
  }
}
