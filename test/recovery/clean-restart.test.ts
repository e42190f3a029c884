import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { expect, test } from 'vitest'
import { isSound, newDatabase, readTables, select } from './database.ts'
import { NOTHING_RECOVERED } from './scene.ts'

const JOBS = 10_000

test('after ten thousand finished Jobs and a clean end, a restart recovers nothing and finds nothing RUNNING', async () => {
  const file = newDatabase()
  let executed = 0
  const count = defineJob({ type: 'count', run: () => void executed++ })
  const warnings: string[] = []
  const warn = (_fields: object, message: string) => void warnings.push(message)
  const logger = { info() {}, warn, error: warn }
  const open = () => openScheduler({ store: sqlite(file), jobs: [count], concurrency: 100, logger })
  {
    await using scheduler = await open()
    const items = Array.from({ length: JOBS }, () => ({ type: count, params: null }))
    const handles = await scheduler.enqueueMany(items)
    expect(await scheduler.start()).toEqual(NOTHING_RECOVERED)
    await Promise.all(handles.map((handle) => handle.settled()))
  }
  expect(executed).toBe(JOBS)
  const tables = readTables(file)
  {
    await using scheduler = await open()
    expect(await scheduler.start()).toEqual(NOTHING_RECOVERED)
    expect((await scheduler.listJobs({ status: 'RUNNING' })).items).toEqual([])
    expect(await scheduler.listQueue()).toEqual([])
    expect(scheduler.executing).toEqual([])
  }
  expect(executed).toBe(JOBS)
  expect(readTables(file)).toEqual(tables)
  expect(warnings).toEqual([])
  expect(
    select(file, 'select status, outcome, attempt, count(*) as jobs from pawl_jobs_readable group by 1, 2, 3'),
  ).toEqual([{ status: 'FINISHED', outcome: 'COMPLETED', attempt: 1, jobs: JOBS }])
  isSound(file)
})
