// What only listens stops nothing: a logger, a listener, the watcher of the file.
import { closeSync, openSync, statSync, truncateSync, writeSync } from 'node:fs'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { listeningLogger, newDatabasePath } from '../lifecycle/stage.ts'
import { failOnce, libraryWith } from './stage.ts'

const note = defineJob({ type: 'note', run: () => null })

const throwing = () => {
  throw new Error('broken bystander')
}
const brokenLogger = { info: throwing, warn: throwing, error: throwing }

test('a listener that throws, and a logger that throws about it, stop no commit', async () => {
  await using stage = await openTestScheduler({
    store: sqlite(newDatabasePath()),
    jobs: [note],
    logger: brokenLogger,
  })
  const { scheduler } = stage
  for (const kind of ['job.queued', 'job.started', 'job.finished'] as const) scheduler.on(kind, throwing)
  await stage.runUntilIdle()
  for (let round = 0; round < 3; round++) {
    const handle = await scheduler.enqueue(note, null)
    await stage.runUntilIdle()
    expect((await handle.get()).outcome).toBe('COMPLETED')
  }
})

test('a claim that fails while the logger is broken too is tried again', async () => {
  await using stage = await openTestScheduler({
    store: sqlite(newDatabasePath()),
    jobs: [note],
    logger: brokenLogger,
  })
  const handle = await stage.scheduler.enqueue(note, null, { delayMs: 1000 })
  const hasFailed = failOnce('store:before-commit', new Error('once'))
  await stage.advance('2s')
  expect(hasFailed()).toBe(true)
  expect((await handle.get()).outcome).toBe('COMPLETED')
})

test('unsubscribing twice deafens nobody else', async () => {
  await using stage = await openTestScheduler({ store: sqlite(newDatabasePath()), jobs: [note] })
  const stopListening = stage.scheduler.on('job.finished', () => {})
  stopListening()
  const heard: string[] = []
  stage.scheduler.on('job.finished', ({ jobId }) => heard.push(jobId))
  stopListening()
  const { jobId } = await stage.scheduler.enqueue(note, null)
  await vi.waitFor(() => expect(heard).toEqual([jobId]))
})

test('a file that is damaged under a node does not end the process: who uses it next is told', async () => {
  const path = newDatabasePath()
  let looksRefused = 0
  const driver = libraryWith((sql, _values, run) => {
    try {
      return run()
    } catch (error) {
      if (sql.includes('data_version')) looksRefused++
      throw error
    }
  })
  const uncaught = vi.fn()
  process.on('uncaughtException', uncaught)
  const scheduler = await openScheduler({ store: sqlite(path, { driver }), jobs: [note], logger: listeningLogger() })
  await scheduler.start()
  await (await scheduler.enqueue(note, null)).settled()
  damage(path)
  await vi.waitFor(() => expect(looksRefused).toBeGreaterThan(2))
  expect(uncaught).not.toHaveBeenCalled()
  await expect(scheduler.enqueue(note, null)).rejects.toMatchObject({ code: expect.stringMatching(/^database_/) })
  await scheduler.close()
  process.off('uncaughtException', uncaught)
})

/** Writes noise over the header and the index of the log, and cuts the log off. */
function damage(path: string): void {
  truncateSync(`${path}-wal`, 0)
  for (const file of [path, `${path}-shm`]) {
    const noise = Buffer.alloc(Math.min(statSync(file).size, 4096), 0xa5)
    const opened = openSync(file, 'r+')
    writeSync(opened, noise, 0, noise.length, 0)
    closeSync(opened)
  }
}
