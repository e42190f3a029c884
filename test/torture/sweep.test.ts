import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Place } from '../../torture/sweep/database.ts'
import { NOW, newJob } from '../../torture/sweep/fixtures.ts'
import { findUnswept } from '../../torture/sweep/methods.ts'
import { openSqlitePlace } from '../../torture/sweep/sqlite-place.ts'
import type { Operation } from '../../torture/sweep/stage.ts'
import { sweepOperation } from '../../torture/sweep/sweep-operation.ts'
import { runShort } from './stage.ts'

// Every operation of a store is broken off before its first statement, before its second, and so on until it passes whole, and
// then its answer is lost. On PostgreSQL the same operations are swept by test/postgres/sweep.

let place: Place

beforeAll(async () => {
  place = await openSqlitePlace()
})

afterAll(() => place.remove())

test('nothing of an operation that breaks off is stored, and one whose answer is lost is there whole, once', {
  timeout: 300_000,
}, async () => {
  const { outcome } = await runShort('sweep')
  const { operations = 0, 'break-offs': breakOffs, 'lost answers': lostAnswers } = outcome.counts
  expect(outcome.violations).toEqual([])
  expect(operations).toBeGreaterThan(100)
  expect(breakOffs).toBeGreaterThan(10 * operations)
  expect(lostAnswers).toBe(operations)
})

test('a method that writes, and that no operation calls, is a hole', () => {
  expect(findUnswept(new Set(['enqueueJobs']))).toContain('finishRuns')
  expect(findUnswept(new Set(['enqueueJobs']))).not.toContain('enqueueJobs')
  expect(findUnswept(new Set())).not.toContain('findJob')
})

const faultsOf = async (operation: Operation) => (await sweepOperation(operation, place)).faults

test('an operation that is two transactions is found', async () => {
  const faults = await faultsOf({
    name: 'enqueue, and enqueue',
    prepare: async (stage) => async () => {
      await stage.store.enqueueJobs([newJob({ idempotency: { key: 'a', fingerprint: 'f' } })], NOW)
      await stage.store.enqueueJobs([newJob({ idempotency: { key: 'b', fingerprint: 'f' } })], NOW)
    },
  })
  expect(faults.join('\n')).toContain('it had changed something')
})

test('one that does more when it is asked again is found', async () => {
  const faults = await faultsOf({
    name: 'enqueue of another Job each time',
    prepare: async (stage) => () => stage.store.enqueueJobs([newJob()], NOW),
  })
  expect(faults).toEqual([expect.stringContaining('asked once more, it changed something: pawl_jobs')])
})

test('one that leaves a contradiction is found', async () => {
  const faults = await faultsOf({
    name: 'enqueue, and damage',
    prepare: async (stage) => {
      const job = newJob({ businessKey: 'b', idempotency: { key: 'i', fingerprint: 'f' } })
      return async () => {
        await stage.store.enqueueJobs([job], NOW)
        await stage.database.damage('delete from pawl_business_keys')
      }
    },
  })
  expect(faults.join('\n')).toContain('I10')
})

test('one that does nothing is found', async () => {
  const faults = await faultsOf({ name: 'nothing', prepare: async () => async () => undefined })
  expect(faults).toContain('was done whole, and nothing has changed')
})
