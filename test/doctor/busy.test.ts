// The checks on a store on which others work at full speed: no false alarm, and nobody is kept from working.

import { expect, test } from 'vitest'
import { examineStore, repairStore } from '../../src/operations/doctor.ts'
import { startScript } from '../recovery/processes.ts'
import { SharedDatabase } from '../stores/shared-database.ts'
import { storeKind } from '../stores/source-stores.ts'
import { contextOn, openStore } from './stage.ts'

const WORKER = new URL('./fixtures/worker.mjs', import.meta.url)
const SILENT = { info() {}, warn() {}, error() {} }

const ENDED = 'select count(*) as n from pawl_runs where status is not null'

test('two processes drain a queue while a third examines it again and again', { timeout: 60_000 }, async () => {
  const database = new SharedDatabase()
  const { address } = database
  const store = await openStore(address)
  const jobs = storeKind === 'sqlite' ? 1_500 : 500
  const plan = { store: address, jobs }
  const workers = [startScript(WORKER, plan), startScript(WORKER, plan)]
  const faults: unknown[] = []
  const seen = new Set<number>()
  // Of each hundred one is a parent that is tried three times.
  const all = 2 * (jobs + 2 * (jobs / 100))
  for (let ended = 0; ended < all; ended = Number((await database.select(ENDED))[0]?.['n'])) {
    const { checks } = await examineStore(contextOn(store))
    faults.push(...checks.filter(({ status }) => status === 'fault'))
    seen.add(ended)
  }
  expect(faults).toEqual([])
  expect(seen.size).toBeGreaterThan(3)
  for (const worker of workers) worker.kill('SIGTERM')
  await Promise.all(workers.map(({ exited }) => exited))
})

test('a process that was killed in the middle is a warning, until it is recovered', async () => {
  const database = new SharedDatabase()
  const { address } = database
  const worker = startScript(WORKER, { store: address, jobs: 200, holds: true })
  await worker.tells('begun')
  const store = await openStore(address)
  expect((await examineStore(contextOn(store))).checks.find(({ id }) => id === 'nodes')?.status).toBe('ok')
  worker.kill('SIGKILL')
  expect(await worker.exited).toBe('SIGKILL')
  await database.outlives('worker')

  const examination = await examineStore(contextOn(store))
  expect(examination.ok).toBe(true)
  expect(examination.checks.find(({ id }) => id === 'nodes')).toMatchObject({
    status: 'warning',
    findings: [{ remedy: 'recovery', rows: [expect.stringContaining('(worker, process ')] }],
  })
  const { after } = await repairStore(contextOn(store), { logger: SILENT })
  expect(after.ok).toBe(true)
  expect(after.checks.find(({ id }) => id === 'nodes')?.status).toBe('ok')
})
