// Events that could not be read once are told all the same, also when nothing else is committed after them.
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { expect, test, vi } from 'vitest'
import { EventTail } from '../../src/http/server/event-tail.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { NOW, newJob } from '../../src/store/conformance/fixtures.ts'
import { sqlite as sqliteSource } from '../../src/stores/sqlite/index.ts'
import { listeningLogger, newDatabasePath } from '../lifecycle/stage.ts'
import { libraryWith, sqliteError } from './stage.ts'

const SQLITE_IOERR = 10

/** The first read of events fails. `hasFailed` tells whether there was one. */
function failingOnce() {
  let hasFailed = false
  const driver = libraryWith((sql, _values, run) => {
    if (!hasFailed && sql.includes('select seq, transitions')) {
      hasFailed = true
      throw sqliteError(SQLITE_IOERR)
    }
    return run()
  })
  return { driver, hasFailed: () => hasFailed }
}

const note = defineJob({ type: 'note', run: () => {} })

test('a listener hears of what another process did although the first read of it failed', async () => {
  const path = newDatabasePath()
  const { driver, hasFailed } = failingOnce()
  await using here = await openScheduler({ store: sqlite(path, { driver }), jobs: [note], logger: listeningLogger() })
  await using there = await openScheduler({
    store: sqlite(path, { driver: libraryWith((_, _values, run) => run()) }),
    jobs: [note],
  })
  const heard: string[] = []
  here.on('job.queued', ({ jobId }) => heard.push(jobId))
  const { jobId } = await there.enqueue(note, null)
  await vi.waitFor(() => expect(heard).toEqual([jobId]), { timeout: 10_000, interval: 10 })
  expect(hasFailed()).toBe(true)
})

test('so do those who follow the events over HTTP', async () => {
  const path = newDatabasePath()
  const { driver, hasFailed } = failingOnce()
  const here = await sqliteSource(path, { driver }).open()
  const there = await sqliteSource(path, { driver: libraryWith((_, _values, run) => run()) }).open()
  const tail = new EventTail({ store: here, clock: systemClock, logger: listeningLogger() })
  await tail.begin()
  const begun = tail.lastSeq
  const job = newJob()
  await there.enqueueJobs([job], NOW)
  await vi.waitFor(() => expect(tail.lastSeq).toBeGreaterThan(begun), { timeout: 10_000, interval: 10 })
  const rows = await tail.after(begun)
  expect(rows.flatMap(({ transitions }) => transitions.map(({ jobId }) => jobId))).toEqual([job.jobId])
  expect(hasFailed()).toBe(true)
  tail.end()
  await here.close()
  await there.close()
})
