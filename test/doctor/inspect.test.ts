// Looking at a store without opening it: what is there is told, and not a byte changes.
import { copyFileSync, existsSync, mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { StoreState } from '../../src/store/store.ts'
import { type BetterSqlite3, sqlite } from '../../src/stores/sqlite/index.ts'
import { startScript } from '../recovery/processes.ts'
import { DatabaseSync, damage, filesOf, newFolder, openStore, withHandle } from './stage.ts'

const WORKER = new URL('./fixtures/worker.mjs', import.meta.url)

const newPath = () => join(newFolder(), 'pawl.db')

/** Looks, and makes sure that neither the file nor its log has changed, and that no file has come or gone. */
async function inspect(path: string, driver?: BetterSqlite3): Promise<StoreState> {
  const before = contentOf(path)
  try {
    return await sqlite(path, driver === undefined ? {} : { driver }).inspect()
  } finally {
    expect(contentOf(path)).toEqual(before)
  }
}

/** Without the index of the log, in which readers tell writers that they read, and which the first of them makes anew. */
function contentOf(path: string): Readonly<Record<string, string>> {
  return { ...filesOf(dirname(path)), 'pawl.db-shm': String(existsSync(`${path}-shm`)) }
}

/** Looking has taken away nothing that this process needs to write afterwards. */
async function canBeOpened(path: string): Promise<void> {
  const store = await openStore(path)
  await store.setLimit('running', 7)
  expect(await store.listLimits()).toEqual([{ name: 'running', max: 7 }])
}

/** A store that was closed in good order. A copy, because not every library lets go of a file at once. */
async function makeStore(path: string): Promise<void> {
  const original = newPath()
  const store = await sqlite(original).open()
  await store.close()
  copyFileSync(original, path)
}

/** The same for one that was changed by hand. */
async function makeChangedStore(path: string, ...statements: readonly string[]): Promise<void> {
  const original = newPath()
  await makeStore(original)
  damage(original, ...statements, 'pragma wal_checkpoint(truncate)')
  copyFileSync(original, path)
}

const CURRENT = { kind: 'current', version: 7, latest: 7, pending: [] }
const MISSING = {
  kind: 'missing',
  version: null,
  latest: 7,
  pending: [
    'kernel',
    'triggers-and-composition',
    'doors',
    'bulk-operations',
    'minutes',
    'deliveries-by-status',
    'jobs-by-lane',
  ],
}

describe('what is missing', () => {
  test('is told, and not made', async () => {
    const path = newPath()
    expect(await inspect(path)).toEqual({ description: `sqlite ${path}`, ...MISSING })
    expect(readdirSync(dirname(path))).toEqual([])
  })

  test('an empty file counts as missing: a store would be made in it', async () => {
    const path = newPath()
    writeFileSync(path, '')
    expect(await inspect(path)).toMatchObject(MISSING)
  })

  test('a database in memory is always missing', async () => {
    expect(await sqlite(':memory:').inspect()).toEqual({ description: 'sqlite :memory:', ...MISSING })
  })

  test('a path at which none can be is refused as by open', async () => {
    const folder = newFolder()
    await expect(sqlite(join(folder, 'nowhere', 'pawl.db')).inspect()).rejects.toMatchObject({
      code: 'database_unavailable',
    })
    mkdirSync(join(folder, 'pawl.db'))
    await expect(sqlite(join(folder, 'pawl.db')).inspect()).rejects.toMatchObject({ code: 'database_unavailable' })
  })
})

describe('a database of ours', () => {
  test('that was closed in good order', async () => {
    const path = newPath()
    await makeStore(path)
    expect(readdirSync(dirname(path))).toEqual(['pawl.db'])
    expect(await inspect(path)).toEqual({ description: `sqlite ${path}`, ...CURRENT })
    await canBeOpened(path)
  })

  test('that this process has open, with everything still in its log', async () => {
    const path = newPath()
    const store = await openStore(path)
    expect(await inspect(path)).toMatchObject(CURRENT)
    // Our locks are as they were: what is written afterwards is there.
    await store.setLimit('running', 7)
    expect(await store.listLimits()).toEqual([{ name: 'running', max: 7 }])
  })

  test('that another process works on, and one that it left when it was killed', async () => {
    const path = newPath()
    const worker = startScript(WORKER, { store: path, jobs: 100 })
    await worker.tells('opened')
    // It may write at any time, so nothing is compared but what is there.
    expect(await sqlite(path).inspect()).toMatchObject(CURRENT)
    worker.kill('SIGKILL')
    await worker.exited
    expect(readdirSync(dirname(path))).toContain('pawl.db-shm')
    expect(await inspect(path)).toMatchObject(CURRENT)
    await canBeOpened(path)
  })

  test('that was copied with its log, but without the index of the log', async () => {
    const from = newPath()
    const to = newPath()
    await openStore(from)
    for (const end of ['', '-wal']) copyFileSync(`${from}${end}`, `${to}${end}`)
    expect(await inspect(to)).toMatchObject(CURRENT)
    expect(readdirSync(dirname(to)).toSorted()).toEqual(['pawl.db', 'pawl.db-wal'])
    await canBeOpened(to)
  })

  test('to which a link leads', async () => {
    const path = newPath()
    await openStore(path)
    const link = join(newFolder(), 'link.db')
    symlinkSync(path, link)
    expect(await sqlite(link).inspect()).toMatchObject(CURRENT)
  })

  test('through a handle that the caller has open', async () => {
    const path = newPath()
    await makeStore(path)
    const handle = new DatabaseSync(path)
    expect(await sqlite(handle as never).inspect()).toMatchObject(CURRENT)
    handle.close()
  })

  test('of an older version says what would be applied', async () => {
    const path = newPath()
    await makeChangedStore(path, 'delete from pawl_migrations where version >= 2', 'pragma user_version = 1')
    const pending = [
      'triggers-and-composition',
      'doors',
      'bulk-operations',
      'minutes',
      'deliveries-by-status',
      'jobs-by-lane',
    ]
    expect(await inspect(path)).toMatchObject({ kind: 'older', version: 1, latest: 7, pending })
  })

  test('of a newer version is told apart, and open refuses it', async () => {
    const path = newPath()
    await makeChangedStore(path, "insert into pawl_migrations values (9, 'later', 'x', 1)")
    expect(await inspect(path)).toMatchObject({ kind: 'newer', version: 9, latest: 7, pending: [] })
    await expect(sqlite(path).open()).rejects.toMatchObject({ code: 'database_too_new' })
  })
})

describe('a database of somebody else', () => {
  test.each([
    ['another program', (path: string) => withHandle(path, (handle) => handle.exec('create table theirs (a)'))],
    ['no database at all', (path: string) => writeFileSync(path, 'Dear diary. '.repeat(500))],
    ['a few bytes', (path: string) => writeFileSync(path, 'hello')],
  ])('%s is foreign, as open says too', async (_, make) => {
    const path = newPath()
    make(path)
    expect(await inspect(path)).toMatchObject({ kind: 'foreign', version: null, pending: [] })
    await expect(sqlite(path).open()).rejects.toMatchObject({ code: 'database_not_ours' })
  })
})

describe('a damaged database is refused as by open', () => {
  test.each([
    ['cut off', 'database_corrupt', (path: string) => truncateSync(path, 8_192)],
    ['without its migrations', 'database_corrupt', (path: string) => damage(path, 'drop table pawl_migrations')],
    [
      'made by other migrations',
      'database_migration_changed',
      (path: string) => damage(path, "update pawl_migrations set checksum = 'x' where version = 2"),
    ],
  ])('%s', async (_, code, harm) => {
    const path = newPath()
    await makeStore(path)
    harm(path)
    await expect(inspect(path)).rejects.toMatchObject({ code })
    await expect(sqlite(path).open()).rejects.toMatchObject({ code })
  })
})

test('with better-sqlite3, which takes no URIs, a copy is looked at', async (context) => {
  let driver: BetterSqlite3
  try {
    driver = ((await import('better-sqlite3' as string)) as { default: BetterSqlite3 }).default
    // Its native part is loaded only now, and may be made for another Node.
    new driver(':memory:').close()
  } catch (error) {
    return context.skip(`better-sqlite3 cannot be loaded here: ${(error as Error).message}`)
  }
  const path = newPath()
  expect(await inspect(path, driver)).toMatchObject(MISSING)
  await makeStore(path)
  expect(await inspect(path, driver)).toMatchObject(CURRENT)
  const store = await sqlite(path, { driver }).open()
  expect(await sqlite(path, { driver }).inspect()).toMatchObject(CURRENT)
  expect((await store.checkInvariants(Date.now())).flatMap(({ findings }) => findings)).toEqual([])
  await store.close()
})
