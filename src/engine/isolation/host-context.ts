import { resolve } from 'node:path'
import { assert } from '../../domain/errors.ts'
import { encodeJson, type JsonObject, type JsonValue } from '../../domain/json.ts'
import { invalid } from '../../domain/options.ts'
import type { LogLevel } from '../../domain/run.ts'
import type { BodyReporter, InterruptCause } from './body.ts'
import type { HandlerFacts } from './protocol.ts'

/** What a handler is given. Its functions can be taken out of it: none needs `this`. */
export interface HandlerContext extends HandlerFacts {
  /** Fires when the body is asked to end early: a timeout, an aborting cancel, a shutdown, a lost database. */
  readonly signal: AbortSignal
  readonly log: Readonly<Record<LogLevel, (text: string, fields?: object) => void>>
  readonly progress: (fraction: number, message?: string) => void
  /** Records where a file is. The file is never opened. */
  readonly addArtifact: (path: string, options?: { readonly name?: string }) => void
  /** Asks for a follow-up Job, made together with this Run's COMPLETED outcome or not at all. Answers with its id. */
  readonly enqueue: (type: string | { readonly type: string }, params?: unknown, options?: object) => Promise<string>
  /** `return skip(reason)` ends the Run as SKIPPED. */
  readonly skip: (reason: string) => Skip
}

/** What `skip` makes. A handler that returns it has skipped. */
export class Skip {
  readonly reason: string

  constructor(reason: string) {
    this.reason = reason
  }
}

/** `signalOf` is asked only when the handler looks at its signal: most never do, and a signal is not cheap. */
export function createContext(
  facts: HandlerFacts,
  signalOf: () => AbortSignal,
  reporter: BodyReporter,
): HandlerContext {
  return new LazyContext(facts, signalOf, reporter)
}

/** Makes each function when the handler first asks for it: a short body asks for few of them. */
class LazyContext implements HandlerContext {
  readonly params: unknown
  readonly jobId: string
  readonly chainId: string
  readonly runId: string
  readonly attempt: number
  readonly parents: HandlerFacts['parents']
  readonly #signalOf: () => AbortSignal
  readonly #reporter: BodyReporter

  constructor(facts: HandlerFacts, signalOf: () => AbortSignal, reporter: BodyReporter) {
    this.params = facts.params
    this.jobId = facts.jobId
    this.chainId = facts.chainId
    this.runId = facts.runId
    this.attempt = facts.attempt
    this.parents = facts.parents
    this.#signalOf = signalOf
    this.#reporter = reporter
  }

  get signal(): AbortSignal {
    return this.#signalOf()
  }

  get log(): HandlerContext['log'] {
    const reporter = this.#reporter
    const logAt = (level: LogLevel) => (text: string, fields?: object) =>
      reporter.log(level, String(text), fields === undefined ? undefined : toFields(fields))
    return { debug: logAt('debug'), info: logAt('info'), warn: logAt('warn'), error: logAt('error') }
  }

  get progress(): HandlerContext['progress'] {
    const reporter = this.#reporter
    return (fraction, message) =>
      reporter.progress(checkFraction(fraction), message === undefined ? undefined : String(message))
  }

  get addArtifact(): HandlerContext['addArtifact'] {
    const reporter = this.#reporter
    return (path, options) => reporter.addArtifact(resolve(checkPath(path)), options?.name)
  }

  get enqueue(): HandlerContext['enqueue'] {
    const reporter = this.#reporter
    // Not an async function: it must hand on the reporter's own promise, which is looked after when nobody awaits it.
    return (type, params, options) =>
      Promise.resolve(reporter.enqueue(typeNameOf(type), params, options && { ...options }))
  }

  get skip(): HandlerContext['skip'] {
    return (reason) => new Skip(String(reason))
  }
}

/** The reason that a handler finds in `signal.reason`. Its `cause` says why it was interrupted. */
export function interruptReason(cause: InterruptCause): Error {
  const reason = new Error(INTERRUPT_TEXTS[cause], { cause })
  // The names that `fetch` and the timers of Node use for the same things.
  reason.name = cause === 'timeout' ? 'TimeoutError' : 'AbortError'
  return reason
}

const INTERRUPT_TEXTS: Readonly<Record<InterruptCause, string>> = {
  timeout: 'The job took longer than its timeout.',
  cancelled: 'The job was cancelled.',
  shutdown: 'The scheduler shuts down.',
  disconnected: 'The scheduler lost its connection to the database, and the job may be executed elsewhere.',
}

function typeNameOf(type: unknown): string {
  const name = typeof type === 'string' ? type : (type as { readonly type?: unknown } | null | undefined)?.type
  if (typeof name === 'string') return name
  throw invalid('type', 'a job type made by defineJob, or its name', type)
}

function checkFraction(fraction: unknown): number {
  if (typeof fraction === 'number' && fraction >= 0 && fraction <= 1) return fraction
  throw new TypeError(`Expected the progress to be a number from 0 to 1, got \`${String(fraction)}\`.`)
}

function checkPath(path: unknown): string {
  if (typeof path === 'string' && path !== '') return path
  throw new TypeError(`Expected the artifact's path to be a text that is not empty, got \`${String(path)}\`.`)
}

/** Fields as the Run will keep them. A log line never fails its handler, so what JSON cannot hold is named instead. */
function toFields(fields: object): JsonObject {
  const encoded = encodeJson(fields, Number.POSITIVE_INFINITY)
  if (encoded.kind === 'unserialisable') return { unserialisable_fields: encoded.message }
  assert(encoded.kind === 'ok', 'log fields went over an endless limit')
  const value = JSON.parse(encoded.text) as JsonValue
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : { value }
}
