import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, Timer } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'
import { passFaultPoint } from '../store/fault-points.ts'
import type { NewJob } from '../store/jobs.ts'
import type { Claim, ClaimedJob, FinishResult, RunReport, RunStore } from '../store/runs.ts'
import type { Finisher } from './finisher.ts'
import type { Body, BodyEnd, InterruptCause } from './isolation/body.ts'
import { checkParams, type RegisteredType } from './job-type.ts'
import { failure, interruptedOutcome, outcomeOf } from './outcome.ts'
import { EMPTY_REPORT, Reporter } from './reporter.ts'

/** A finish or a result that came too late. Nothing was changed by it. */
export interface LateFinish {
  readonly claim: Omit<Claim, 'ref'>
  readonly type: string
  /** What the body did in the end, in words. */
  readonly ended: BodyEnd['kind']
}

export interface ExecutorParts {
  readonly store: Pick<RunStore, 'recordReports' | 'recordChild'>
  readonly finisher: Finisher
  readonly clock: Clock
  readonly logger: Logger
  readonly types: ReadonlyMap<string, RegisteredType>
  readonly logDirectory: string | null
  readonly prepareFollowUp: (type: string, params: unknown, options: unknown) => NewJob | Promise<NewJob>
  /** A body has really ended: its place is free. */
  readonly placeFreed: (type: string) => void
  readonly lateFinish: (late: LateFinish) => void
}

/** How often reports of bodies are written while they execute. */
const REPORT_EVERY_MS = 1_000

/** Executes claimed Jobs: one pipeline from claim to outcome, the same for every isolation and every way to end. */
export class Executor {
  readonly #parts: ExecutorParts
  readonly #executions = new Map<string, Execution>()
  readonly #unreported = new Set<Execution>()
  #reportTimer: Timer | null = null
  #idleWaiters: (() => void)[] = []

  constructor(parts: ExecutorParts) {
    this.#parts = parts
  }

  /** Bodies that execute here, also those whose outcome is known already. */
  get size(): number {
    return this.#executions.size
  }

