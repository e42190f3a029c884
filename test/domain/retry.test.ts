import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type BackoffOptions,
  RETRIES_MAX,
  type RetryOptions,
  readRetryOptions,
  readRetryOverrides,
} from '../../src/domain/options.ts'
import {
  type Backoff,
  backoffDelayMs,
  decideRetry,
  mergeRetry,
  NO_RETRIES_YET,
  type RetryCounts,
  type RetryPolicy,
  SHUTDOWN_RETRIES_MAX,
} from '../../src/domain/retry.ts'
import type { FailureReason } from '../../src/domain/run.ts'

const NOW = Date.UTC(2026, 0, 1)

function decide(
  reason: FailureReason,
  {
    counts = {},
    retry = {},
    vetoed = false,
    random = 0,
  }: {
    counts?: Partial<RetryCounts>
    retry?: RetryOptions
    vetoed?: boolean
    random?: number
  } = {},
) {
  const policy = readRetryOptions(retry)
  return decideRetry({ counts: { ...NO_RETRIES_YET, ...counts }, reason, policy, vetoed, now: NOW, random })
}

/** The delays, in seconds, of a chain that fails for this reason again and again. */
function delaysOf(reason: FailureReason, retry: RetryOptions = {}): number[] {
  const delays: number[] = []
  let counts = NO_RETRIES_YET
  for (;;) {
    const decision = decide(reason, { counts, retry })
    if (decision.kind === 'stop') return delays
    delays.push((decision.runAt - NOW) / 1000)
    counts = decision.counts
  }
}

describe('decideRetry', () => {
  test.each<[FailureReason, number[]]>([
    ['error', [10, 20, 40]],
    ['timeout', [10, 20, 40]],
    ['crash', [0, 10, 60]],
    ['shutdown', [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]],
    ['cancelled', []],
    ['invalid-params', []],
    ['unserialisable-result', []],
    ['result-too-large', []],
  ])('tries again after %s with the delays %j', (reason, delays) => {
    expect(delaysOf(reason)).toEqual(delays)
  })

  test('never tries again, for whatever reason, when `maxRetries` is 0', () => {
    for (const reason of ['error', 'timeout', 'crash', 'shutdown'] as const) {
      expect(delaysOf(reason, { maxRetries: 0 })).toEqual([])
    }
  })

  test('allows crashes when only they are allowed', () => {
    expect(delaysOf('crash', { maxRetries: 0, maxCrashRetries: 2 })).toEqual([0, 10])
  })

  test('goes on with the last delay when more crashes are allowed than delays are known', () => {
    expect(delaysOf('crash', { maxCrashRetries: 5 })).toEqual([0, 10, 60, 60, 60])
  })

  test.each<[FailureReason, keyof RetryCounts]>([
    ['error', 'errorRetries'],
    ['timeout', 'errorRetries'],
    ['crash', 'crashRetries'],
    ['shutdown', 'shutdownRetries'],
  ])('charges %s to %s and to nothing else', (reason, charged) => {
    const counts = { errorRetries: 1, crashRetries: 1, shutdownRetries: 1 }
    expect(decide(reason, { counts })).toMatchObject({ kind: 'retry', counts: { ...counts, [charged]: 2 } })
  })

  test('keeps the budgets apart: a spent one does not stop another reason', () => {
    expect(decide('crash', { counts: { errorRetries: 3 } }).kind).toBe('retry')
    expect(decide('error', { counts: { crashRetries: 3, shutdownRetries: SHUTDOWN_RETRIES_MAX } }).kind).toBe('retry')
    expect(decide('shutdown', { counts: { errorRetries: 3, crashRetries: 3 } }).kind).toBe('retry')
  })

  test('obeys a veto of the handler about its own failure', () => {
    expect(decide('error', { vetoed: true })).toEqual({ kind: 'stop', why: 'vetoed' })
    expect(decide('crash', { vetoed: true }).kind).toBe('retry')
  })

  test('obeys every budget, whatever happens in whatever order', () => {
    const reason = fc.constantFrom<FailureReason>('error', 'timeout', 'crash', 'shutdown')
    fc.assert(
      fc.property(fc.array(reason, { maxLength: 60 }), policies(), (reasons, retry) => {
        const policy = readRetryOptions(retry)
        let counts = NO_RETRIES_YET
        let retries = 0
        for (const next of reasons) {
          const decision = decide(next, { counts, retry })
          if (decision.kind === 'stop') break
          retries++
          expect(decision.runAt).toBeGreaterThanOrEqual(NOW)
          counts = decision.counts
        }
        expect(counts.errorRetries + counts.crashRetries + counts.shutdownRetries).toBe(retries)
        expect(counts.errorRetries).toBeLessThanOrEqual(policy.maxRetries)
        expect(counts.crashRetries).toBeLessThanOrEqual(policy.maxCrashRetries)
        expect(counts.shutdownRetries).toBeLessThanOrEqual(SHUTDOWN_RETRIES_MAX)
      }),
    )
  })

  test('is a function of its arguments alone', () => {
    fc.assert(
      fc.property(policies(), fc.double({ min: 0, max: 1, noNaN: true }), (retry, random) => {
        expect(decide('error', { retry, random })).toEqual(decide('error', { retry, random }))
      }),
    )
  })
})

