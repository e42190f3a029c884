import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonValue } from '../domain/json.ts'
import { invalid } from '../domain/options.ts'
import type { LogLevel } from '../domain/run.ts'
import type { RegisteredType } from '../engine/job-type.ts'
import type { EnqueueOptions } from '../operations/enqueue-options.ts'

/** What `skip(reason)` makes: return it, and the Run ends as SKIPPED. */
export interface Skipped {
  readonly reason: string
}

/**
 * Where the engine's side of a job type is kept, out of sight of completion lists. All copies of Pawl in a process share the
 * key: a global command may load a project that has a copy of its own.
 */
export const REGISTERED: unique symbol = Symbol.for('pawl.job-type')

/** Counted up when `RegisteredType`, or what its isolation is given or gives back, becomes another. */
export const JOB_TYPE_VERSION = 1

/** The engine's side of a job type, and by which version of Pawl's own types it is to be understood. */
export interface BrandedType extends RegisteredType {
  readonly version: number
}

/** A named handler, made by `defineJob`. `Input` is what callers give, `Result` what the handler returns. */
export interface JobType<Input = unknown, Result = unknown> {
  readonly type: string
  readonly [REGISTERED]: BrandedType
  /** Carries the types; there is no such value. */
  readonly '~input'?: (input: Input) => void
  readonly '~result'?: () => Result
}

/** Any job type, whatever its params and result. */
export type AnyJobType = JobType<never, unknown>

export type InputOf<Type> = Type extends JobType<infer Input, unknown> ? Input : never
export type ResultOf<Type> = Type extends JobType<never, infer Result> ? Result : never

/** `T` when it survives a round trip through JSON, else a type to which `T` cannot be assigned. */
export type JsonCompatible<T> = T extends JsonValue | undefined | void
  ? T
  : T extends bigint | symbol | Date | Map<unknown, unknown> | Set<unknown> | ((...args: never[]) => unknown)
    ? never
    : T extends object
      ? { [Key in keyof T]: JsonCompatible<T[Key]> }
      : unknown extends T
        ? T
        : never

/** The name of a type that is given as what `defineJob` made, or by its name. */
export function typeName(type: AnyJobType | string): string {
  const name = typeof type === 'string' ? type : type?.type
  if (typeof name !== 'string') throw invalid('type', 'a job type made by defineJob, or its name', type)
  return name
}

export type InputOfSchema<Schema> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Schema> : JsonValue
export type OutputOfSchema<Schema> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Schema> : JsonValue

type Log = (text: string, fields?: object) => void

/** What a handler is given. Its functions may be taken out of it. */
export interface JobContext<Params = unknown> {
  /** Validated; what the schema returned. */
  readonly params: Params
  readonly jobId: string
  /** The id of the chain's first Job: the same for all attempts. */
  readonly chainId: string
  readonly runId: string
  /** 1 for the first execution, 2 for its first retry, … */
  readonly attempt: number
  /** Fires when the body should end early: a timeout, an aborting cancel, a shutdown. */
  readonly signal: AbortSignal
  readonly log: Readonly<Record<LogLevel, Log>>
  /** From 0 to 1. */
  readonly progress: (fraction: number, message?: string) => void
  /** Records where a file is. The file is never opened. */
  readonly addArtifact: (path: string, options?: { readonly name?: string }) => void
  /** Results of the parents, by the id named in `dependsOn`. */
  readonly parents: { readonly [jobId: string]: JsonValue }
  /** Makes a follow-up Job together with this Run's COMPLETED outcome, or not at all. Answers with its id. */
  readonly enqueue: <Type extends AnyJobType | string>(
    type: Type,
    params: Type extends string ? unknown : InputOf<Type>,
    options?: EnqueueOptions,
  ) => Promise<string>
  /** `return skip(reason)` ends the Run as SKIPPED. */
  readonly skip: (reason: string) => Skipped
}
