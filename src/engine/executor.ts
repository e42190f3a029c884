import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, Timer } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'
import { passFaultPoint } from '../store/fault-points.ts'
import type { NewJob } from '../store/jobs.ts'
import type { Body, BodyEnd, BodyRequest, InterruptCause } from './isolation/body.ts'
import { interruptReason } from './isolation/host-context.ts'
import { checkParams, type RegisteredType } from './job-type.ts'
import { failure, interruptedOutcome, outcomeOf } from './outcome.ts'
import type { Reporter } from './reporter.ts'
import type { Work, WorkResult } from './work.ts'

export type { LateFinish } from './job-work.ts'

export interface ExecutorParts {
  readonly clock: Clock
  readonly logger: Logger
  readonly types: ReadonlyMap<string, RegisteredType>
  readonly logDirectory: string | null
  /** A body has really ended: its place is free. */
  readonly placeFreed: (type: string) => void
}

/** Executes claimed work: one pipeline from claim to outcome, the same for every isolation and every way to end. */
export class Executor {
  readonly #parts: ExecutorParts
  readonly #executions = new Map<string, Execution>()
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

  /** By the id of a Run, or of a reservation. */
  isExecuting(runId: string): boolean {
    return this.#executions.has(runId)
  }

  /** The Runs and reservations whose bodies execute here. */
  get runIds(): string[] {
    return [...this.#executions.keys()]
  }

  /** The Jobs, or the reservations, whose bodies execute here. */
  idsOf(kind: Work['kind']): string[] {
    return [...this.#executions.values()]
      .filter(({ work }) => work.kind === kind)
      .map(({ work }) => work.identity.jobId)
  }

  /**
   * Starts a body and returns; everything else follows from its end. Each begins in a callback of its own, so that what
   * ends at once has ended before the next one begins: a body that blocks the event loop takes no time from the others.
   */
  start(work: Work): void {
    const execution = new Execution(work)
    this.#executions.set(work.identity.runId, execution)
    setImmediate(() => void this.#execute(execution))
  }

  /** False: it has ended, or was interrupted before. */
  interrupt(runId: string, cause: InterruptCause): boolean {
    const execution = this.#executions.get(runId)
    return execution !== undefined && this.#interrupt(execution, cause)
  }

  interruptAll(cause: InterruptCause): void {
    for (const execution of this.#executions.values()) this.#interrupt(execution, cause)
  }

  /** Interrupts the bodies that hold resources, which nobody else may hold at the same time. Answers how many there were. */
  interruptHolders(cause: InterruptCause): number {
    let count = 0
    for (const execution of this.#executions.values()) {
      if (execution.work.policy.resources.length > 0 && this.#interrupt(execution, cause)) count++
    }
    return count
  }

  /** Resolves when no body executes here. */
  async idle(): Promise<void> {
    if (this.#executions.size > 0) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve))
  }

  async #execute(execution: Execution): Promise<void> {
    const { type: name, runId } = execution.work.identity
    try {
      const end = await this.#runBody(execution, this.#parts.types.get(name) as RegisteredType)
      execution.isBodyOver = true
      passFaultPoint('executor:body-ended')
      // The outcome is handed over before the place is free: a claim that follows must find its permits released.
      // The occupancy of an interrupted body goes later than its outcome, and its place with it. And what is not handed
      // over at once must be known here until it is.
      if (execution.interruptWritten !== null) await this.#concludeInterrupted(execution, end)
      else {
        // A body that blocked the event loop past its deadline ends before the timer could fire. Its time was up all the same.
        execution.isOverdue = execution.deadlineAt !== null && this.#parts.clock.now() >= execution.deadlineAt
        const { isReporting } = execution.work
        const written = this.#finish(execution, end)
        if (isReporting) await written
        this.#leave(execution)
        this.#tellLateOrDropped(execution, end, await written)
      }
      this.#leave(execution)
    } catch (error) {
      this.#leave(execution)
      // Only a closed store or a bug leads here. The Run stays open; recovery ends it when this process has ended.
      this.#parts.logger.error({ error, runId }, 'The outcome of a job could not be written')
    }
  }

  /** Never throws: whatever goes wrong around a body is the failure of that body, and the history tells it. */
  async #runBody(execution: Execution, type: RegisteredType): Promise<BodyEnd | 'invalid-params'> {
    try {
      const check = checkParams(type.schema, JSON.parse(execution.work.params))
      const params = check instanceof Promise ? await check : check
      if (params.kind === 'invalid') {
        execution.invalidParams = `Invalid params at \`${params.path}\`: ${params.message}`
        return 'invalid-params'
      }
      const { work } = execution
      const logPath = type.hasLogFile && work.keepsOutput ? await this.#prepareLogPath(work) : null
      const found = work.findParents()
      const parents = found instanceof Promise ? await found : found
      if (execution.interruptedBy !== null) return neverBegun(execution)
      const reporter = work.openReporter()
      execution.reporter = reporter
      const body = this.#startBody(execution, type, params.value, { reporter, logPath, parents })
      const end = await body.ended
      return reporter.hasUnsettledFollowUps ? await withFollowUps(end, reporter) : end
    } catch (error) {
      return { kind: 'threw', error, retryable: true, exitCode: null }
    }
  }

  #startBody(
    execution: Execution,
    type: RegisteredType,
    params: unknown,
    given: Pick<BodyRequest, 'reporter' | 'logPath' | 'parents'>,
  ): Body {
    const { work } = execution
    const { clock } = this.#parts
    const { timeoutMs } = work.policy
    const { reporter, logPath, parents } = given
    if (timeoutMs !== null) {
      // From now on, not from the claim: waiting for the lock or for others is not the body's time.
      execution.deadlineAt = clock.now() + timeoutMs
      execution.timer = clock.after(timeoutMs, () => this.#interrupt(execution, 'timeout'))
    }
    const body = type.isolation.start({
      identity: work.identity,
      params,
      parents,
      reporter,
      killGraceMs: type.killGraceMs,
      logPath,
      recordChild: (child) => work.recordChild(child, logPath),
    })
    execution.body = body
    if (execution.interruptedBy !== null) body.interrupt(execution.interruptedBy)
    return body
  }

  /** The outcome is known at this instant: it is written now, and the occupancy stays until the code has ended. */
  #interrupt(execution: Execution, cause: InterruptCause): boolean {
    if (execution.interruptedBy !== null || execution.isBodyOver) return false
    execution.interruptedBy = cause
    execution.timer?.cancel()
    execution.body?.interrupt(cause)
    const { work } = execution
    const outcome = interruptedOutcome(cause, work.policy.timeoutMs)
    execution.interruptWritten = work.finish({ outcome, thrown: null, body: 'executing', followUps: [] })
    // Awaited when the body ends; until then a failure must not count as unhandled.
    execution.interruptWritten.catch(() => {})
    return true
  }

  /** An interrupted body has really ended: gives back what it still held. */
  async #concludeInterrupted(execution: Execution, end: BodyEnd | 'invalid-params'): Promise<void> {
    const { work } = execution
    // One after the other: a release counts only once the outcome is written, and that may take its time.
    await execution.interruptWritten
    await work.release()
    if (end !== 'invalid-params' && !answersAbort(end)) work.tellLate(end.kind)
  }

  /** Hands over the outcome of a body that has really ended. */
  #finish(execution: Execution, end: BodyEnd | 'invalid-params'): Promise<WorkResult> {
    const { work } = execution
    const outcome =
      end === 'invalid-params'
        ? failure('invalid-params', execution.invalidParams)
        : execution.isOverdue
          ? interruptedOutcome('timeout', work.policy.timeoutMs)
          : outcomeOf(end)
    return work.finish({
      outcome,
      thrown: end !== 'invalid-params' && end.kind === 'threw' && !execution.isOverdue ? end : null,
      body: 'ended',
      followUps: execution.reporter?.takeFollowUps() ?? NO_FOLLOW_UPS,
    })
  }

  #tellLateOrDropped(execution: Execution, end: BodyEnd | 'invalid-params', result: WorkResult): void {
    const { work, isOverdue } = execution
    if (result.kind === 'already-finished' || isOverdue) work.tellLate(end === 'invalid-params' ? 'died' : end.kind)
    this.#tellDropped(work, result)
  }

