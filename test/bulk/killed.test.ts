// Real processes that carry out a bulk operation, killed by SIGKILL in the middle of a page, before and after its commit. The
// next process goes on from where it came to: no Job is left out, none is dealt with twice.
import { defineJob, openScheduler } from 'pawl'
import { expect, test, vi } from 'vitest'
import { startScript } from '../recovery/processes.ts'
import { storeAt, storeKind } from '../stores/package-stores.ts'
import { SharedDatabase } from '../stores/shared-database.ts'

const WORKER = new URL('./fixtures/worker.mjs', import.meta.url)
const JOBS = 450

interface Kill {
  readonly at: string
  readonly nth: number
}

test.for<readonly [kind: 'cancel' | 'retry', kill: Kill]>([
  ['cancel', { at: 'store:statement', nth: storeKind === 'sqlite' ? 700 : 30 }],
  ['cancel', { at: 'store:before-commit', nth: 2 }],
  ['cancel', { at: 'store:after-commit', nth: 3 }],
  ['retry', { at: 'store:before-commit', nth: 3 }],
  ['retry', { at: 'store:after-commit', nth: 2 }],
])('a %s whose process is killed at %o is completed by the next one', { timeout: 60_000 }, async ([kind, kill]) => {
  const database = new SharedDatabase()
  const { address: store } = database
  await prepare(store, kind)
  const doomed = startScript(WORKER, { store, ...kill })
  await doomed.tells('started')
  const operationId = await order(store, kind)
  expect(await doomed.exited).toBe('SIGKILL')
  await database.outlives()
  const [left] = await database.select('select done, changed, status from pawl_operations')
  expect(left).toMatchObject({ status: 'RUNNING' })
  expect(left?.['done']).toBe(left?.['changed'])
  expect(await dealtWith(database, kind)).toBe(left?.['done'])

  const worker = startScript(WORKER, { store })
  await worker.tells('started')
  await vi.waitFor(
    async () => {
      const [row] = await database.select('select status, done, changed, skipped, failed from pawl_operations')
      expect(row).toEqual({ status: 'COMPLETED', done: JOBS, changed: JOBS, skipped: 0, failed: 0 })
    },
    { timeout: 30_000, interval: 50 },
  )
  worker.child.stdin?.end()
  expect(await worker.exited).toBe(0)
  expect(await dealtWith(database, kind)).toBe(JOBS)
  expect(await database.select('select operation_id from pawl_operations')).toEqual([{ operation_id: operationId }])
})

async function prepare(store: string, kind: 'cancel' | 'retry'): Promise<void> {
  const work = defineJob({ type: 'work', run: () => {} })
  await using scheduler = await openScheduler({ store: storeAt(store), jobs: [work] })
  const jobs = Array.from({ length: JOBS }, () => ({ type: 'work', params: null, delayMs: 3_600_000 }))
  const handles = await scheduler.enqueueMany(jobs)
  if (kind === 'retry') await Promise.all(handles.map(({ jobId }) => scheduler.cancel(jobId)))
}

/** Stores the order, and carries out nothing of it. */
async function order(address: string, kind: 'cancel' | 'retry'): Promise<string> {
  const operationId = '01900000-0000-7000-8000-000000000001'
  const given = { operationId, kind, filter: { type: 'work' }, jobIds: null, reason: null, createdBy: null } as const
  const matched = { matched: JOBS, isMatchedCapped: false }
  const store = await storeAt(address).open()
  await store.startOperation({ ...given, mode: kind === 'cancel' ? 'graceful' : null, matched }, Date.now())
  await store.close()
  return operationId
}

/** Jobs that were cancelled, or chains that have a second Job. */
async function dealtWith(database: SharedDatabase, kind: 'cancel' | 'retry'): Promise<unknown> {
  const [row] = await database.select(
    kind === 'cancel'
      ? 'select count(*) as n from pawl_jobs where cancelled_at is not null'
      : 'select count(*) as n from pawl_jobs where attempt = 2',
  )
  return row?.['n']
}
