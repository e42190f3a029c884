import type { JsonValue } from '../../domain/json.ts'
import type { LogLevel } from '../../domain/run.ts'
import type { ChildIdentity } from '../../store/runs.ts'

/** Why a body is asked to end early. `disconnected`: others may take its node for dead, and execute it anew. */
export type InterruptCause = 'timeout' | 'cancelled' | 'shutdown' | 'disconnected'

/** What a body can say while it executes. The same four calls for all isolations; each is cheap and never throws. */
export interface BodyReporter {
  log(level: LogLevel, text: string, fields: { readonly [key: string]: JsonValue } | undefined): void
  progress(fraction: number, message: string | undefined): void
  addArtifact(path: string, name: string | undefined): void
  /**
   * Asks for a follow-up Job and answers with its id; a promise where the params are checked asynchronously. Throws or
   * rejects with a `PawlError` when the request itself is wrong.
   */
  enqueue(
    type: string,
    params: unknown,
    options: { readonly [key: string]: unknown } | undefined,
  ): string | Promise<string>
}

/** Who a body is, as its handler sees it. A direct execution has no Job: all of its ids are that of its reservation. */
export interface BodyIdentity {
  readonly type: string
  readonly jobId: string
  readonly chainId: string
  /** No two bodies have the same. */
  readonly runId: string
  readonly attempt: number
}

/** Results of the parents, by the id named in `dependsOn`. */
export type Parents = { readonly [jobId: string]: JsonValue }

/** All that an isolation needs to execute one body. */
export interface BodyRequest {
  readonly identity: BodyIdentity
  /** Validated params: what the type's schema returned. */
  readonly params: unknown
  readonly parents: Parents
  readonly reporter: BodyReporter
  /** How long an interrupted thread, child or command may take to end by itself before it is killed. */
  readonly killGraceMs: number
  /** The file to which a child's output is appended, in a folder that exists, or null when it is not kept. */
  readonly logPath: string | null
  /** Commits who the child is. `late`: the Run has ended, and the child must be killed without having begun. */
  readonly recordChild: (child: ChildIdentity) => Promise<'recorded' | 'late'>
}

/** How the code of a body ended. */
export type BodyEnd =
  | { readonly kind: 'returned'; readonly value: unknown; readonly exitCode: number | null }
  | { readonly kind: 'skipped'; readonly reason: string }
  /** It threw. `retryable` is false for a NonRetryableError, also one thrown in a thread or child. */
  | { readonly kind: 'threw'; readonly error: unknown; readonly retryable: boolean; readonly exitCode: number | null }
  /** Its thread or process ended without an answer: an exit code, a signal, out of memory. */
  | { readonly kind: 'died'; readonly message: string; readonly exitCode: number | null }

/** A body that executes. */
export interface Body {
  /** Resolves when the code has really ended; never rejects. Until then its occupancy stays. */
  readonly ended: Promise<BodyEnd>
  /** Fires the body's AbortSignal; where the isolation can, kills it after the grace. Later calls change nothing. */
  interrupt(cause: InterruptCause): void
}

/** How the bodies of a type are executed. */
export interface Isolation {
  start(request: BodyRequest): Body
}
