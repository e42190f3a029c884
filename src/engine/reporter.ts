import { basename, resolve } from 'node:path'
import type { JsonValue } from '../domain/json.ts'
import {
  ARTIFACTS_MAX,
  type Artifact,
  capText,
  LOG_FIELDS_MAX,
  LOG_LINES_MAX,
  LOG_TEXT_MAX,
  type LogLevel,
  type LogLine,
  PROGRESS_MESSAGE_MAX,
  type Progress,
} from '../domain/run.ts'
import type { Clock } from '../platform/clock.ts'
import type { NewJob } from '../store/jobs.ts'
import type { RunReport } from '../store/runs.ts'
import type { BodyReporter } from './isolation/body.ts'

const ARTIFACT_NAME_MAX = 512

export const EMPTY_REPORT: RunReport = { progress: null, logs: [], artifacts: [], logsDropped: 0 }

/** Collects what one body says, until it is written about once a second, and at last with its outcome. */
export class Reporter implements BodyReporter {
  readonly #clock: Clock
  readonly #prepareFollowUp: (type: string, params: unknown, options: unknown) => NewJob | Promise<NewJob>
  readonly #changed: () => void
  #progress: Progress | null = null
  #logs: LogLine[] = []
  #artifacts: Artifact[] = []
  #linesTaken = 0
  #artifactsTaken = 0
  #logsDropped = 0
  readonly #followUps: NewJob[] = []
  #isClosed = false
  readonly #unsettledFollowUps = new Set<Promise<unknown>>()

  constructor(
    clock: Clock,
    prepareFollowUp: (type: string, params: unknown, options: unknown) => NewJob | Promise<NewJob>,
    changed: () => void,
  ) {
    this.#clock = clock
    this.#prepareFollowUp = prepareFollowUp
    this.#changed = changed
  }

  /** For the outcome that is written now. Whoever asks for another one afterwards is refused. */
  takeFollowUps(): readonly NewJob[] {
    this.#isClosed = true
    return [...this.#followUps]
  }

  log(level: LogLevel, text: string, fields: { readonly [key: string]: JsonValue } | undefined): void {
    if (this.#linesTaken + this.#logs.length >= LOG_LINES_MAX) this.#logsDropped++
    else {
      this.#logs.push({
        at: this.#clock.now(),
        level,
        text: capText(String(text), LOG_TEXT_MAX),
        fields: fields === undefined ? null : encodeFields(fields),
      })
    }
    this.#changed()
  }

  progress(fraction: number, message: string | undefined): void {
    this.#progress = {
      fraction,
      message: message === undefined ? null : capText(String(message), PROGRESS_MESSAGE_MAX),
    }
    this.#changed()
  }

  addArtifact(path: string, name: string | undefined): void {
    if (this.#artifactsTaken + this.#artifacts.length >= ARTIFACTS_MAX) return
    const resolved = resolve(path)
    this.#artifacts.push({
      name: capText(name === undefined ? basename(resolved) : String(name), ARTIFACT_NAME_MAX),
      path: resolved,
    })
    this.#changed()
  }

  enqueue(type: string, params: unknown, options: unknown): string | Promise<string> {
    const keep = (job: NewJob): string => {
      if (this.#isClosed) throw new Error('The run has ended; a follow-up can only be asked for while it executes.')
      this.#followUps.push(job)
      return job.jobId
    }
    let job: NewJob | Promise<NewJob>
    try {
      job = this.#prepareFollowUp(type, params, options)
    } catch (error) {
      job = Promise.reject(error)
    }
    if (!(job instanceof Promise) && !this.#isClosed) return keep(job)
    const kept = Promise.resolve(job).then(keep)
    this.#unsettledFollowUps.add(kept)
    kept.then(
      () => this.#unsettledFollowUps.delete(kept),
      (error: unknown) => {
        this.#unsettledFollowUps.delete(kept)
        // Whether the handler looks at the refusal or not, the history shows it.
        this.log('warn', `A follow-up of type ${type} was refused: ${String(error)}`, undefined)
      },
    )
    return kept
  }

  get hasUnsettledFollowUps(): boolean {
    return this.#unsettledFollowUps.size > 0
  }

  /** Waits for follow-ups that are still being checked. Rejects when one of them is refused. */
  async followUpsSettled(): Promise<void> {
    await Promise.all(this.#unsettledFollowUps)
  }

  /** What has come since the last time. */
  take(): RunReport {
    if (this.#progress === null && this.#logs.length === 0 && this.#artifacts.length === 0 && this.#logsDropped === 0) {
      return EMPTY_REPORT
    }
    const report = {
      progress: this.#progress,
      logs: this.#logs,
      artifacts: this.#artifacts,
      logsDropped: this.#logsDropped,
    }
    this.#linesTaken += this.#logs.length
    this.#artifactsTaken += this.#artifacts.length
    this.#progress = null
    this.#logs = []
    this.#artifacts = []
    this.#logsDropped = 0
    return report
  }

  /** It could not be written: it comes again, before what has come since. */
  putBack({ progress, logs, artifacts, logsDropped }: RunReport): void {
    this.#linesTaken -= logs.length
    this.#artifactsTaken -= artifacts.length
    this.#progress ??= progress
    this.#logs = [...logs, ...this.#logs]
    this.#artifacts = [...artifacts, ...this.#artifacts]
    this.#logsDropped += logsDropped
  }
}

function encodeFields(fields: object): string {
  try {
    const text = JSON.stringify(fields) ?? 'null'
    return text.length <= LOG_FIELDS_MAX ? text : JSON.stringify({ truncated: text.slice(0, LOG_FIELDS_MAX / 2) })
  } catch (error) {
    return JSON.stringify({ unserialisable: String(error) })
  }
}
