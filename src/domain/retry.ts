import type { FailureReason } from './run.ts'

export type Backoff =
  | { readonly kind: 'none' }
  | { readonly kind: 'fixed'; readonly delayMs: number }
  | {
      readonly kind: 'exponential'
      readonly baseMs: number
      readonly factor: number
      readonly maxMs: number
      /** A fraction from 0 to 1: the delay is shortened by up to this much. */
      readonly jitter: number
    }

/** How often and how late a chain is tried again. */
export interface RetryPolicy {
  /** Automatic retries after a failure: 3 means up to four executions. */
  readonly maxRetries: number
  /** Automatic retries after a crash of the node, counted apart. */
  readonly maxCrashRetries: number
  readonly backoff: Backoff
}

/** What a Job or a template says otherwise than its type. What is absent stays as the type says. */
export type RetryOverrides = Partial<RetryPolicy>

/**
 * The policy with some of it changed. Who says only how often a failure is retried says something about crashes too: no
 * retries are none after a crash either, and where there were none at all, crashes have their usual budget again.
 */
export function mergeRetry(policy: RetryPolicy, overrides: RetryOverrides): RetryPolicy {
  const { maxRetries = policy.maxRetries, backoff = policy.backoff } = overrides
  const { maxCrashRetries = crashRetriesBeside(policy, overrides.maxRetries) } = overrides
  return { maxRetries, maxCrashRetries, backoff }
}

function crashRetriesBeside(policy: RetryPolicy, maxRetries: number | undefined): number {
  if (maxRetries === undefined) return policy.maxCrashRetries
  if (maxRetries === 0) return 0
  const forbade = policy.maxRetries === 0 && policy.maxCrashRetries === 0
  return forbade ? DEFAULT_MAX_CRASH_RETRIES : policy.maxCrashRetries
}

/** The retries a chain has used since it was accepted or last retried by hand. */
export interface RetryCounts {
  readonly errorRetries: number
  readonly crashRetries: number
  readonly shutdownRetries: number
}

export const NO_RETRIES_YET: RetryCounts = { errorRetries: 0, crashRetries: 0, shutdownRetries: 0 }

const DEFAULT_MAX_RETRIES = 3
const DEFAULT_MAX_CRASH_RETRIES = 3
const DEFAULT_BACKOFF: Backoff = { kind: 'exponential', baseMs: 10_000, factor: 2, maxMs: 3_600_000, jitter: 0 }

export const DEFAULT_RETRY: RetryPolicy = {
  maxRetries: DEFAULT_MAX_RETRIES,
  maxCrashRetries: DEFAULT_MAX_CRASH_RETRIES,
  backoff: DEFAULT_BACKOFF,
}

/** A shutdown is nobody's fault and charged to no budget, but a chain must not be shut down for ever. */
export const SHUTDOWN_RETRIES_MAX = 10

/** A crash may be the Job's own doing, so the second and third retry after one wait. */
const CRASH_DELAYS_MS = [0, 10_000, 60_000] as const

export type RetryDecision =
  | { readonly kind: 'retry'; readonly runAt: number; readonly counts: RetryCounts }
  | { readonly kind: 'stop'; readonly why: 'not-retryable' | 'vetoed' | 'budget-spent' }

/** The only place that knows whether and when a failed Run is tried again. */
export function decideRetry(input: {
  readonly counts: RetryCounts
  readonly reason: FailureReason
  readonly policy: RetryPolicy
  /** The handler's error or the type's `shouldRetry` said no. It can stop early, never extend. */
  readonly vetoed: boolean
  readonly now: number
  /** A number from 0 up to 1, for the jitter. */
  readonly random: number
}): RetryDecision {
  const { counts, policy, now } = input
  switch (input.reason) {
    case 'error':
    case 'timeout': {
      if (input.vetoed) return { kind: 'stop', why: 'vetoed' }
      if (counts.errorRetries >= policy.maxRetries) return { kind: 'stop', why: 'budget-spent' }
      const runAt = now + backoffDelayMs(policy.backoff, counts.errorRetries, input.random)
      return { kind: 'retry', runAt, counts: { ...counts, errorRetries: counts.errorRetries + 1 } }
    }
    case 'crash': {
      if (counts.crashRetries >= policy.maxCrashRetries) return { kind: 'stop', why: 'budget-spent' }
      const runAt = now + crashDelayMs(counts.crashRetries)
      return { kind: 'retry', runAt, counts: { ...counts, crashRetries: counts.crashRetries + 1 } }
    }
    case 'shutdown': {
      if (policy.maxRetries === 0 || counts.shutdownRetries >= SHUTDOWN_RETRIES_MAX) {
        return { kind: 'stop', why: 'budget-spent' }
      }
      return { kind: 'retry', runAt: now, counts: { ...counts, shutdownRetries: counts.shutdownRetries + 1 } }
    }
    case 'cancelled':
    case 'invalid-params':
    case 'unserialisable-result':
    case 'result-too-large':
      return { kind: 'stop', why: 'not-retryable' }
  }
}

/** How long the retry after `retriesSoFar` earlier ones waits. */
export function backoffDelayMs(backoff: Backoff, retriesSoFar: number, random: number): number {
  switch (backoff.kind) {
    case 'none':
      return 0
    case 'fixed':
      return backoff.delayMs
    case 'exponential': {
      const grownMs = backoff.baseMs === 0 ? 0 : backoff.baseMs * backoff.factor ** retriesSoFar
      const delayMs = Math.min(backoff.maxMs, grownMs)
      return Math.round(delayMs * (1 - backoff.jitter * random))
    }
  }
}

function crashDelayMs(retriesSoFar: number): number {
  return CRASH_DELAYS_MS[Math.min(retriesSoFar, CRASH_DELAYS_MS.length - 1)] ?? 0
}
