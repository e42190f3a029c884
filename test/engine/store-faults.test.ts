// A store that cannot write for a moment costs time, never an outcome.
import { defineJob } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler } from 'pawl/testing'
import { expect, test } from 'vitest'
import { aborted, listeningLogger, newDatabasePath, newGate } from '../lifecycle/stage.ts'
import { breakCommits, failOnce, SQLITE_FULL, sqliteError } from './stage.ts'

test.for([
  { name: 'out of memory', errcode: 7 },
  { name: 'interrupted', errcode: 9 },
  { name: 'I/O error on sync', errcode: 10 | (4 << 8) },
  { name: 'disk full', errcode: SQLITE_FULL },
  { name: 'locking protocol', errcode: 15 },
  { name: 'schema changed', errcode: 17 },
])('an outcome that meets "$name" is written when it can be: the body runs once', async ({ errcode }) => {
  const gate = newGate()
  let executions = 0
  const work = defineJob({
    type: 'work',
    run: async () => {
      executions++
      await gate.passed
      return 'the effect'
    },
  })
  await using stage = await openTestScheduler({
    store: sqlite(newDatabasePath()),
    jobs: [work],
    logger: listeningLogger(),
  })
  const handle = await stage.scheduler.enqueue(work, null)
  await stage.runUntilIdle()
  const { repair } = breakCommits(sqliteError(errcode))
  gate.open()
  await stage.advance('30s')
  expect((await handle.get()).status).toBe('RUNNING')
  repair()
  await stage.advance('10m')

  expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'the effect', attempts: 1 })
  expect(executions).toBe(1)
})

test('a place is given back after an outcome that was written late: the retry starts at once', async () => {
  const starts: number[] = []
  const obedient = defineJob({
    type: 'obedient',
    timeoutMs: 1000,
    retry: { maxRetries: 1, backoff: { kind: 'none' } },
    run: async ({ attempt, signal }) => {
      starts.push(stage.clock.now())
      if (attempt === 1) await aborted(signal)
    },
  })
  await using stage = await openTestScheduler({
    store: sqlite(newDatabasePath()),
    jobs: [obedient],
    logger: listeningLogger(),
  })
  const handle = await stage.scheduler.enqueue(obedient, null)
  await stage.advance(999)
  const hasFailed = failOnce('store:before-commit', sqliteError(SQLITE_FULL))
  await stage.advance('1s')

  expect(hasFailed()).toBe(true)
  expect(starts.map((at) => at - (starts[0] ?? 0))).toEqual([0, 1250])
  expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 2 })
})
