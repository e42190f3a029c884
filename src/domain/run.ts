import type { JsonValue } from './json.ts'

export type RunStatus = 'COMPLETED' | 'FAILED' | 'SKIPPED'

export type FailureReason =
  | 'error'
  | 'timeout'
  | 'crash'
  | 'shutdown'
  | 'cancelled'
  | 'invalid-params'
  | 'unserialisable-result'
  | 'result-too-large'

/** What came of a Run, as data. */
export type Outcome =
  | { readonly status: 'COMPLETED' /** JSON text */; readonly result: string; readonly exitCode: number | null }
  | { readonly status: 'SKIPPED'; readonly message: string }
  | {
      readonly status: 'FAILED'
      readonly reason: FailureReason
      readonly error: string
      readonly stack: string | null
      readonly exitCode: number | null
    }

export interface Artifact {
  readonly name: string
  readonly path: string
}

export interface Progress {
  /** From 0 to 1. */
  readonly fraction: number
  readonly message: string | null
}

/** The record of the one execution of a Job. Immutable once `status` is set. */
export interface Run {
  readonly runId: string
  readonly jobId: string
  readonly chainId: string
  readonly type: string
  /** The template of its Job. */
  readonly templateId: string | null
  readonly attempt: number
  /** Null while the body executes. */
  readonly status: RunStatus | null
  readonly reason: FailureReason | null
  readonly paramsSnapshot: JsonValue
  readonly nodeId: string
  readonly startedAt: number
  readonly finishedAt: number | null
  readonly durationMs: number | null
  readonly result: JsonValue
  readonly error: string | null
  readonly stack: string | null
  readonly exitCode: number | null
  readonly willRetry: boolean
  readonly artifacts: readonly Artifact[]
  readonly logPath: string | null
  readonly progress: Progress | null
  /** Log lines over the cap, and lines that came after the end. They were not kept. */
  readonly logsDropped: number
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface LogLine {
  readonly at: number
  readonly level: LogLevel
  readonly text: string
  /** JSON text, or null when the line has no fields. */
  readonly fields: string | null
}

export const ERROR_TEXT_MAX = 8_192
export const STACK_TEXT_MAX = 16_384
export const LOG_TEXT_MAX = 8_192
export const LOG_FIELDS_MAX = 16_384
/** Log lines kept per Run; later ones are counted, not kept. */
export const LOG_LINES_MAX = 10_000
export const ARTIFACTS_MAX = 1_000
export const PROGRESS_MESSAGE_MAX = 1_024

/**
 * A text as it can be stored: cut to `max` characters, saying so, without leaving half of a surrogate pair, and without
 * U+0000, at which a database would cut it.
 */
export function capText(given: string, max: number): string {
  const text = given.includes('\u0000') ? given.replaceAll('\u0000', '\ufffd') : given
  if (text.length <= max) return text
  const cut = text.slice(0, max - 1)
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}…`
}
