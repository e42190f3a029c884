// A node whose way to the database is cut: what it may go on with, what it must stop, and that it goes on by itself.
import { expect, test, vi } from 'vitest'
import { defineJob } from '../../src/library/define-job.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { openTestScheduler } from '../../src/testing/index.ts'
import { aborted, listeningLogger, newDatabasePath, newGate } from '../lifecycle/stage.ts'
import { FarSource } from './far-store.ts'

function newFarSource(): FarSource {
  return new FarSource(sqlite(newDatabasePath()))
}

test('a node that cannot prove that it lives claims nothing, and goes on by itself when it can', async () => {
  const store = newFarSource()
  const logger = listeningLogger()
  const work = defineJob({ type: 'work', run: () => 'done' })
  await using stage = await openTestScheduler({ store, jobs: [work], logger })
  store.standing = 'silent'
  const handle = await stage.scheduler.enqueue(work, null)
  await stage.advance('1m')
  expect((await handle.get()).status).toBe('QUEUED')
  store.standing = 'sound'
  await stage.advance('1s')

  expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
  expect(logger.told.map(({ message }) => message)).toEqual([
    'This node cannot prove to others that it lives; until it can, it claims nothing',
    'This node can prove again that it lives; it goes on',
  ])
})

test('before others may take it for dead, it stops the bodies that hold resources, and no others', async () => {
  const store = newFarSource()
  const gate = newGate()
  const reasons: unknown[] = []
  const retry = { maxRetries: 0, maxCrashRetries: 1 }
  const exclusive = defineJob({
    type: 'exclusive',
    resources: ['gpu'],
    retry,
    run: async ({ attempt, signal }) => {
      if (attempt > 1) return 'again'
      await aborted(signal)
      reasons.push((signal.reason as Error).cause)
      throw signal.reason
    },
  })
  const free = defineJob({ type: 'free', retry, run: () => gate.passed })
  const jobs = [exclusive, free]
  await using stage = await openTestScheduler({
    store,
    jobs,
    concurrency: 2,
    resources: { gpu: 1 },
    logger: listeningLogger(),
  })
  const [stopped, going] = await stage.scheduler.enqueueMany([
    { type: exclusive, params: null },
    { type: free, params: null },
  ])
  await stage.runUntilIdle()
  store.cut()
  store.standing = 'silent'
  await stage.advance('2s')
  expect(reasons).toEqual([])
  store.standing = 'fading'
  await stage.advance('1s')
  expect(reasons).toEqual(['disconnected'])
  store.mend()
  store.standing = 'sound'
  await stage.advance('1s')

  expect(await stage.scheduler.findRunOfJob(stopped.jobId)).toMatchObject({
    status: 'FAILED',
    reason: 'crash',
    error:
      'This node lost its connection to the database; the body was stopped before another node could start it again.',
  })
  expect(await stopped.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'again', attempts: 2 })
  gate.open()
  expect(await going.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
})

test('a claim that is answered when others may have taken it over starts nothing; what it took is tried again', async () => {
  const store = newFarSource()
  const attempts: number[] = []
  const work = defineJob({ type: 'work', run: ({ attempt }) => void attempts.push(attempt) })
  await using stage = await openTestScheduler({ store, jobs: [work], logger: listeningLogger() })
  await stage.runUntilIdle()
  const answers = store.holdAnswers('claimJobs')
  const handle = await stage.scheduler.enqueue(work, null)
  await vi.waitFor(async () => expect((await handle.get()).status).toBe('RUNNING'))
  store.standing = 'fading'
  answers.letGo()
  await stage.runUntilIdle()
  expect(attempts).toEqual([])
  store.standing = 'sound'
  await stage.advance('5s')

  expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 2 })
  expect(attempts).toEqual([2])
})

test('a minute without the database costs no outcome and no report, and is told once for each thing that waits', async () => {
  const store = newFarSource()
  const logger = listeningLogger()
  const gate = newGate()
  let executions = 0
  const work = defineJob({
    type: 'work',
    run: async ({ log }) => {
      executions++
      log.info('before')
      await gate.passed
      log.info('after')
      return 'the effect'
    },
  })
  await using stage = await openTestScheduler({ store, jobs: [work], logger, concurrency: 3 })
  const listened = vi.fn()
  stage.scheduler.on('job.finished', listened)
  const handle = await stage.scheduler.enqueue(work, null)
  await stage.runUntilIdle()
  store.cut()
  await stage.advance('30s')
  gate.open()
  await stage.advance('30s')
  const told = logger.told.map(({ message, fields }) => JSON.stringify([message, fields['task']]))
  expect(told).toEqual([...new Set(told)])
  expect(told.length).toBeLessThanOrEqual(11)
  store.mend()
  await stage.advance('10s')

  expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'the effect', attempts: 1 })
  expect(executions).toBe(1)
  expect(listened).toHaveBeenCalledOnce()
  const run = await stage.scheduler.findRunOfJob(handle.jobId)
  const lines = await stage.scheduler.readLogs(run?.runId ?? '')
  expect(lines.map(({ text }) => text)).toEqual(['before', 'after'])
  const next = await stage.scheduler.enqueue(work, null)
  expect(await next.settled()).toMatchObject({ outcome: 'COMPLETED' })
})

test('an outcome whose answer was lost is written once', async () => {
  const store = newFarSource()
  const work = defineJob({ type: 'work', run: () => 'the effect' })
  await using stage = await openTestScheduler({ store, jobs: [work], logger: listeningLogger() })
  store.loseNextAnswer('finishRuns')
  const handle = await stage.scheduler.enqueue(work, null)
  await stage.advance('1s')
  expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'the effect', attempts: 1 })
})

test('a job that is stopped before it could begin does not begin any more', async () => {
  const store = newFarSource()
  const begun = vi.fn()
  const parent = defineJob({ type: 'parent', run: () => 1 })
  const child = defineJob({
    type: 'child',
    resources: ['gpu'],
    retry: { maxRetries: 0, maxCrashRetries: 0 },
    run: begun,
  })
  await using stage = await openTestScheduler({
    store,
    jobs: [parent, child],
    resources: { gpu: 1 },
    logger: listeningLogger(),
  })
  const results = store.holdCalls('findParentResults')
  const first = await stage.scheduler.enqueue(parent, null)
  const second = await stage.scheduler.enqueue(child, null, { dependsOn: [first.jobId] })
  await vi.waitFor(async () => expect((await second.get()).status).toBe('RUNNING'))
  store.standing = 'fading'
  stage.clock.set(stage.clock.now() + 1_000)
  results.letGo()
  await stage.runUntilIdle()
  store.standing = 'sound'
  await stage.advance('1s')

  expect(await second.settled()).toMatchObject({ outcome: 'FAILED', attempts: 1 })
  expect(begun).not.toHaveBeenCalled()
})

test('a scheduler can be closed while the database is away', async () => {
  const store = newFarSource()
  const logger = listeningLogger()
  const stage = await openTestScheduler({ store, jobs: [], logger })
  store.cut()
  await stage.close()
  expect(logger.told.map(({ message }) => message)).toContain(
    'This node could not sign off; others find it dead, and recover what it left',
  )
})
