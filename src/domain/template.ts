import type { JsonObject, JsonValue } from './json.ts'
import type { RetryOverrides } from './retry.ts'

/** A reusable type with default params and policy. */
export interface Template {
  readonly templateId: string
  readonly name: string
  readonly type: string
  readonly defaultParams: JsonValue
  /** What it says otherwise than its type. Null: nothing. */
  readonly retry: RetryOverrides | null
  /** Undefined: as the type says. Null: no timeout. */
  readonly timeoutMs: number | null | undefined
  readonly description: string | null
  /** Grows with each change. */
  readonly revision: number
  readonly createdAt: number
  readonly updatedAt: number
  /** Set: no new Jobs can be made from it; it is kept for the history. */
  readonly archivedAt: number | null
}

/**
 * Overrides over defaults, key by key at the top; null overrides nothing. Anything but two objects cannot be merged: then the
 * override stands.
 */
export function mergeParams(defaults: JsonValue, overrides: JsonValue): JsonValue {
  if (overrides === null) return defaults
  return isObject(defaults) && isObject(overrides) ? { ...defaults, ...overrides } : overrides
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
