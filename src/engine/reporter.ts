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

const NO_FOLLOW_UPS: readonly NewJob[] = []

interface Said {
  progress: Progress | null
  logs: LogLine[]
  artifacts: Artifact[]
  logsDropped: number
}

interface FollowUps {
  readonly kept: NewJob[]
  /** Those that are still being checked. */
  readonly unsettled: Set<Promise<unknown>>
}

/** Collects what one body says, until it is written about once a second, and at last with its outcome. */
export class Reporter implements BodyReporter {
  readonly #clock: Clock
  readonly #prepareFollowUp: (type: string, params: unknown, options: unknown) => NewJob | Promise<NewJob>
  readonly #changed: () => void
  /** What has come since it was last taken. Null: nothing, as from most bodies. */
  #said: Said | null = null
  #linesTaken = 0
  #artifactsTaken = 0
  #isClosed = false
  /** Null: it has asked for none. */
  #followUps: FollowUps | null = null

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
    return this.#followUps === null ? NO_FOLLOW_UPS : [...this.#followUps.kept]
  }

  log(level: LogLevel, text: string, fields: { readonly [key: string]: JsonValue } | undefined): void {
    const said = this.#saying()
    if (this.#linesTaken + said.logs.length >= LOG_LINES_MAX) said.logsDropped++
    else {
      said.logs.push({
        at: this.#clock.now(),
        level,
        text: capText(String(text), LOG_TEXT_MAX),
        fields: fields === undefined ? null : encodeFields(fields),
      })
    }
    this.#changed()
  }

  progress(fraction: number, message: string | undefined): void {
    this.#saying().progress = {
      fraction,
      message: message === undefined ? null : capText(String(message), PROGRESS_MESSAGE_MAX),
    }
    this.#changed()
  }

  addArtifact(path: string, name: string | undefined): void {
    if (this.#artifactsTaken + (this.#said?.artifacts.length ?? 0) >= ARTIFACTS_MAX) return
    const resolved = resolve(path)
    this.#saying().artifacts.push({
      name: capText(name === undefined ? basename(resolved) : String(name), ARTIFACT_NAME_MAX),
      path: resolved,
    })
    this.#changed()
  }

  enqueue(type: string, params: unknown, options: unknown): string | Promise<string> {
    this.#followUps ??= { kept: [], unsettled: new Set() }
    const followUps = this.#followUps
    const keep = (job: NewJob): string => {
      if (this.#isClosed) throw new Error('The run has ended; a follow-up can only be asked for while it executes.')
      followUps.kept.push(job)
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
    followUps.unsettled.add(kept)
    kept.then(
      () => followUps.unsettled.delete(kept),
      (error: unknown) => {
        followUps.unsettled.delete(kept)
        // Whether the handler looks at the refusal or not, the history shows it.
        this.log('warn', `A follow-up of type ${type} was refused: ${String(error)}`, undefined)
      },
    )
    return kept
  }

  get hasUnsettledFollowUps(): boolean {
    return this.#followUps !== null && this.#followUps.unsettled.size > 0
  }

  /** Waits for follow-ups that are still being checked. Rejects when one of them is refused. */
  async followUpsSettled(): Promise<void> {
    if (this.#followUps !== null) await Promise.all(this.#followUps.unsettled)
  }

  /** What has come since the last time. */
  take(): RunReport {
    const report = this.#said
    if (report === null) return EMPTY_REPORT
    this.#said = null
    this.#linesTaken += report.logs.length
    this.#artifactsTaken += report.artifacts.length
    return report
  }

  /** It could not be written: it comes again, before what has come since. */
  putBack({ progress, logs, artifacts, logsDropped }: RunReport): void {
    this.#linesTaken -= logs.length
    this.#artifactsTaken -= artifacts.length
    const said = this.#saying()
    said.progress ??= progress
    said.logs = [...logs, ...said.logs]
    said.artifacts = [...artifacts, ...said.artifacts]
    said.logsDropped += logsDropped
  }

  #saying(): Said {
    this.#said ??= { progress: null, logs: [], artifacts: [], logsDropped: 0 }
    return this.#said
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