describe('backoffDelayMs', () => {
  const exponential = (changes: Partial<Backoff & { kind: 'exponential' }> = {}): Backoff => ({
    kind: 'exponential',
    baseMs: 10_000,
    factor: 2,
    maxMs: 3_600_000,
    jitter: 0,
    ...changes,
  })

  test('waits not at all, always the same, or longer each time up to the cap', () => {
    const first = (backoff: Backoff, count: number) =>
      Array.from({ length: count }, (_, retries) => backoffDelayMs(backoff, retries, 0))
    expect(first({ kind: 'none' }, 3)).toEqual([0, 0, 0])
    expect(first({ kind: 'fixed', delayMs: 500 }, 3)).toEqual([500, 500, 500])
    expect(first(exponential(), 10).map((ms) => ms / 1000)).toEqual([10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600])
    expect(first(exponential({ factor: 1 }), 3)).toEqual([10_000, 10_000, 10_000])
  })

  test('takes away at most the fraction that jitter allows', () => {
    expect(backoffDelayMs(exponential({ jitter: 0.5 }), 0, 0)).toBe(10_000)
    expect(backoffDelayMs(exponential({ jitter: 0.5 }), 0, 0.5)).toBe(7_500)
    expect(backoffDelayMs(exponential({ jitter: 1 }), 0, 0.75)).toBe(2_500)
  })

  test('is a whole number from 0 to the cap, for every backoff that a caller can give and every retry', () => {
    fc.assert(
      fc.property(
        backoffs(),
        fc.nat(RETRIES_MAX),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (options, retries, random) => {
          const { backoff } = readRetryOptions({ backoff: options })
          const delayMs = backoffDelayMs(backoff, retries, random)
          expect(Number.isSafeInteger(delayMs)).toBe(true)
          expect(delayMs).toBeGreaterThanOrEqual(0)
          expect(delayMs).toBeLessThanOrEqual(capOf(backoff))
        },
      ),
      // Found once, and kept: nothing, doubled often enough, was not a number.
      { examples: [[{ kind: 'exponential', baseMs: 0, factor: 100 }, 200, 0]] },
    )
  })

  test('never shortens by more than the jitter, and without jitter never shrinks from one retry to the next', () => {
    fc.assert(
      fc.property(backoffs(), fc.nat(50), fc.double({ min: 0, max: 1, noNaN: true }), (options, retries, random) => {
        const { backoff } = readRetryOptions({ backoff: options })
        const full = backoffDelayMs(backoff, retries, 0)
        const jitter = backoff.kind === 'exponential' ? backoff.jitter : 0
        expect(backoffDelayMs(backoff, retries, random)).toBeGreaterThanOrEqual(Math.floor(full * (1 - jitter)))
        expect(backoffDelayMs(backoff, retries + 1, 0)).toBeGreaterThanOrEqual(full)
      }),
    )
  })
})

