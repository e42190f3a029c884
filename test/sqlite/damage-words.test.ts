import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { defineJob, openScheduler } from '../../src/index.ts'
import { loadDefaultDriver } from '../../src/stores/sqlite/driver.ts'
import { translateError } from '../../src/stores/sqlite/errors.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { SidecarLiveness } from '../../src/stores/sqlite/sidecar-liveness.ts'

const home = mkdtempSync(join(tmpdir(), 'pawl-damage-words-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

const plain = defineJob({ type: 'plain', run: () => null })

async function makeStore(name: string): Promise<{ readonly path: string; readonly jobId: string }> {
  const path = join(home, name)
  await using scheduler = await openScheduler({ store: sqlite(path), jobs: [plain] })
  const { jobId } = await scheduler.enqueue(plain, { title: 'Emma' })
  return { path, jobId }
}

test('params that are no JSON any more are told as damage, with what to do about it', async () => {
  const { path, jobId } = await makeStore('params.db')
  const driver = await loadDefaultDriver()
  const handle = driver.open(path)
  handle.exec(`update pawl_jobs set params = '{"title":'`)
  handle.close()

  await using scheduler = await openScheduler({ store: sqlite(path), jobs: [plain] })
  await expect(scheduler.getJob(jobId)).rejects.toMatchObject({
    code: 'database_corrupt',
    message: expect.stringContaining('Restore a backup'),
  })
})

test('a result that is no JSON any more is told as damage to who waits for it', async () => {
  const path = join(home, 'result.db')
  const { jobId } = await executeOne(path)
  const handle = (await loadDefaultDriver()).open(path)
  handle.exec(`update pawl_runs set result = '{"title":'`)
  handle.close()

  await using scheduler = await openScheduler({ store: sqlite(path), jobs: [plain] })
  await expect(scheduler.settled(jobId)).rejects.toMatchObject({
    code: 'database_corrupt',
    message: expect.stringContaining(jobId),
  })
})

test('a row that others refer to and that is gone is told as damage to who refers to it next', async () => {
  const path = join(home, 'rows.db')
  await using scheduler = await openScheduler({ store: sqlite(path), jobs: [plain] })
  await scheduler.enqueue(plain, null)
  const handle = (await loadDefaultDriver()).open(path)
  handle.exec('pragma foreign_keys = off; delete from pawl_policies')
  handle.close()

  await expect(scheduler.enqueue(plain, null)).rejects.toMatchObject({
    code: 'database_corrupt',
    message: expect.stringContaining('Restore a backup'),
  })
})

async function executeOne(path: string): Promise<{ readonly jobId: string }> {
  await using scheduler = await openScheduler({ store: sqlite(path), jobs: [plain] })
  await scheduler.start()
  const job = await scheduler.enqueue(plain, { title: 'Emma' })
  await job.settled()
  return job
}

test('a file whose header claims a format that SQLite does not know is told as damage', async () => {
  const { path } = await makeStore('format.db')
  const file = openSync(path, 'r+')
  // The number of the schema's format, of which there are four.
  writeSync(file, Buffer.from([0, 0, 0, 9]), 0, 4, 44)
  closeSync(file)

  await expect(sqlite(path).inspect()).rejects.toMatchObject({ code: 'database_corrupt' })
  await expect(sqlite(path).open()).rejects.toMatchObject({ code: 'database_corrupt' })
})

test('a node that cannot make its proof of life is told so with a code', async () => {
  const liveness = new SidecarLiveness(await loadDefaultDriver(), join(home, 'no such folder', 'pawl.db'))
  await expect(liveness.begin('node')).rejects.toMatchObject({ code: 'database_unavailable' })
})

test('an I/O error is told with what to look at', () => {
  const error = Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 778 })
  expect(translateError(error, 'pawl.db')).toMatchObject({
    code: 'database_unavailable',
    message: expect.stringContaining('Check the disk'),
  })
})
