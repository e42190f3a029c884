import type { JsonValue } from '../domain/json.ts'
import type { Clock } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'
import type { JobStore, NewJob } from '../store/jobs.ts'
import type { ChildIdentity, Claim, ClaimedJob, RunReport, RunStore } from '../store/runs.ts'
import type { Finisher } from './finisher.ts'
import { insist } from './insist.ts'
import type { BodyEnd, BodyIdentity, Parents } from './isolation/body.ts'
import type { RegisteredType } from './job-type.ts'
import type { ReportWriter } from './report-writer.ts'
import { EMPTY_REPORT, Reporter } from './reporter.ts'
import { CHILD_COMPLAINT, NO_PARENTS, type Work, type WorkEnd, type WorkResult } from './work.ts'

/** A finish or a result that came too late. Nothing was changed by it. */
export interface LateFinish {
  readonly claim: Omit<Claim, 'ref'>
  readonly type: string
  /** What the body did in the end, in words. */
  readonly ended: BodyEnd['kind']
}

export interface JobWorkParts {
  readonly store: Pick<RunStore, 'recordChild'> & Pick<JobStore, 'findParentResults'>
  readonly finisher: Finisher
  readonly reports: ReportWriter
  readonly clock: Clock
  readonly logger: Logger
  readonly types: ReadonlyMap<string, RegisteredType>
  readonly prepareFollowUp: (type: string, params: unknown, options: unknown) => NewJob | Promise<NewJob>
  readonly lateFinish: (late: LateFinish) => void
}

/** A claimed Job: its Run tells what came of it, and its retries follow. */
export class JobWork implements Work {
  readonly kind = 'job'
  readonly identity: BodyIdentity
  readonly keepsOutput = true
  readonly #job: ClaimedJob
  readonly #parts: JobWorkParts
  #reporter: Reporter | null = null

  constructor(job: ClaimedJob, parts: JobWorkParts) {
    const { type, chainId, attempt } = job
    const { jobId, runId } = job.claim
    this.identity = { type, jobId, chainId, runId, attempt }
    this.#job = job
    this.#parts = parts
  }

  get params(): string {
    return this.#job.params
  }

  get policy(): ClaimedJob['policy'] {
    return this.#job.policy
  }

  findParents(): Parents | Promise<Parents> {
    return this.#job.hasParents ? this.#readParents() : NO_PARENTS
  }

  async #readParents(): Promise<Parents> {
    const { store, clock, logger } = this.#parts
    const complaint = 'The results of a job’s parents cannot be read; trying until they can'
    const results = await insist(clock, logger, complaint, () => store.findParentResults(this.identity.jobId))
    return Object.fromEntries([...results].map(([id, text]) => [id, JSON.parse(text ?? 'null') as JsonValue]))
  }

  openReporter(): Reporter {
    const { clock, prepareFollowUp, reports } = this.#parts
    const reporter = new Reporter(clock, prepareFollowUp, () => reports.noteChanged(reporter, this.#job.claim))
    this.#reporter = reporter
    return reporter
  }

  recordChild(child: ChildIdentity, logPath: string | null): Promise<'recorded' | 'late'> {
    const { store, clock, logger } = this.#parts
    return insist(clock, logger, CHILD_COMPLAINT, () => store.recordChild(this.#job.claim, child, logPath))
  }

  get isReporting(): boolean {
    return this.#reportUnderWay() !== null
  }

  /** After what the body has reported so far: behind the outcome it would be too late, and dropped. */
  finish(end: WorkEnd): Promise<WorkResult> {
    const reported = this.#reportUnderWay()
    return reported === null ? this.#finish(end) : reported.then(() => this.#finish(end))
  }

  #reportUnderWay(): Promise<void> | null {
    return this.#reporter === null ? null : this.#parts.reports.underWay(this.#reporter)
  }

  #finish({ outcome, thrown, body, followUps }: WorkEnd): Promise<WorkResult> {
    const vetoed = thrown !== null && this.#isVetoed(thrown)
    return this.#parts.finisher.finish({ job: this.#job, outcome, vetoed, body, report: this.#takeReport(), followUps })
  }

  async release(): Promise<void> {
    const { claim } = this.#job
    await this.#parts.finisher.release(claim)
    if (this.#reporter !== null) await this.#parts.reports.writeLate(this.#reporter, claim)
  }

  tellLate(ended: BodyEnd['kind']): void {
    const { type, claim } = this.#job
    const { runId, jobId, nodeId } = claim
    this.#parts.lateFinish({ claim: { runId, jobId, nodeId }, type, ended })
  }

  #takeReport(): RunReport {
    return this.#reporter === null ? EMPTY_REPORT : this.#parts.reports.takeRest(this.#reporter)
  }

  #isVetoed({ retryable, error: thrown }: BodyEnd & { kind: 'threw' }): boolean {
    if (!retryable) return true
    const { types, logger } = this.#parts
    const { type, attempt } = this.identity
    const shouldRetry = types.get(type)?.shouldRetry ?? null
    if (shouldRetry === null) return false
    try {
      const answer: unknown = shouldRetry(thrown, { attempt })
      if (typeof answer === 'boolean') return !answer
      if (answer instanceof Promise) answer.catch(() => {})
      throw new TypeError(`Expected shouldRetry to return true or false, got ${typeof answer}.`)
    } catch (error) {
      logger.warn({ error, type }, 'shouldRetry failed to return true or false; the job is retried as its policy says')
      return false
    }
  }
}