describe('readRetryOptions', () => {
  test('fills in what is left out', () => {
    expect(readRetryOptions()).toEqual({
      maxRetries: 3,
      maxCrashRetries: 3,
      backoff: { kind: 'exponential', baseMs: 10_000, factor: 2, maxMs: 3_600_000, jitter: 0 },
    } satisfies RetryPolicy)
    expect(readRetryOptions({ backoff: { kind: 'exponential', baseMs: 5 } }).backoff).toEqual({
      kind: 'exponential',
      baseMs: 5,
      factor: 2,
      maxMs: 3_600_000,
      jitter: 0,
    })
  })

  test('forbids crash retries with retries, unless they are asked for', () => {
    expect(readRetryOptions({ maxRetries: 0 }).maxCrashRetries).toBe(0)
    expect(readRetryOptions({ maxRetries: 0, maxCrashRetries: 1 }).maxCrashRetries).toBe(1)
  })

  test('said of a Job is laid over what its type says, field by field', () => {
    const type: RetryPolicy = { maxRetries: 7, maxCrashRetries: 5, backoff: { kind: 'fixed', delayMs: 9 } }
    const over = (options: RetryOptions, policy = type) => mergeRetry(policy, readRetryOverrides(options))
    expect(over({})).toEqual(type)
    expect(over({ backoff: { kind: 'none' } })).toEqual({ ...type, backoff: { kind: 'none' } })
    expect(over({ maxCrashRetries: 1 })).toEqual({ ...type, maxCrashRetries: 1 })
    expect(over({ maxRetries: 2 })).toEqual({ ...type, maxRetries: 2 })
    expect(over({ maxRetries: 0 })).toEqual({ ...type, maxRetries: 0, maxCrashRetries: 0 })
    expect(over({ maxRetries: 0, maxCrashRetries: 4 })).toEqual({ ...type, maxRetries: 0, maxCrashRetries: 4 })
  })

  test('gives crashes their usual budget where the type forbade all retries', () => {
    const never = readRetryOptions({ maxRetries: 0 })
    expect(mergeRetry(never, { maxRetries: 2 })).toMatchObject({ maxRetries: 2, maxCrashRetries: 3 })
    expect(mergeRetry({ ...never, maxCrashRetries: 1 }, { maxRetries: 2 })).toMatchObject({ maxCrashRetries: 1 })
  })

  test.each<[string, object]>([
    ['retry.maxRetries', { maxRetries: -1 }],
    ['retry.maxRetries', { maxRetries: 1.5 }],
    ['retry.maxRetries', { maxRetries: '3' }],
    ['retry.maxRetries', { maxRetries: 1001 }],
    ['retry.maxCrashRetries', { maxCrashRetries: Number.NaN }],
    ['retry.maxretries', { maxretries: 3 }],
    ['retry.backoff.kind', { backoff: { kind: 'linear' } }],
    ['retry.backoff', { backoff: null }],
    ['retry.backoff.delayMs', { backoff: { kind: 'fixed' } }],
    ['retry.backoff.delayMs', { backoff: { kind: 'fixed', delayMs: -1 } }],
    ['retry.backoff.baseMs', { backoff: { kind: 'exponential', baseMs: Number.POSITIVE_INFINITY } }],
    ['retry.backoff.factor', { backoff: { kind: 'exponential', baseMs: 1, factor: 0.5 } }],
    ['retry.backoff.jitter', { backoff: { kind: 'exponential', baseMs: 1, jitter: 1.5 } }],
    ['retry.backoff.delayMs', { backoff: { kind: 'none', delayMs: 1 } }],
  ])('refuses %s in %j and names it', (path, options) => {
    expect(() => readRetryOptions(options as RetryOptions)).toThrowError(
      expect.objectContaining({ name: 'PawlError', code: 'invalid_option', path }),
    )
  })
})

function capOf(backoff: Backoff): number {
  switch (backoff.kind) {
    case 'none':
      return 0
    case 'fixed':
      return backoff.delayMs
    case 'exponential':
      return backoff.maxMs
  }
}

function backoffs(): fc.Arbitrary<BackoffOptions> {
  const delayMs = fc.nat(365 * 24 * 3_600_000)
  return fc.oneof(
    fc.constant<BackoffOptions>({ kind: 'none' }),
    fc.record({ kind: fc.constant('fixed' as const), delayMs }),
    fc.record({
      kind: fc.constant('exponential' as const),
      baseMs: fc.oneof(delayMs, fc.constant(0)),
      factor: fc.double({ min: 1, max: 100, noNaN: true }),
      maxMs: delayMs,
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  )
}

function policies(): fc.Arbitrary<RetryOptions> {
  return fc.record({ maxRetries: fc.nat(20), maxCrashRetries: fc.nat(20), backoff: backoffs() })
}