  #leave(execution: Execution): void {
    if (execution.hasEnded) return
    execution.hasEnded = true
    execution.timer?.cancel()
    const { type, runId } = execution.work.identity
    this.#executions.delete(runId)
    this.#parts.placeFreed(type)
    if (this.#executions.size > 0) return
    for (const resolve of this.#idleWaiters.splice(0)) resolve()
  }

  #tellDropped(work: Work, result: WorkResult): void {
    if (result.kind !== 'finished') return
    for (const followUp of result.followUps) {
      if (followUp.kind !== 'dropped') continue
      this.#parts.logger.warn(
        { jobId: work.identity.jobId, followUp: followUp.jobId },
        'A follow-up was dropped, because its key is taken, or its parent or template is gone; the job itself completed',
      )
    }
  }

  async #prepareLogPath(work: Work): Promise<string | null> {
    const { logDirectory } = this.#parts
    if (logDirectory === null) return null
    try {
      await mkdir(logDirectory, { recursive: true, mode: 0o700 })
    } catch (error) {
      this.#parts.logger.warn({ error, logDirectory }, 'The folder for log files cannot be made; output is not kept')
      return null
    }
    return join(logDirectory, `${work.identity.runId}.log`)
  }
}

const NO_FOLLOW_UPS: readonly NewJob[] = []

/** It threw because its signal fired: that is how a body obeys, not a late end. */
function answersAbort(end: BodyEnd): boolean {
  if (end.kind !== 'threw') return false
  const name = end.error instanceof Error ? end.error.name : null
  return name === 'AbortError' || name === 'TimeoutError'
}

/** As a body ends that obeys its signal at once. */
function neverBegun({ interruptedBy }: Execution): BodyEnd {
  const error = interruptReason(interruptedBy ?? 'shutdown')
  return { kind: 'threw', error, retryable: true, exitCode: null }
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
  readonly work: Work
  reporter: Reporter | null = null
  body: Body | null = null
  timer: Timer | null = null
  deadlineAt: number | null = null
  interruptedBy: InterruptCause | null = null
  interruptWritten: Promise<WorkResult> | null = null
  invalidParams = ''
  isBodyOver = false
  isOverdue = false
  hasEnded = false

  constructor(work: Work) {
    this.work = work
  }
}
