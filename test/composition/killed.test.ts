import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineJob, openScheduler } from 'pawl'
import type { FaultPoint } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { startScript } from '../recovery/processes.ts'
import { storeAt, storeKind } from '../stores/package-stores.ts'
import { SharedDatabase } from '../stores/shared-database.ts'
import { isSoundlyComposedIn } from './soundness.ts'

// Real processes, killed by SIGKILL between an outcome and what follows from it: while it is written, while dependents are
// released or members skipped page by page, and while those execute. The next process goes on; nothing is lost, and no
// attempt is executed twice.

const WORKER = new URL('./fixtures/worker.mjs', import.meta.url)

/** More than are dealt with at once. */
const MANY = 300

interface Kill {
  readonly at: FaultPoint
  readonly nth: number
}

/** What the worker noted of a body, and what the database says of the chain. */
interface Begun {
  readonly name: string
  readonly attempt: number
  readonly parents: number
}

/** Nothing executes here: the Jobs are only accepted. */
async function accept(
  database: SharedDatabase,
  work: (scheduler: Awaited<ReturnType<typeof openScheduler>>) => Promise<unknown>,
) {
  const retry = { maxRetries: 0, maxCrashRetries: 10 }
  const type = defineJob({ type: 'work', retry, run: () => {} })
  await using scheduler = await openScheduler({ store: storeAt(database.address), jobs: [type] })
  await work(scheduler)
}

const job = (name: string, more: object = {}) => ({ type: 'work', params: name, name, ...more })
const names = (prefix: string) => Array.from({ length: MANY }, (_, index) => `${prefix} ${index}`)

/** On a server there are fewer statements, each for many rows. */
const statements = (onSqlite: number, onServer: number): Kill => ({
  at: 'store:statement',
  nth: storeKind === 'sqlite' ? onSqlite : onServer,
})

/** There, too, a process takes longer: what `npm run torture -- sweep` shows of every statement is seen here of a few. */
const alsoOnSqlite = (...kills: readonly Kill[]) => (storeKind === 'sqlite' ? kills : [])

test.for<Kill>([
  ...alsoOnSqlite({ at: 'executor:body-ended', nth: 1 }, { at: 'store:statement', nth: 2 }),
  statements(150, 7),
  { at: 'store:before-commit', nth: 1 },
  { at: 'store:after-commit', nth: 1 },
  statements(700, 20),
  ...alsoOnSqlite({ at: 'store:after-commit', nth: 3 }),
])(
  'killed at $at $nth: each child of the parent runs, once, and after it',
  { timeout: 60_000 },
  async ({ at, nth }) => {
    const database = new SharedDatabase()
    await accept(database, async (scheduler) => {
      const parent = await scheduler.enqueue('work', 'parent', { name: 'parent', priority: 9 })
      await scheduler.enqueueMany(names('child').map((name) => job(name, { dependsOn: [parent.jobId] })))
    })
    await dies(database, { arm: 'parent', at, nth })
    await isSoundlyComposedIn(database)
    await drains(database)
    await isSoundlyComposedIn(database)

    const begun = readBegun(database)
    expectOnce(begun)
    const lastParent = begun.findLastIndex(({ name }) => name === 'parent')
    const firstChild = begun.findIndex(({ name }) => name !== 'parent')
    expect(lastParent).toBeLessThan(firstChild)
    expect(begun.filter(({ name }) => name !== 'parent').every(({ parents }) => parents === 1)).toBe(true)
    expect(await chains(database)).toEqual({ 'FINISHED COMPLETED': MANY + 1 })
  },
)

test.for<Kill>([
  ...alsoOnSqlite({ at: 'store:statement', nth: 3 }),
  statements(300, 15),
  ...alsoOnSqlite({ at: 'store:before-commit', nth: 1 }),
  { at: 'store:after-commit', nth: 1 },
  { at: 'store:before-commit', nth: 2 },
])(
  'killed at $at $nth: after a failed member all others are skipped, and none of them runs',
  { timeout: 60_000 },
  async ({ at, nth }) => {
    const database = new SharedDatabase()
    let groupId = ''
    await accept(database, async (scheduler) => {
      const jobs = [job('bad', { priority: 9 }), ...names('member').map((name) => job(name))]
      const group = await scheduler.groups.create({ mode: 'sequential', onFailure: 'skip', jobs })
      groupId = group.groupId
      const [bad] = group.jobs
      await scheduler.enqueueMany(names('child').map((name) => job(name, { dependsOn: [bad?.jobId as string] })))
    })
    await dies(database, { arm: 'bad', at, nth })
    await isSoundlyComposedIn(database)
    await drains(database)
    await isSoundlyComposedIn(database)

    const begun = readBegun(database)
    expectOnce(begun)
    expect(new Set(begun.map(({ name }) => name))).toEqual(new Set(['bad']))
    expect(await chains(database)).toEqual({ 'FINISHED FAILED': 1, 'FINISHED SKIPPED': MANY, CANCELLED: MANY })
    const [group] = await database.select(
      'select total, failed, skipped, finished_at is not null as ended from pawl_groups',
    )
    expect(group).toEqual({ total: MANY + 1, failed: 1, skipped: MANY, ended: 1 })
    expect(await database.select('select group_id from pawl_groups')).toEqual([{ group_id: groupId }])
  },
)

/** A process executes, and is killed. */
async function dies(database: SharedDatabase, plan: object): Promise<void> {
  const { address: store, folder } = database
  const { exited } = startScript(WORKER, { store, folder, concurrency: 20, ...plan })
  expect(await exited).toBe('SIGKILL')
  await database.outlives()
}

/** Another one executes until nothing is left to do, and leaves. */
async function drains(database: SharedDatabase): Promise<void> {
  const { address: store, folder } = database
  const worker = startScript(WORKER, { store, folder, concurrency: 20 })
  await worker.tells('started')
  await vi.waitFor(
    async () => {
      const [left] = await database.select(
        `select (select count(*) from pawl_queue) as queued, (select count(*) from pawl_occupancies) as executing,
          (select count(*) from pawl_cascades) as cascades`,
      )
      expect(left).toEqual({ queued: 0, executing: 0, cascades: 0 })
    },
    { timeout: 30_000, interval: 50 },
  )
  worker.child.stdin?.end()
  expect(await worker.exited).toBe(0)
}

function readBegun({ folder }: SharedDatabase): Begun[] {
  const log = join(folder, 'begun.log')
  const lines = existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : []
  return lines.map((line) => {
    const [name, attempt, parents] = JSON.parse(line) as [string, number, number]
    return { name, attempt, parents }
  })
}

/** No attempt began twice. */
function expectOnce(begun: readonly Begun[]): void {
  const attempts = begun.map(({ name, attempt }) => `${name} ${attempt}`)
  expect(attempts.length).toBe(new Set(attempts).size)
}

/** How many chains ended so, for each way to end. */
async function chains(database: SharedDatabase): Promise<Record<string, unknown>> {
  const rows = await database.select(
    `select status || coalesce(' ' || outcome, '') as state, count(*) as chains
    from pawl_jobs_readable last
    where not exists (select 1 from pawl_jobs next where next.retry_of = last.job_id)
    group by 1`,
  )
  return Object.fromEntries(rows.map(({ state, chains: count }) => [String(state), count]))
}