  /** Whether code of a body still executes, not only the writing of what came of it. */
  get hasBodies(): boolean {
    return [...this.#executions.values()].some((execution) => !execution.isBodyOver)
  }

  isExecuting(runId: string): boolean {
    return this.#executions.has(runId)
  }

  /** The Jobs whose bodies execute here. */
  jobIds(): string[] {
    return [...this.#executions.values()].map((execution) => execution.job.claim.jobId)
  }

  /**
   * Starts a body and returns; everything else follows from its end. Each begins in a callback of its own, so that what
   * ends at once has ended before the next one begins: a body that blocks the event loop takes no time from the others.
   */
  start(job: ClaimedJob): void {
    const execution = new Execution(job)
    this.#executions.set(job.claim.runId, execution)
    setImmediate(() => void this.#execute(execution))
  }

  interrupt(runId: string, cause: InterruptCause): void {
    const execution = this.#executions.get(runId)
    if (execution !== undefined) this.#interrupt(execution, cause)
  }

  interruptAll(cause: InterruptCause): void {
    for (const execution of this.#executions.values()) this.#interrupt(execution, cause)
  }

  /** Resolves when no body executes here. */
  async idle(): Promise<void> {
    if (this.#executions.size > 0) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve))
  }

  async #execute(execution: Execution): Promise<void> {
    const { job } = execution
    const type = this.#parts.types.get(job.type) as RegisteredType
    try {
      const end = await this.#runBody(execution, type)
      execution.isBodyOver = true
      passFaultPoint('executor:body-ended')
      // The outcome is handed over before the place is free: a claim that follows must find its permits released.
      const concluded = this.#conclude(execution, type, end)
      // The occupancy of an interrupted body goes later than its outcome, and its place with it.
      if (execution.interruptWritten !== null) await concluded
      this.#leave(execution)
      await concluded
    } catch (error) {
      this.#leave(execution)
      // Only a closed store or a bug leads here. The Run stays open; recovery ends it when this process has ended.
      this.#parts.logger.error({ error, runId: job.claim.runId }, 'The outcome of a job could not be written')
    }
  }

  /** Never throws: whatever goes wrong around a body is the failure of that body, and the history tells it. */
  async #runBody(execution: Execution, type: RegisteredType): Promise<BodyEnd | 'invalid-params'> {
    try {
      const check = checkParams(type.schema, JSON.parse(execution.job.params))
      const params = check instanceof Promise ? await check : check
      if (params.kind === 'invalid') {
        execution.invalidParams = `Invalid params at \`${params.path}\`: ${params.message}`
        return 'invalid-params'
      }
      const { reporter, body } = await this.#startBody(execution, type, params.value)
      const end = await body.ended
      return reporter.hasUnsettledFollowUps ? await withFollowUps(end, reporter) : end
    } catch (error) {
      return { kind: 'threw', error, retryable: true, exitCode: null }
    }
  }

  async #startBody(
    execution: Execution,
    type: RegisteredType,
    params: unknown,
  ): Promise<{ readonly reporter: Reporter; readonly body: Body }> {
    const { job } = execution
    const { clock, store, prepareFollowUp } = this.#parts
    const logPath = type.hasLogFile ? await this.#prepareLogPath(job) : null
    const reporter = new Reporter(clock, prepareFollowUp, () => this.#report(execution))
    execution.reporter = reporter
    if (job.policy.timeoutMs !== null) {
      // From now on, not from the claim: waiting for the lock or for others is not the body's time.
      execution.deadlineAt = clock.now() + job.policy.timeoutMs
      execution.timer = clock.after(job.policy.timeoutMs, () => this.#interrupt(execution, 'timeout'))
    }
    const body = type.isolation.start({
      job,
      params,
      parents: {},
      reporter,
      killGraceMs: type.killGraceMs,
      logPath,
      recordChild: (child) => store.recordChild(job.claim, child, logPath),
    })
    execution.body = body
    if (execution.interruptedBy !== null) body.interrupt(execution.interruptedBy)
    return { reporter, body }
  }

  /** The outcome is known at this instant: it is written now, and the occupancy stays until the code has ended. */
  #interrupt(execution: Execution, cause: InterruptCause): void {
    if (execution.interruptedBy !== null || execution.hasEnded) return
    execution.interruptedBy = cause
    execution.timer?.cancel()
    execution.body?.interrupt(cause)
    const { job, reporter } = execution
    this.#unreported.delete(execution)
    execution.interruptWritten = this.#parts.finisher.finish({
      job,
      outcome: interruptedOutcome(cause, job.policy.timeoutMs),
      vetoed: false,
      body: 'executing',
      report: reporter?.take() ?? EMPTY_REPORT,
      followUps: [],
    })
    // Awaited when the body ends; until then a failure must not count as unhandled.
    execution.interruptWritten.catch(() => {})
  }

  /** The body has really ended: writes its outcome, or gives back what an interrupted one still held. */
  async #conclude(execution: Execution, type: RegisteredType, end: BodyEnd | 'invalid-params'): Promise<void> {
    const { job, reporter } = execution
    const { finisher, clock } = this.#parts
    if (execution.interruptWritten !== null) {
      // One after the other: a release counts only once the outcome is written, and that may take its time.
      await execution.interruptWritten
      await finisher.release(job.claim)
      // Lines that came after the outcome are too late; the store counts them.
      await this.#writeReports([execution])
      if (end !== 'invalid-params' && !answersAbort(end)) this.#reportLate(execution, end)
      return
    }
    // A body that blocked the event loop past its deadline ends before the timer could fire. Its time was up all the same.
    const isOverdue = execution.deadlineAt !== null && clock.now() >= execution.deadlineAt
    const outcome =
      end === 'invalid-params'
        ? failure('invalid-params', execution.invalidParams)
        : isOverdue
          ? interruptedOutcome('timeout', job.policy.timeoutMs)
          : outcomeOf(end)
    const result = await finisher.finish({
      job,
      outcome,
      vetoed: end !== 'invalid-params' && end.kind === 'threw' && !isOverdue && this.#isVetoed(type, job, end),
      body: 'ended',
      report: reporter?.take() ?? EMPTY_REPORT,
      followUps: reporter?.takeFollowUps() ?? [],
    })
    if (result.kind === 'already-finished' || isOverdue) {
      this.#reportLate(execution, end === 'invalid-params' ? { kind: 'died', message: '', exitCode: null } : end)
    }
    this.#reportDropped(job, result)
  }

