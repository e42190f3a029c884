import { defineJob, openScheduler } from 'pawl'
import { expect, test } from 'vitest'
import { storeAt, storeKind } from '../stores/package-stores.ts'
import { SharedDatabase } from '../stores/shared-database.ts'
import { NOTHING_RECOVERED } from './scene.ts'

const JOBS = storeKind === 'sqlite' ? 10_000 : 2_000

test('after thousands of finished Jobs and a clean end, a restart recovers nothing and finds nothing RUNNING', async () => {
  const database = new SharedDatabase()
  let executed = 0
  const count = defineJob({ type: 'count', run: () => void executed++ })
  const warnings: string[] = []
  const warn = (_fields: object, message: string) => void warnings.push(message)
  const logger = { info() {}, warn, error: warn }
  const open = () => openScheduler({ store: storeAt(database.address), jobs: [count], concurrency: 100, logger })
  {
    await using scheduler = await open()
    const items = Array.from({ length: JOBS }, () => ({ type: count, params: null }))
    const handles = await scheduler.enqueueMany(items)
    expect(await scheduler.start()).toEqual(NOTHING_RECOVERED)
    await Promise.all(handles.map((handle) => handle.settled()))
  }
  expect(executed).toBe(JOBS)
  const tables = await database.tables()
  {
    await using scheduler = await open()
    expect(await scheduler.start()).toEqual(NOTHING_RECOVERED)
    expect((await scheduler.listJobs({ status: 'RUNNING' })).items).toEqual([])
    expect(await scheduler.listQueue()).toEqual([])
    expect(scheduler.executing).toEqual([])
  }
  expect(executed).toBe(JOBS)
  expect(await database.tables()).toEqual(tables)
  expect(warnings).toEqual([])
  expect(
    await database.select('select status, outcome, attempt, count(*) as jobs from pawl_jobs_readable group by 1, 2, 3'),
  ).toEqual([{ status: 'FINISHED', outcome: 'COMPLETED', attempt: 1, jobs: JOBS }])
  await database.isSound()
})
