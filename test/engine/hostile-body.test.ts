// Whatever goes wrong around a body is the failure of that body, and the history says what it was.
import { writeFileSync } from 'node:fs'
import { defineJob, type JsonValue, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { listeningLogger, newDatabasePath, refusalOf } from '../lifecycle/stage.ts'

const throwsOnEveryLook = new Proxy(
  {},
  {
    get: () => {
      throw new Error('get')
    },
    getPrototypeOf: () => {
      throw new Error('getPrototypeOf')
    },
  },
)

function errorWithThrowing(key: 'name' | 'message' | 'stack'): Error {
  return Object.defineProperty(new Error('shy'), key, {
    get: () => {
      throw new Error('getter')
    },
  })
}

// Typed as a result that JSON can hold: the types cannot see what it does.
const refusesJson: JsonValue = {
  toJSON: (() => {
    throw Object.create(null)
  }) as never,
}

test.for<[string, () => unknown]>([
  ['an error whose name cannot be read', () => errorWithThrowing('name')],
  ['an error whose message cannot be read', () => errorWithThrowing('message')],
  ['an error whose stack cannot be read', () => errorWithThrowing('stack')],
  ['a proxy that throws on every look', () => throwsOnEveryLook],
  ['an object without a prototype', () => Object.create(null)],
])('a body that throws %s has failed with reason `error`, and is tried again by its policy', async ([, thrown]) => {
  const hostile = defineJob({
    type: 'hostile',
    retry: { maxRetries: 1 },
    run: () => {
      throw thrown()
    },
  })
  await using stage = await openTestScheduler({ store: sqlite(newDatabasePath()), jobs: [hostile] })
  const handle = await stage.scheduler.enqueue(hostile, null)
  await stage.advance('10m')
  expect(await handle.settled()).toMatchObject({ outcome: 'FAILED', reason: 'error', attempts: 2 })
  expect((await stage.scheduler.findRunOfJob(handle.jobId))?.error).toEqual(expect.any(String))
})

test('a result whose toJSON throws what has no text is an `unserialisable-result`', async () => {
  const hostile = defineJob({ type: 'hostile', run: () => refusesJson })
  await using stage = await openTestScheduler({ store: sqlite(newDatabasePath()), jobs: [hostile] })
  const handle = await stage.scheduler.enqueue(hostile, null)
  await stage.advance('10m')
  expect(await handle.settled()).toMatchObject({ outcome: 'FAILED', reason: 'unserialisable-result', attempts: 1 })
})

test('a params schema that throws when the Job runs fails that Job, not the node', async () => {
  let isBroken = false
  const broken = z.string().refine(() => {
    if (isBroken) throw new Error('the schema is broken')
    return true
  })
  const work = defineJob({ type: 'work', params: broken, retry: { maxRetries: 0 }, run: () => null })
  await using stage = await openTestScheduler({ store: sqlite(newDatabasePath()), jobs: [work] })
  const handle = await stage.scheduler.enqueue(work, 'fine', { delayMs: 1000 })
  isBroken = true
  await stage.advance('10m')
  expect(await handle.settled()).toMatchObject({ outcome: 'FAILED', reason: 'error', attempts: 1 })
  expect((await stage.scheduler.findRunOfJob(handle.jobId))?.error).toContain('the schema is broken')
})

test('a name of an artifact that is no text is kept as text', async () => {
  const work = defineJob({ type: 'work', run: ({ addArtifact }) => addArtifact('/out.md', { name: 5n as never }) })
  await using stage = await openTestScheduler({ store: sqlite(newDatabasePath()), jobs: [work] })
  const handle = await stage.scheduler.enqueue(work, null)
  await stage.runUntilIdle()
  const run = await stage.scheduler.findRunOfJob(handle.jobId)
  expect(run).toMatchObject({ status: 'COMPLETED', artifacts: [{ name: '5', path: '/out.md' }] })
})

test('where the folder for logs cannot be made, a command runs all the same, and its output is not kept', async () => {
  const path = newDatabasePath()
  writeFileSync(`${path}-logs`, 'a file where the folder should be')
  const logger = listeningLogger()
  const command = defineJob({ type: 'command', command: ['true'], retry: { maxRetries: 0 } })
  await using scheduler = await openScheduler({ store: sqlite(path), jobs: [command], logger })
  await scheduler.start()
  const handle = await scheduler.enqueue(command, null)
  expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', attempts: 1 })
  expect((await scheduler.findRunOfJob(handle.jobId))?.logPath).toBe(null)
  expect(logger.told.map(({ message }) => message)).toEqual([expect.stringContaining('output is not kept')])
})

test('a follow-up that is asked for after the end is refused, and is not made', async () => {
  let askLater: () => Promise<string> = () => Promise.resolve('')
  const work = defineJob({
    type: 'work',
    run: ({ enqueue }) => {
      askLater = () => enqueue('work', null)
    },
  })
  await using stage = await openTestScheduler({ store: sqlite(newDatabasePath()), jobs: [work] })
  await stage.scheduler.enqueue(work, null)
  await stage.runUntilIdle()
  await expect(askLater()).rejects.toThrow('The run has ended')
  await stage.runUntilIdle()
  expect((await stage.scheduler.listJobs()).items).toHaveLength(1)
})

test('a shouldRetry that answers with a promise is told to the operator and ignored', async () => {
  const work = defineJob({
    type: 'work',
    retry: { maxRetries: 2, shouldRetry: (async () => false) as never },
    run: () => {
      throw new Error('no luck')
    },
  })
  const logger = listeningLogger()
  await using stage = await openTestScheduler({ store: sqlite(newDatabasePath()), jobs: [work], logger })
  const handle = await stage.scheduler.enqueue(work, null)
  await stage.advance('10m')
  expect(await handle.settled()).toMatchObject({ outcome: 'FAILED', attempts: 3 })
  expect(logger.told.map(({ message }) => message)).toContainEqual(expect.stringContaining('shouldRetry failed'))
})

test('a shouldRetry among the options of one request is refused: a function cannot be stored', async () => {
  const work = defineJob({ type: 'work', run: () => null })
  await using stage = await openTestScheduler({ store: sqlite(newDatabasePath()), jobs: [work] })
  const retry = { maxRetries: 1, shouldRetry: () => false }
  const refusal = await refusalOf(() => stage.scheduler.enqueue(work, null, { retry }))
  expect(refusal).toMatchObject({ code: 'invalid_option', path: 'retry.shouldRetry' })
})
