// Any number of connections and processes on one file, and a database in memory that belongs to one scheduler alone.
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { openTestScheduler } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { DatabaseSync, type Handle, newDatabasePath, recordStatements, withHandle } from './stage.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** A program that opens the store, enqueues one Job and says its id. */
const OPEN_AND_ENQUEUE = `
  const { openScheduler, defineJob } = await import('pawl')
  const { sqlite } = await import('pawl/sqlite')
  const quick = defineJob({ type: 'quick', run: () => null })
  const scheduler = await openScheduler({ store: sqlite(process.argv[1]), jobs: [quick] })
  const { jobId } = await scheduler.enqueue(quick, { pid: process.pid })
  await scheduler.close()
  console.log(jobId)
`

const program = ['--input-type=module', '-e', OPEN_AND_ENQUEUE]

describe('a fresh file', () => {
  test('opened by many processes at once is migrated once, and all of them can work', async () => {
    const path = newDatabasePath()
    const run = promisify(execFile)
    const results = await Promise.all(
      Array.from({ length: 8 }, () => run(process.execPath, [...program, path], { cwd: root })),
    )
    const ids = results.map(({ stdout }) => stdout.trim()).toSorted()

    await using scheduler = await openScheduler({ store: sqlite(path) })
    const { items } = await scheduler.listJobs()
    expect(items.map(({ jobId }) => jobId).toSorted()).toEqual(ids)
    expect(items.map(({ position }) => position).toSorted((a, b) => a - b)).toEqual(ids.map((_, n) => (n + 1) * 100))
    withHandle(path, (handle) => {
      expect(handle.prepare('select version, name from pawl_migrations').all()).toEqual([
        { version: 1, name: 'kernel' },
        { version: 2, name: 'triggers-and-composition' },
        { version: 3, name: 'doors' },
        { version: 4, name: 'bulk-operations' },
        { version: 5, name: 'minutes' },
        { version: 6, name: 'deliveries-by-status' },
        { version: 7, name: 'jobs-by-lane' },
      ])
      expect(handle.prepare('pragma integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
      expect(handle.prepare('pragma foreign_key_check').all()).toEqual([])
    })
  })

  test('that another process migrates between two looks of ours is ours all the same', async () => {
    const path = newDatabasePath()
    const recording = recordStatements()
    let looks = 0
    recording.beforePrepare = (sql) => {
      if (!/sqlite_schema|application_id/.test(sql) || ++looks !== 2) return
      // If our looks keep others out, this one does not get in between and is ended.
      spawnSync(process.execPath, [...program, path], { cwd: root, timeout: 5000 })
    }
    await using scheduler = await openScheduler({
      store: sqlite(path, { driver: recording.driver }),
      jobs: [defineJob({ type: 'quick', run: () => null })],
    })
    expect(looks).toBeGreaterThanOrEqual(2)
    await scheduler.enqueue('quick', null)
    expect((await scheduler.listJobs()).items.length).toBeGreaterThan(0)
  })

  test('opened again is not migrated again', async () => {
    const path = newDatabasePath()
    await (await openScheduler({ store: sqlite(path) })).close()
    const recording = recordStatements()
    await (await openScheduler({ store: sqlite(path, { driver: recording.driver }) })).close()
    expect([...recording.executed.keys()].filter((sql) => /insert into pawl_migrations/.test(sql))).toEqual([])
  })
})

describe('several connections', () => {
  const quick = defineJob({ type: 'quick', run: () => null })

  test('that write at the same time lose nothing', async () => {
    const path = newDatabasePath()
    const schedulers = await Promise.all(
      Array.from({ length: 4 }, () => openScheduler({ store: sqlite(path), jobs: [quick] })),
    )
    const handles = await Promise.all(
      schedulers.flatMap((scheduler) => Array.from({ length: 50 }, (_, n) => scheduler.enqueue(quick, { n }))),
    )
    const ids = new Set(handles.map(({ jobId }) => jobId))
    expect(ids.size).toBe(200)
    expect(await schedulers[0]?.listQueue({ limit: 200 })).toHaveLength(200)
    await Promise.all(schedulers.map((scheduler) => scheduler.close()))
  })

  test('wait for a writer outside of Pawl, while the event loop goes on', async () => {
    const path = newDatabasePath()
    await using scheduler = await openScheduler({ store: sqlite(path), jobs: [quick] })
    const other = new DatabaseSync(path)
    other.exec('begin immediate')
    let isWritten = false
    const writing = scheduler.enqueue(quick, null).then(() => {
      isWritten = true
    })

    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
    expect(isWritten).toBe(false)
    expect(await scheduler.listQueue()).toEqual([])

    other.exec('commit')
    await writing
    expect(await scheduler.listQueue()).toHaveLength(1)
    other.close()
  })

  test('share the work of one queue: each Job runs once', async () => {
    const path = newDatabasePath()
    const executed: string[] = []
    const noted = defineJob({ type: 'noted', run: ({ jobId }) => void executed.push(jobId) })
    await using one = await openScheduler({ store: sqlite(path), jobs: [noted], concurrency: 5 })
    await using two = await openScheduler({ store: sqlite(path), jobs: [noted], concurrency: 5 })
    const handles = await one.enqueueMany(Array.from({ length: 500 }, () => ({ type: noted, params: null })))
    await Promise.all([one.start(), two.start()])
    await Promise.all(handles.map((handle) => handle.settled()))
    expect(executed.toSorted()).toEqual(handles.map(({ jobId }) => jobId).toSorted())
  })
})

describe('what every connection is told', () => {
  test.each([
    ['power', 2],
    ['process', 1],
  ] as const)('durability %s is synchronous = %d', async (durability, level) => {
    const opened: Handle[] = []
    const driver = class extends (DatabaseSync as new (path: string) => Handle) {
      constructor(path: string) {
        super(path)
        opened.push(this)
      }
    }
    const store = await sqlite(newDatabasePath(), { driver: driver as never, durability }).open()
    const [connection] = opened
    expect(connection?.prepare('pragma synchronous').get()).toEqual({ synchronous: level })
    expect(connection?.prepare('pragma journal_mode').get()).toEqual({ journal_mode: 'wal' })
    expect(connection?.prepare('pragma foreign_keys').get()).toEqual({ foreign_keys: 1 })
    await store.close()
  })
})

describe(':memory:', () => {
  const quick = defineJob({ type: 'quick', run: () => 'done' })

  test('lives a whole life without a file', async () => {
    const before = readdirSync(process.cwd())
    await using stage = await openTestScheduler({ store: sqlite(':memory:'), jobs: [quick] })
    const handle = await stage.scheduler.enqueue(quick, null)
    expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'done' })
    expect(existsSync(':memory:')).toBe(false)
    expect(readdirSync(process.cwd())).toEqual(before)
  })

  test('belongs to one scheduler: each has its own, and it ends with it', async () => {
    const source = sqlite(':memory:')
    await using one = await openScheduler({ store: source, jobs: [quick] })
    await using two = await openScheduler({ store: source, jobs: [quick] })
    await one.enqueue(quick, null)
    expect(await two.listQueue()).toEqual([])
  })
})

test('the files beside a database are gone when everybody has closed it, but for the database itself', async () => {
  const path = newDatabasePath()
  // In a process of its own: a SQLite library may keep a closed connection until the garbage is collected.
  execFileSync(process.execPath, [...program, path], { cwd: root })
  expect(readdirSync(dirname(path))).toEqual(['pawl.db'])
})
