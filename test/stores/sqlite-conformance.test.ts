import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, it } from 'vitest'
import { describeStore, type StoreFactory } from '../../src/store/conformance/index.ts'
import type { Damage } from '../../src/store/maintenance.ts'
import type { Store } from '../../src/store/store.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'

const runner = { describe, it }

interface Handle {
  prepare(sql: string): { run(...values: unknown[]): unknown }
  exec(sql: string): unknown
  close(): void
}

/** The library that Pawl uses here too: two copies of SQLite in one process must not open the same file. */
const library = Number(process.versions.node.split('.')[0]) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'
const { DatabaseSync } = (await import(library)) as { DatabaseSync: new (path: string) => Handle }

const file = (folder: string) => join(folder, 'pawl.db')
const open = (folder: string) => sqlite(file(folder)).open()

/** Making the tables takes longer than most tests, so it is done once, and each test gets a copy. */
const template = await mkdtemp(join(tmpdir(), 'pawl-kit-'))
await (await open(template)).close()
afterAll(() => rm(template, { recursive: true }))

/** Each database is a folder of its own, so that everything beside the file goes with it. */
const onFile: StoreFactory<string> = {
  async create() {
    const folder = await mkdtemp(join(tmpdir(), 'pawl-kit-'))
    await copyFile(file(template), file(folder))
    return folder
  },
  open,
  openAnother: open,
  remove: (folder) => rm(folder, { recursive: true }),
  async withTransaction(folder, work, end) {
    const handle = new DatabaseSync(file(folder))
    try {
      handle.exec('begin immediate')
      await work(handle)
      handle.exec(end)
    } finally {
      handle.close()
    }
  },
  async damage(folder, kind, jobId) {
    const handle = new DatabaseSync(file(folder))
    try {
      handle.exec('pragma foreign_keys = off')
      for (const sql of DAMAGE[kind]) handle.prepare(sql).run(jobId)
    } finally {
      handle.close()
    }
  },
  openBackup,
}

async function openBackup(folder: string, store: Store): Promise<Store> {
  const path = join(folder, 'backup.db')
  await store.backup(path)
  return sqlite(path).open()
}

const THE_JOB = 'seq = (select seq from pawl_jobs where job_id = ?)'

/** What makes each kind of damage, one statement after the other, each with the id of the Job. */
const DAMAGE: Readonly<Record<Damage['kind'], readonly string[]>> = {
  'run-missing': [`delete from pawl_occupancies where ${THE_JOB}`, `delete from pawl_runs where ${THE_JOB}`],
  'occupancy-missing': [`delete from pawl_occupancies where ${THE_JOB}`],
  'retry-missing': [
    'delete from pawl_queue where seq in (select seq from pawl_jobs where retry_of = ?)',
    'delete from pawl_jobs where retry_of = ?',
  ],
}

/** A database in memory belongs to one connection, so nothing else can open, damage or share it. */
const inMemory: StoreFactory<string> = {
  create: () => mkdtemp(join(tmpdir(), 'pawl-kit-')),
  open: () => sqlite(':memory:').open(),
  remove: onFile.remove,
  openBackup,
}

describeStore('sqlite file', onFile, { runner })
describeStore('sqlite :memory:', inMemory, { runner })
