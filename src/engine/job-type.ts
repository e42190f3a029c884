import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec'
import type { JobPolicy } from '../domain/job.ts'
import type { JsonObject } from '../domain/json.ts'
import type { Isolation } from './isolation/body.ts'

/** A named handler with its params schema, policy and isolation: what `defineJob` makes, as the engine sees it. */
export interface RegisteredType {
  readonly type: string
  readonly policy: JobPolicy
  /** How many bodies of this type may execute at once on the whole store; null when there is no such limit. */
  readonly concurrency: number | null
  readonly schema: StandardSchemaV1 | null
  readonly isolation: Isolation
  /** Whether bodies live outside this process and write to a log file. */
  readonly hasLogFile: boolean
  /** May veto a retry. */
  readonly shouldRetry: ((error: unknown, about: { readonly attempt: number }) => boolean) | null
  readonly killGraceMs: number
}

export type ParamsCheck =
  | { readonly kind: 'valid'; readonly value: unknown }
  | { readonly kind: 'invalid'; readonly message: string; readonly path: string }

/** Asks the type's schema. Synchronous schemas answer synchronously, so that the hot path awaits nothing. */
export function checkParams(schema: StandardSchemaV1 | null, params: unknown): ParamsCheck | Promise<ParamsCheck> {
  if (schema === null) return { kind: 'valid', value: params }
  const result = schema['~standard'].validate(params)
  return result instanceof Promise ? result.then(readResult) : readResult(result)
}

function readResult(result: StandardSchemaV1.Result<unknown>): ParamsCheck {
  if (result.issues === undefined) return { kind: 'valid', value: result.value }
  const issue = result.issues[0]
  const steps = (issue?.path ?? []).map((step) => String(typeof step === 'object' ? step.key : step))
  const message = (issue?.message ?? 'invalid').replace(/[.!]?$/, '.')
  return { kind: 'invalid', message, path: ['params', ...steps].join('.') }
}

/** What the schema takes, as JSON Schema. Null: its library cannot say, or it cannot be said so. */
export function jsonSchemaOf(schema: StandardSchemaV1 | null): JsonObject | null {
  const standard = schema?.['~standard'] as Partial<StandardJSONSchemaV1.Props> | undefined
  try {
    return (standard?.jsonSchema?.input({ target: 'draft-2020-12' }) as JsonObject | undefined) ?? null
  } catch {
    return null
  }
}
