// What cannot be written fails alone: neither the outcomes nor the logs of its neighbours are lost with it.
import { defineJob, type JobHandle } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler } from 'pawl/testing'
import { expect, test } from 'vitest'
import { listeningLogger, newDatabasePath, newGate } from '../lifecycle/stage.ts'
import { libraryThatRefuses } from './stage.ts'

const POISON = 'poison'
const refusing = () => sqlite(newDatabasePath(), { driver: libraryThatRefuses(POISON) })

test('an outcome that cannot be written fails its own run; those that ended in the same turn keep theirs and run once', async () => {
  const gate = newGate()
  const executions: string[] = []
  const work = defineJob({
    type: 'work',
    run: async ({ jobId, params }) => {
      executions.push(jobId)
      await gate.passed
      return params === null ? POISON : params
    },
  })
  const logger = listeningLogger()
  await using stage = await openTestScheduler({ store: refusing(), jobs: [work], concurrency: 4, logger })
  const { scheduler } = stage
  const handles = await scheduler.enqueueMany(['a', null, 'b', 'c'].map((params) => ({ type: work, params })))
  await stage.runUntilIdle()
  expect(executions).toHaveLength(4)
  gate.open()
  await stage.advance('10m')

  const ends = await Promise.all(handles.map((handle) => handle.settled()))
  expect(ends.map(({ outcome, result, attempts }) => [outcome, result, attempts])).toEqual([
    ['COMPLETED', 'a', 1],
    ['FAILED', null, 1],
    ['COMPLETED', 'b', 1],
    ['COMPLETED', 'c', 1],
  ])
  expect(executions).toHaveLength(4)
  const run = await scheduler.findRunOfJob(handles[1]?.jobId ?? '')
  expect(run).toMatchObject({ status: 'FAILED', reason: 'error' })
  expect(run?.error).toContain('could not be written: not a value I know')
  expect(logger.told.filter(({ level }) => level === 'error')).toHaveLength(1)
})

test('a follow-up that cannot be written fails the run that asked for it, and is not made', async () => {
  const work = defineJob({
    type: 'work',
    run: ({ params, enqueue }) => {
      if (params === 'asks') void enqueue('work', POISON)
    },
  })
  await using stage = await openTestScheduler({
    store: refusing(),
    jobs: [work],
    concurrency: 2,
    logger: listeningLogger(),
  })
  const asks = await stage.scheduler.enqueue(work, 'asks')
  const other = await stage.scheduler.enqueue(work, 'other')
  await stage.advance('10m')
  expect(await asks.settled()).toMatchObject({ outcome: 'FAILED', reason: 'error', attempts: 1 })
  expect(await other.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
  expect((await stage.scheduler.listJobs()).items).toHaveLength(2)
})

test('a last line that cannot be written fails its run, and does not leave it open', async () => {
  const talk = defineJob({
    type: 'talk',
    retry: { maxRetries: 0 },
    run: ({ log }) => {
      log.info(POISON)
      return 'fine'
    },
  })
  await using stage = await openTestScheduler({ store: refusing(), jobs: [talk], logger: listeningLogger() })
  const handle = await stage.scheduler.enqueue(talk, null)
  await stage.advance('10m')
  expect(await handle.settled()).toMatchObject({ outcome: 'FAILED', reason: 'error' })
})

test('a line that cannot be written is lost alone: the lines of other bodies are kept, and its own body goes on', async () => {
  const gate = newGate()
  const talk = defineJob({
    type: 'talk',
    run: async ({ params, log }) => {
      log.info(params === 'bad' ? POISON : (params as string))
      await gate.passed
    },
  })
  const logger = listeningLogger()
  await using stage = await openTestScheduler({ store: refusing(), jobs: [talk], concurrency: 3, logger })
  const { scheduler } = stage
  const handles: JobHandle[] = []
  for (const params of ['one', 'bad', 'two']) handles.push(await scheduler.enqueue(talk, params))
  const linesOf = async (index: number) => {
    const run = await scheduler.findRunOfJob(handles[index]?.jobId ?? '')
    return (await scheduler.readLogs(run?.runId ?? '')).map(({ text }) => text)
  }
  await stage.advance('2s')
  expect([await linesOf(0), await linesOf(1), await linesOf(2)]).toEqual([['one'], [], ['two']])
  expect(logger.told.map(({ message }) => message)).toEqual([expect.stringContaining('were dropped')])
  gate.open()
  await stage.runUntilIdle()
  expect((await Promise.all(handles.map((handle) => handle.get()))).map(({ outcome }) => outcome)).toEqual(
    Array(3).fill('COMPLETED'),
  )
})