  #isVetoed(type: RegisteredType, job: ClaimedJob, end: BodyEnd & { kind: 'threw' }): boolean {
    if (!end.retryable) return true
    if (type.shouldRetry === null) return false
    try {
      const answer: unknown = type.shouldRetry(end.error, { attempt: job.attempt })
      if (typeof answer === 'boolean') return !answer
      if (answer instanceof Promise) answer.catch(() => {})
      throw new TypeError(`Expected shouldRetry to return true or false, got ${typeof answer}.`)
    } catch (error) {
      this.#parts.logger.warn(
        { error, type: type.type },
        'shouldRetry failed to return true or false; the job is retried as its policy says',
      )
      return false
    }
  }

  #leave(execution: Execution): void {
    if (execution.hasEnded) return
    execution.hasEnded = true
    execution.timer?.cancel()
    this.#unreported.delete(execution)
    this.#executions.delete(execution.job.claim.runId)
    this.#parts.placeFreed(execution.job.type)
    if (this.#executions.size > 0) return
    this.#reportTimer?.cancel()
    this.#reportTimer = null
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }

  #reportLate(execution: Execution, end: BodyEnd): void {
    const { type, claim } = execution.job
    const { runId, jobId, nodeId } = claim
    this.#parts.lateFinish({ claim: { runId, jobId, nodeId }, type, ended: end.kind })
  }

  #reportDropped(job: ClaimedJob, result: FinishResult): void {
    if (result.kind !== 'finished') return
    for (const followUp of result.followUps) {
      if (followUp.kind !== 'dropped') continue
      this.#parts.logger.warn(
        { jobId: job.claim.jobId, followUp: followUp.jobId },
        'A follow-up was dropped because its key is taken; the job itself completed',
      )
    }
  }

  #report(execution: Execution): void {
    this.#unreported.add(execution)
    this.#reportTimer ??= this.#parts.clock.after(REPORT_EVERY_MS, () => {
      this.#reportTimer = null
      const executions = [...this.#unreported]
      this.#unreported.clear()
      void this.#writeReports(executions)
    })
  }

  async #writeReports(executions: readonly Execution[]): Promise<void> {
    const reports = executions
      .map(({ job, reporter }) => ({ claim: job.claim, report: reporter?.take() ?? EMPTY_REPORT }))
      .filter(({ report }) => report !== EMPTY_REPORT)
    if (reports.length === 0) return
    const { store, clock } = this.#parts
    try {
      await store.recordReports(reports, clock.now())
    } catch {
      // One of them cannot be written, or none. Each on its own, so that it is lost alone.
      await Promise.all(reports.map((report) => this.#writeReport(report)))
    }
  }

  async #writeReport(report: { readonly claim: Claim; readonly report: RunReport }): Promise<void> {
    try {
      await this.#parts.store.recordReports([report], this.#parts.clock.now())
    } catch (error) {
      // What a body says is worth less than the body: it goes on, and the loss is told.
      const { runId } = report.claim
      this.#parts.logger.warn({ error, runId }, 'Logs and progress could not be written and were dropped')
    }
  }

  async #prepareLogPath(job: ClaimedJob): Promise<string | null> {
    const { logDirectory } = this.#parts
    if (logDirectory === null) return null
    try {
      await mkdir(logDirectory, { recursive: true, mode: 0o700 })
    } catch (error) {
      this.#parts.logger.warn({ error, logDirectory }, 'The folder for log files cannot be made; output is not kept')
      return null
    }
    return join(logDirectory, `${job.claim.runId}.log`)
  }
}

/** It threw because its signal fired: that is how a body obeys, not a late end. */
function answersAbort(end: BodyEnd): boolean {
  if (end.kind !== 'threw') return false
  const name = end.error instanceof Error ? end.error.name : null
  return name === 'AbortError' || name === 'TimeoutError'
}

/** A body that returned while a follow-up it asked for was being checked: refused, it has failed. */
async function withFollowUps(end: BodyEnd, reporter: Reporter): Promise<BodyEnd> {
  try {
    await reporter.followUpsSettled()
    return end
  } catch (error) {
    return end.kind === 'returned' ? { kind: 'threw', error, retryable: true, exitCode: end.exitCode } : end
  }
}

/** One body from its claim to its real end. */
class Execution {
  readonly job: ClaimedJob
  reporter: Reporter | null = null
  body: Body | null = null
  timer: Timer | null = null
  deadlineAt: number | null = null
  interruptedBy: InterruptCause | null = null
  interruptWritten: Promise<FinishResult> | null = null
  invalidParams = ''
  isBodyOver = false
  hasEnded = false

  constructor(job: ClaimedJob) {
    this.job = job
  }
}
