import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chainOutcome } from '../../src/domain/chain.ts'
import { decideHold, JOB_TYPE_PATTERN, type JobStatus, jobStatusAfter } from '../../src/domain/job.ts'
import type { FailureReason } from '../../src/domain/run.ts'
import { isEnded, JOB_TRANSITIONS, type JobTransition, nextJobStatus } from '../../src/domain/transitions.ts'

const STATUSES: readonly JobStatus[] = ['QUEUED', 'RUNNING', 'CANCELLED', 'FINISHED']
const TRANSITIONS: readonly JobTransition[] = ['claim', 'cancel', 'finish', 'finish-cancelled']

describe('the table of transitions', () => {
  test.each<[JobStatus, JobTransition, JobStatus | null]>([
    ['QUEUED', 'claim', 'RUNNING'],
    ['QUEUED', 'cancel', 'CANCELLED'],
    ['QUEUED', 'finish', null],
    ['QUEUED', 'finish-cancelled', null],
    ['RUNNING', 'finish', 'FINISHED'],
    ['RUNNING', 'finish-cancelled', 'CANCELLED'],
    ['RUNNING', 'claim', null],
    ['RUNNING', 'cancel', null],
    ...(['CANCELLED', 'FINISHED'] as const).flatMap((from) =>
      TRANSITIONS.map((transition): [JobStatus, JobTransition, null] => [from, transition, null]),
    ),
  ])('from %s by %s leads to %s', (from, transition, to) => {
    expect(nextJobStatus(from, transition)).toBe(to)
  })

  test('only leads forward: nothing comes back to QUEUED, and an end is an end', () => {
    const targets = STATUSES.flatMap((status) => Object.values(JOB_TRANSITIONS[status]))
    expect(targets).not.toContain('QUEUED')
    for (const status of STATUSES) expect(Object.keys(JOB_TRANSITIONS[status]).length === 0).toBe(isEnded(status))
  })

  test('ends every life after at most two steps, whatever is tried', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...TRANSITIONS)), (tried) => {
        let status: JobStatus = 'QUEUED'
        let steps = 0
        for (const transition of tried) {
          const next = nextJobStatus(status, transition)
          if (next === null) continue
          status = next
          steps++
        }
        expect(steps).toBeLessThanOrEqual(2)
      }),
    )
  })
})

describe('jobStatusAfter', () => {
  const failed = (reason: FailureReason) =>
    jobStatusAfter({ status: 'FAILED', reason, error: '', stack: null, exitCode: null })

  test('is FINISHED for every outcome but an abort that was carried out', () => {
    expect(jobStatusAfter({ status: 'COMPLETED', result: 'null', exitCode: null })).toBe('FINISHED')
    expect(jobStatusAfter({ status: 'SKIPPED', message: '' })).toBe('FINISHED')
    for (const reason of ['error', 'timeout', 'crash', 'shutdown', 'invalid-params'] as const) {
      expect(failed(reason)).toBe('FINISHED')
    }
    expect(failed('cancelled')).toBe('CANCELLED')
  })
})

describe('chainOutcome', () => {
  test('is that of the last Job, once it has ended', () => {
    expect(chainOutcome({ status: 'QUEUED', outcome: null })).toBeNull()
    expect(chainOutcome({ status: 'RUNNING', outcome: null })).toBeNull()
    expect(chainOutcome({ status: 'FINISHED', outcome: 'SKIPPED' })).toBe('SKIPPED')
    expect(chainOutcome({ status: 'CANCELLED', outcome: null })).toBe('CANCELLED')
    expect(chainOutcome({ status: 'CANCELLED', outcome: 'FAILED' })).toBe('CANCELLED')
  })
})

describe('decideHold', () => {
  test('names what only others can lift first', () => {
    expect(decideHold({ runAt: 10, awaitsPredecessor: true, awaits: 'nobody' }, 5)).toBe('predecessor')
    expect(decideHold({ runAt: 10, awaitsPredecessor: true, awaits: 'nobody' }, 10)).toBe('predecessor')
    expect(decideHold({ runAt: 10, awaitsPredecessor: false, awaits: 'nobody' }, 9)).toBe('delayed')
    expect(decideHold({ runAt: 10, awaitsPredecessor: false, awaits: 'nobody' }, 10)).toBeNull()
  })
})

describe('type names', () => {
  test.each(['a', '0', 'send-mail', 'a.b_c-d', `a${'b'.repeat(127)}`])('allow %s', (name) =>
    expect(JOB_TYPE_PATTERN.test(name)).toBe(true),
  )
  test.each(['', 'A', '-a', '.a', 'a b', 'a/b', 'ä', 'a\n', `a${'b'.repeat(128)}`])('refuse %j', (name) =>
    expect(JOB_TYPE_PATTERN.test(name)).toBe(false),
  )
})
