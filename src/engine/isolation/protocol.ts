import type { JsonObject } from '../../domain/json.ts'
import type { LogLevel } from '../../domain/run.ts'
import type { BodyRequest, InterruptCause, Parents } from './body.ts'

/**
 * What a node and its hosts say to each other. A host is the file of ours that a thread or child starts with; it runs
 * the user's handler or command. Each message travels inside an envelope, because a handler in a thread or child can use
 * the same channel for messages of its own.
 */

/** What a handler is told about its Job. Params must survive a structured clone. */
export interface HandlerFacts {
  readonly params: unknown
  readonly jobId: string
  readonly chainId: string
  readonly runId: string
  readonly attempt: number
  readonly parents: Parents
}

export interface HandlerOrder {
  readonly kind: 'run-handler'
  /** A file: URL. */
  readonly module: string
  readonly facts: HandlerFacts
}

export interface CommandOrder {
  readonly kind: 'run-command'
  readonly argv: readonly string[]
  readonly cwd: string | null
  /** All of the command's environment. */
  readonly env: { readonly [name: string]: string }
  /** What its standard input yields before it ends. */
  readonly input: string
}

export type ToHost =
  /** The "go". A child waits for it until its identity is committed. */
  | HandlerOrder
  | CommandOrder
  | { readonly kind: 'interrupt'; readonly cause: InterruptCause }
  | { readonly kind: 'enqueued'; readonly question: number; readonly jobId: string }
  | { readonly kind: 'enqueue-refused'; readonly question: number; readonly error: SentError }

export type FromHost =
  | {
      readonly kind: 'log'
      readonly level: LogLevel
      readonly text: string
      readonly fields: JsonObject | undefined
    }
  | { readonly kind: 'progress'; readonly fraction: number; readonly message: string | undefined }
  | { readonly kind: 'artifact'; readonly path: string; readonly name: string | undefined }
  | {
      readonly kind: 'enqueue'
      /** Distinguishes the questions of one host. */
      readonly question: number
      readonly type: string
      readonly params: unknown
      readonly options: { readonly [key: string]: unknown } | undefined
    }
  | { readonly kind: 'answer'; readonly answer: Answer }

/** The last word of a host: how the handler or the command ended. */
export type Answer =
  /** The result as JSON text: a clone would lose `toJSON` methods, and the result would depend on the isolation. */
  | { readonly kind: 'returned'; readonly json: string }
  | { readonly kind: 'unserialisable'; readonly message: string }
  | { readonly kind: 'skipped'; readonly reason: string }
  | { readonly kind: 'threw'; readonly error: SentError }
  | { readonly kind: 'exited'; readonly code: number | null; readonly signal: string | null }
  | { readonly kind: 'not-started'; readonly message: string }

/** What is left of a thrown value on the other side. */
export interface SentError {
  /** Null when something else than an Error was thrown; `message` is that value as text. */
  readonly name: string | null
  readonly message: string
  readonly stack: string | null
  readonly code: string | number | null
  readonly retryable: boolean
}

export interface Envelope<Message> {
  readonly pawl: Message
}

/** The message in an envelope of ours, or null for anything else that came through the channel. */
export function openEnvelope<Message>(value: unknown): Message | null {
  return typeof value === 'object' && value !== null && 'pawl' in value ? (value as Envelope<Message>).pawl : null
}

export function factsOf(request: BodyRequest): HandlerFacts {
  const { identity, params, parents } = request
  const { jobId, chainId, runId, attempt } = identity
  return { params, jobId, chainId, runId, attempt, parents }
}
