import { PawlError } from './errors.ts'
import { type Backoff, DEFAULT_RETRY, mergeRetry, type RetryOverrides, type RetryPolicy } from './retry.ts'

/** How a caller describes a backoff; what is left out has a default. */
export type BackoffOptions =
  | { readonly kind: 'none' }
  | { readonly kind: 'fixed'; readonly delayMs: number }
  | {
      readonly kind: 'exponential'
      readonly baseMs: number
      /** @default 2 */
      readonly factor?: number
      /** @default 3_600_000 */
      readonly maxMs?: number
      /** From 0 to 1: how much of the delay chance may take away. @default 0 */
      readonly jitter?: number
    }

export interface RetryOptions {
  /** Automatic retries after a failure: 3 means up to four executions. @default 3 */
  readonly maxRetries?: number
  /** Automatic retries after a crash of the process. @default 3, and 0 when `maxRetries` is 0 */
  readonly maxCrashRetries?: number
  /** @default { kind: 'exponential', baseMs: 10_000 } */
  readonly backoff?: BackoffOptions
}

export const RETRIES_MAX = 1_000
export const DELAY_MAX_MS = 365 * 24 * 3_600_000

/** The policy of a type that says this, or an error that names the field. */
export function readRetryOptions(options: RetryOptions = {}, path = 'retry'): RetryPolicy {
  return mergeRetry(DEFAULT_RETRY, readRetryOverrides(options, path))
}

/** What a Job or a template says otherwise than its type, or an error that names the field. */
export function readRetryOverrides(options: RetryOptions, path = 'retry'): RetryOverrides {
  refuseUnknownKeys(options, ['maxRetries', 'maxCrashRetries', 'backoff'], path)
  const { maxRetries, maxCrashRetries, backoff } = options
  return {
    ...(maxRetries !== undefined && { maxRetries: readWhole(maxRetries, 0, RETRIES_MAX, `${path}.maxRetries`) }),
    ...(maxCrashRetries !== undefined && {
      maxCrashRetries: readWhole(maxCrashRetries, 0, RETRIES_MAX, `${path}.maxCrashRetries`),
    }),
    ...(backoff !== undefined && { backoff: readBackoff(backoff, `${path}.backoff`) }),
  }
}

function readBackoff(options: BackoffOptions, path: string): Backoff {
  refuseUnknownKeys(options, ['kind', 'delayMs', 'baseMs', 'factor', 'maxMs', 'jitter'], path)
  switch (options.kind) {
    case 'none':
      refuseUnknownKeys(options, ['kind'], path)
      return { kind: 'none' }
    case 'fixed':
      refuseUnknownKeys(options, ['kind', 'delayMs'], path)
      return { kind: 'fixed', delayMs: readWhole(options.delayMs, 0, DELAY_MAX_MS, `${path}.delayMs`) }
    case 'exponential':
      refuseUnknownKeys(options, ['kind', 'baseMs', 'factor', 'maxMs', 'jitter'], path)
      return {
        kind: 'exponential',
        baseMs: readWhole(options.baseMs, 0, DELAY_MAX_MS, `${path}.baseMs`),
        factor: readNumber(options.factor ?? 2, 1, 100, `${path}.factor`),
        maxMs: readWhole(options.maxMs ?? 3_600_000, 0, DELAY_MAX_MS, `${path}.maxMs`),
        jitter: readNumber(options.jitter ?? 0, 0, 1, `${path}.jitter`),
      }
    default:
      throw invalid(`${path}.kind`, "'none', 'fixed' or 'exponential'", (options as { kind?: unknown }).kind)
  }
}

/** A whole number from `min` to `max`, or an error that says what was expected and what came. */
export function readWhole(value: unknown, min: number, max: number, path: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value
  throw invalid(path, `a whole number from ${min} to ${max}`, value)
}

function readNumber(value: unknown, min: number, max: number, path: string): number {
  if (typeof value === 'number' && value >= min && value <= max) return value
  throw invalid(path, `a number from ${min} to ${max}`, value)
}

/** A text that is not empty. */
export function readText(value: unknown, path: string): string {
  if (typeof value === 'string' && value !== '') return value
  throw invalid(path, 'a text that is not empty', value)
}

/** One of the given words. */
export function readWord<const Word extends string>(value: unknown, words: readonly Word[], path: string): Word {
  if (words.includes(value as Word)) return value as Word
  throw invalid(path, words.map((word) => `'${word}'`).join(' or '), value)
}

/** Misspelt options must not be ignored silently. */
export function refuseUnknownKeys(options: object, known: readonly string[], path: string): void {
  if (typeof options !== 'object' || options === null)
    throw invalid(path === '' ? 'options' : path, 'an object', options)
  for (const key of Object.keys(options)) {
    if (known.includes(key)) continue
    throw new PawlError(
      'invalid_option',
      `Unknown option \`${path === '' ? key : `${path}.${key}`}\`. Expected one of: ${known.join(', ')}.`,
      { path: path === '' ? key : `${path}.${key}` },
    )
  }
}

export function invalid(path: string, expected: string, came: unknown): PawlError {
  return new PawlError('invalid_option', `Expected \`${path}\` to be ${expected}, got \`${show(came)}\`.`, { path })
}

function show(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'bigint') return `${value}n`
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'an invalid Date' : value.toISOString()
  try {
    const text = JSON.stringify(value) ?? String(value)
    return text.length > 100 ? `${text.slice(0, 99)}…` : text
  } catch {
    // Cyclic, or with a value that has no JSON form, and perhaps without a text of its own.
    return Object.prototype.toString.call(value)
  }
}
