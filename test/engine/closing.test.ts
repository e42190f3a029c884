// Closing has an end, whatever the store does, and lets what is under way come to its own.
import { existsSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { defineJob, openScheduler, type Scheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler } from 'pawl/testing'
import { describe, expect, test, vi } from 'vitest'
import { aborted, listeningLogger, newDatabasePath, newGate, openHandle, refusalOf } from '../lifecycle/stage.ts'
import { breakCommits, SQLITE_FULL, sqliteError } from './stage.ts'

const note = defineJob({ type: 'note', run: () => null })

const livesBeside = (path: string) => readdirSync(dirname(path)).filter((name) => name.includes('-node-'))

describe('on a full disk', () => {
  test('a node that executes nothing closes, and the next one finds it dead', async () => {
    const path = newDatabasePath()
    const logger = listeningLogger()
    const scheduler = await openScheduler({ store: sqlite(path), jobs: [note], logger })
    await scheduler.start()
    const { repair } = breakCommits(sqliteError(SQLITE_FULL))
    await scheduler.close()
    repair()
    expect(logger.told.map(({ message }) => message)).toContainEqual(expect.stringContaining('could not sign off'))

    await using next = await openScheduler({ store: sqlite(path), jobs: [note] })
    await next.start()
    expect((await next.listNodes()).map(({ nodeId }) => nodeId)).toEqual([next.nodeId])
    expect(livesBeside(path)).toHaveLength(1)
  })

  test('an outcome that cannot be written is left to recovery after a while', { timeout: 5000 }, async () => {
    const path = newDatabasePath()
    const gate = newGate()
    const work = defineJob({ type: 'work', run: () => gate.passed })
    const stage = await openTestScheduler({ store: sqlite(path), jobs: [work], logger: listeningLogger() })
    const { jobId } = await stage.scheduler.enqueue(work, null)
    await stage.runUntilIdle()
    const { repair } = breakCommits(sqliteError(SQLITE_FULL))
    gate.open()
    await stage.close()
    repair()

    await using next = await openScheduler({ store: sqlite(path), jobs: [work] })
    expect(await next.start()).toMatchObject({ runningJobsRecovered: 1, retriesCreated: 1 })
    expect(await next.findRunOfJob(jobId)).toMatchObject({ status: 'FAILED', reason: 'crash' })
    expect(await next.settled(jobId)).toMatchObject({ outcome: 'COMPLETED', attempts: 2 })
  })

  test('a body that obeys the shutdown has ended, and so has its node, though neither can be written', async () => {
    const path = newDatabasePath()
    const obedient = defineJob({
      type: 'obedient',
      run: ({ attempt, signal }) => (attempt === 1 ? aborted(signal) : null),
    })
    const stage = await openTestScheduler({ store: sqlite(path), jobs: [obedient], logger: listeningLogger() })
    const { jobId } = await stage.scheduler.enqueue(obedient, null)
    await stage.runUntilIdle()
    const { repair } = breakCommits(sqliteError(SQLITE_FULL))
    await stage.close()
    expect(livesBeside(path)).toEqual([])
    repair()

    await using next = await openScheduler({ store: sqlite(path), jobs: [obedient] })
    expect(await next.start()).toMatchObject({ runningJobsRecovered: 1, retriesCreated: 1 })
    expect(await next.settled(jobId)).toMatchObject({ outcome: 'COMPLETED', attempts: 2 })
  })
})

test('a body may use the scheduler to its end, and only then it refuses', async () => {
  const path = newDatabasePath()
  const gate = newGate()
  const work = defineJob({
    type: 'work',
    run: async () => {
      await gate.passed
      const made = await scheduler.enqueue(note, null)
      return (await scheduler.getJob(made.jobId)).status
    },
  })
  const scheduler: Scheduler = await openScheduler({ store: sqlite(path), jobs: [work, note] })
  await scheduler.start()
  const { jobId } = await scheduler.enqueue(work, null)
  await vi.waitFor(() => expect(scheduler.executing).toEqual([jobId]))
  const closed = scheduler.close()
  gate.open()
  await closed
  expect(await refusalOf(() => scheduler.enqueue(note, null))).toMatchObject({ code: 'closed' })

  await using reader = await openScheduler({ store: sqlite(path) })
  expect(await reader.findRunOfJob(jobId)).toMatchObject({ status: 'COMPLETED', result: 'QUEUED' })
})

test('a backup that is under way is finished first', async () => {
  const path = newDatabasePath()
  const copy = `${path}.copy`
  const scheduler = await openScheduler({ store: sqlite(path), jobs: [note] })
  const items = Array.from({ length: 2000 }, (_, index) => ({ type: note, params: `${index} ${'x'.repeat(1000)}` }))
  await scheduler.enqueueMany(items)
  let isBackedUp = false
  const backup = scheduler.backup(copy).then(() => {
    isBackedUp = true
  })
  await scheduler.close()
  expect(isBackedUp).toBe(true)
  await backup

  expect(existsSync(copy)).toBe(true)
  await using restored = await openScheduler({ store: sqlite(copy) })
  expect(await restored.listQueue({ limit: 1 })).toMatchObject([{ params: items[0]?.params }])
})

test('a stop while the start is under way stops what it starts', async () => {
  await using scheduler = await openScheduler({ store: sqlite(newDatabasePath()), jobs: [note] })
  const starting = scheduler.start()
  expect(await scheduler.stop()).toEqual({ stillRunning: [] })
  await starting
  expect(scheduler.isStarted).toBe(false)
  const { jobId } = await scheduler.enqueue(note, null)
  expect((await scheduler.getJob(jobId)).status).toBe('QUEUED')
})

test('while another connection keeps the file locked, closing ends and leaves the outcome to recovery', {
  timeout: 30_000,
}, async () => {
  const path = newDatabasePath()
  const gate = newGate()
  const work = defineJob({ type: 'work', run: () => gate.passed })
  const options = { store: sqlite(path), jobs: [work], logger: listeningLogger(), shutdownTimeoutMs: 100 }
  const scheduler = await openScheduler(options)
  await scheduler.start()
  const { jobId } = await scheduler.enqueue(work, null)
  await vi.waitFor(() => expect(scheduler.executing).toEqual([jobId]))
  const other = openHandle(path)
  other.exec('begin immediate')
  gate.open()
  await scheduler.close()
  other.exec('rollback')
  other.close()

  await using next = await openScheduler({ store: sqlite(path), jobs: [work] })
  expect((await next.start()).runningJobsRecovered).toBe(1)
  expect(await next.findRunOfJob(jobId)).toMatchObject({ status: 'FAILED', reason: 'crash' })
})
