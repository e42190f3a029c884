// The doors of the file system: a file or folder that cannot be used is refused with a code and left untouched, and
// nothing is ever acknowledged that was not written.
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { defineJob, openScheduler, type Scheduler } from 'pawl'
import { type BetterSqlite3, sqlite } from 'pawl/sqlite'
import { describe, expect, test, vi } from 'vitest'
import { backup, DatabaseSync, errorOf, fingerprintOf, type Handle, newFileSystem, newFolder } from './stage.ts'

const plain = defineJob({ type: 'plain', run: () => 'done' })

const open = (path: string) => openScheduler({ store: sqlite(path), jobs: [plain] })

async function makeStore(path: string): Promise<string> {
  const scheduler = await open(path)
  const { jobId } = await scheduler.enqueue(plain, { some: 'params' })
  await scheduler.close()
  return jobId
}

function withHandle<Answer>(path: string, work: (handle: Handle) => Answer): Answer {
  const handle = new DatabaseSync(path)
  try {
    return work(handle)
  } finally {
    handle.close()
  }
}

describe('a path that cannot be used', () => {
  test('in a folder that is not there', async () => {
    const folder = newFolder()
    const error = await errorOf(() => open(join(folder, 'missing', 'pawl.db')))
    expect(error).toMatchObject({ code: 'database_unavailable', details: { path: join(folder, 'missing', 'pawl.db') } })
    expect(error.message).toContain('Create it first')
    expect(readdirSync(folder)).toEqual([])
  })

  test('in a folder that is a file', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'file'), 'mine')
    const before = fingerprintOf(folder)
    const error = await errorOf(() => open(join(folder, 'file', 'pawl.db')))
    expect(error.code).toBe('database_unavailable')
    expect(fingerprintOf(folder)).toEqual(before)
  })

  test('that is a folder', async () => {
    const error = await errorOf(() => open(newFolder()))
    expect(error).toMatchObject({ code: 'database_unavailable', message: expect.stringContaining('is a folder') })
  })

  test('with U+0000 in it', async () => {
    const { code } = await errorOf(() => open(join(newFolder(), 'with\u0000zero.db')))
    expect(['invalid_option', 'database_unavailable']).toContain(code)
  })

  test('in a folder that this user must not write to', async (context) => {
    let folder: string
    if (process.getuid?.() === 0) {
      // Root may write everywhere, but not to a file system that is read-only.
      const fileSystem = newFileSystem(context, 64)
      fileSystem.makeReadOnly()
      folder = fileSystem.path
    } else {
      folder = newFolder()
      chmodSync(folder, 0o500)
    }
    const error = await errorOf(() => open(join(folder, 'pawl.db')))
    expect(error.code).toBe('database_unavailable')
    expect(error.message).toContain('writable')
    expect(readdirSync(folder)).toEqual([])
  })

  test('of a database that this user must not write to', async (context) => {
    let path: string
    if (process.getuid?.() === 0) {
      const fileSystem = newFileSystem(context, 4096)
      path = join(fileSystem.path, 'pawl.db')
      await using scheduler = await open(join(newFolder(), 'pawl.db'))
      await scheduler.backup(path)
      fileSystem.makeReadOnly()
    } else {
      path = join(newFolder(), 'pawl.db')
      await makeStore(path)
      chmodSync(path, 0o400)
    }
    const error = await errorOf(async () => {
      const scheduler = await open(path)
      try {
        await scheduler.enqueue(plain, null)
      } finally {
        await scheduler.close()
      }
    })
    expect(error.code).toBe('database_unavailable')
    expect(error.message).toMatch(/writable|read-only/)
  })
})

describe('a file that is not ours', () => {
  test.each([
    ['a text', 'Dear diary, today I wrote a scheduler.\n'.repeat(300)],
    ['a few bytes', 'hello'],
    ['noise', Buffer.from(Array.from({ length: 8192 }, (_, index) => (index * 7919 + 13) % 256))],
    ['zeros', Buffer.alloc(4096)],
  ])('is refused and left untouched when it is no database: %s', async (_, content) => {
    const folder = newFolder()
    writeFileSync(join(folder, 'pawl.db'), content, { mode: 0o644 })
    const before = fingerprintOf(folder)
    const error = await errorOf(() => open(join(folder, 'pawl.db')))
    expect(error.code).toBe('database_not_ours')
    expect(error.message).toContain('untouched')
    expect(fingerprintOf(folder)).toEqual(before)
  })

  test('is taken over when it is empty: nothing is lost', async () => {
    const path = join(newFolder(), 'pawl.db')
    writeFileSync(path, '')
    await makeStore(path)
  })

  test.each(['delete', 'wal'])(
    'is refused and left untouched when another program made it, journal mode %s',
    async (mode) => {
      const folder = newFolder()
      const path = join(folder, 'pawl.db')
      withHandle(path, (handle) => {
        handle.exec(`pragma journal_mode = ${mode}; create table books (title text); insert into books values ('Emma')`)
      })
      const before = fingerprintOf(folder)

      const error = await errorOf(() => open(path))

      expect(error.code).toBe('database_not_ours')
      expect(error.message).toContain('another program')
      expect(fingerprintOf(folder)).toEqual(before)
    },
  )

  test('is refused while the other program works with it, which goes on undisturbed', async () => {
    const path = join(newFolder(), 'pawl.db')
    const handle = new DatabaseSync(path)
    handle.exec("pragma journal_mode = wal; create table books (title text); insert into books values ('Emma')")
    handle.exec("begin immediate; insert into books values ('Persuasion')")
    expect(await errorOf(() => open(path))).toMatchObject({ code: 'database_not_ours' })
    handle.exec('commit')
    expect(handle.prepare('select title from books').all()).toEqual([{ title: 'Emma' }, { title: 'Persuasion' }])
    handle.close()
  })

  test('is refused also when it carries another application id', async () => {
    const folder = newFolder()
    const path = join(folder, 'pawl.db')
    withHandle(path, (handle) => handle.exec('pragma application_id = 252006673'))
    const before = fingerprintOf(folder)
    expect(await errorOf(() => open(path))).toMatchObject({ code: 'database_not_ours' })
    expect(fingerprintOf(folder)).toEqual(before)
  })
})

describe('a database of Pawl that this Pawl does not know', () => {
  test.each([
    [
      'a newer version',
      `insert into pawl_migrations values (99, 'from-the-future', 'x', 0); pragma user_version = 99`,
      'database_too_new',
      'schema version 99 (from-the-future)',
    ],
    [
      'a migration with another text',
      `update pawl_migrations set checksum = 'somebody else''s'`,
      'database_migration_changed',
      'migration 1 (kernel)',
    ],
    ['no list of migrations', 'drop table pawl_migrations', 'database_corrupt', 'damaged'],
  ])('is refused and left untouched: %s', async (_, sql, code, words) => {
    const folder = newFolder()
    const path = join(folder, 'pawl.db')
    await makeStore(path)
    withHandle(path, (handle) => handle.exec(sql))
    const before = fingerprintOf(folder)

    const error = await errorOf(() => open(path))

    expect(error.code).toBe(code)
    expect(error.message).toContain(words)
    expect(fingerprintOf(folder)).toEqual(before)
  })
})

describe('a damaged database', () => {
  function overwrite(path: string, from: number, bytes: number): void {
    const file = openSync(path, 'r+')
    writeSync(file, Buffer.alloc(bytes, 0xa5), 0, bytes, from)
    closeSync(file)
  }

  test('is refused at the door when its schema cannot be read', async () => {
    const folder = newFolder()
    const path = join(folder, 'pawl.db')
    await makeStore(path)
    const { size } = statSync(path)
    overwrite(path, 100, size - 100)
    const before = fingerprintOf(folder)
    const error = await errorOf(() => open(path))
    expect(error.code).toBe('database_corrupt')
    expect(error.message).toContain('Restore a backup')
    expect(fingerprintOf(folder)).toEqual(before)
  })

  test('is told at the first read of the damaged part, and the rest can still be read', async () => {
    const path = join(newFolder(), 'pawl.db')
    const jobId = await makeStore(path)
    const [root, pageSize] = withHandle(path, (handle) => {
      const { rootpage } = handle.prepare("select rootpage from sqlite_schema where name = 'pawl_jobs'").get() as {
        rootpage: number
      }
      const { page_size } = handle.prepare('pragma page_size').get() as { page_size: number }
      return [rootpage, page_size]
    })
    overwrite(path, (root - 1) * pageSize, pageSize)

    await using scheduler = await open(path)
    expect(await errorOf(() => scheduler.getJob(jobId))).toMatchObject({ code: 'database_corrupt' })
    expect(await errorOf(() => scheduler.enqueue(plain, null))).toMatchObject({ code: 'database_corrupt' })
    expect(await scheduler.listLimits()).toEqual([])
  })

  test.each(['{', 'null', ''])(
    'the policy of a Job that reads %j is told as damage, and other Jobs can be read',
    async (body) => {
      const path = join(newFolder(), 'pawl.db')
      const jobId = await makeStore(path)
      withHandle(path, (handle) => handle.prepare('update pawl_policies set body = ?').run(body))

      await using scheduler = await open(path)
      const error = await errorOf(() => scheduler.getJob(jobId))
      expect(error.code).toBe('database_corrupt')
      expect(error.message).toMatch(/^The stored policy number \d+ is damaged, .* Restore a backup: .*`pawl doctor` /)
      const other = await scheduler.enqueue(plain, null)
      expect(await scheduler.getJob(other.jobId)).toMatchObject({ status: 'QUEUED' })
    },
  )
})

describe('a full disk', () => {
  /** Enqueues until it is refused, and returns what was acknowledged. */
  async function fill(
    scheduler: Scheduler,
  ): Promise<{ acknowledged: string[]; refusal: { code: string; message: string } }> {
    const acknowledged: string[] = []
    for (;;) {
      try {
        acknowledged.push((await scheduler.enqueue(plain, 'x'.repeat(20_000))).jobId)
      } catch (error) {
        return { acknowledged, refusal: error as { code: string; message: string } }
      }
    }
  }

  async function storedIn(scheduler: Scheduler): Promise<string[]> {
    const ids: string[] = []
    let cursor: string | null = null
    do {
      const page: Awaited<ReturnType<Scheduler['listJobs']>> = await scheduler.listJobs({ limit: 200, cursor })
      ids.push(...page.items.map(({ jobId }) => jobId))
      cursor = page.nextCursor
    } while (cursor !== null)
    return ids.toSorted()
  }

  test('refuses with `storage_full`, stores exactly what it acknowledged, and goes on when there is room', async (context) => {
    const { path: folder } = newFileSystem(context, 2048)
    const path = join(folder, 'pawl.db')
    writeFileSync(join(folder, 'ballast'), Buffer.alloc(1024 * 1024))
    const scheduler = await open(path)
    const { acknowledged, refusal } = await fill(scheduler)

    expect(refusal).toMatchObject({ code: 'storage_full' })
    expect(refusal.message).toContain('Nothing was stored')
    expect(acknowledged.length).toBeGreaterThan(3)
    expect(await errorOf(() => scheduler.enqueueMany(many(50)))).toMatchObject({ code: 'storage_full' })
    expect(await storedIn(scheduler)).toEqual(acknowledged.toSorted())

    rmSync(join(folder, 'ballast'))
    acknowledged.push((await scheduler.enqueue(plain, 'there is room again')).jobId)
    await scheduler.close()

    await using again = await open(path)
    expect(await storedIn(again)).toEqual(acknowledged.toSorted())
    expect(withHandle(path, (handle) => handle.prepare('pragma integrity_check').all())).toEqual([
      { integrity_check: 'ok' },
    ])
  })

  test('keeps the outcome of a body that ended meanwhile, until it can be written: the Job runs once', async (context) => {
    const { path: folder } = newFileSystem(context, 2048)
    const told: string[] = []
    let executions = 0
    const large = defineJob({
      type: 'large',
      run: () => {
        executions++
        // While the body executes, somebody else fills the disk to its last byte.
        fillFile(join(folder, 'ballast'))
        return 'y'.repeat(100_000)
      },
    })
    await using scheduler = await openScheduler({
      store: sqlite(join(folder, 'pawl.db')),
      jobs: [large],
      logger: { info: () => {}, warn: () => {}, error: (_, message) => void told.push(message) },
    })
    await scheduler.start()
    const handle = await scheduler.enqueue(large, null)
    await vi.waitFor(() => expect(told.join()).toContain('trying until it can'), { timeout: 10_000, interval: 5 })
    expect(await handle.get()).toMatchObject({ status: 'RUNNING' })

    rmSync(join(folder, 'ballast'))

    expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'y'.repeat(100_000), attempts: 1 })
    expect(executions).toBe(1)
  })

  test('refuses a new database, which works when there is room', async (context) => {
    const { path: folder } = newFileSystem(context, 1024)
    const path = join(folder, 'pawl.db')
    fillFile(join(folder, 'ballast'))
    expect((await errorOf(() => open(path))).code).toBe('storage_full')
    rmSync(join(folder, 'ballast'))
    await makeStore(path)
  })

  test('refuses a start, which can be repeated when there is room', async (context) => {
    const { path: folder } = newFileSystem(context, 1024)
    await using scheduler = await open(join(folder, 'pawl.db'))
    const handle = await scheduler.enqueue(plain, null)
    fillFile(join(folder, 'ballast'))
    expect((await errorOf(() => scheduler.start())).code).toBe('storage_full')
    rmSync(join(folder, 'ballast'))

    await scheduler.start()
    await vi.waitFor(async () => expect((await handle.get()).outcome).toBe('COMPLETED'), { timeout: 3000 })
  })

  test('is the same when SQLite itself may grow no further', async () => {
    const path = join(newFolder(), 'pawl.db')
    const opened: Handle[] = []
    // The caller's own library, of which the test keeps the handle that Pawl opens.
    class KeptDatabase extends (DatabaseSync as new (path: string) => Handle) {
      constructor(file: string) {
        super(file)
        opened.push(this)
      }
      backup(file: string): Promise<unknown> {
        return backup(this, file)
      }
    }
    await using scheduler = await openScheduler({
      store: sqlite(path, { driver: KeptDatabase as unknown as BetterSqlite3 }),
      jobs: [plain],
    })
    const [handle] = opened as [Handle]
    const { page_count } = handle.prepare('pragma page_count').get() as { page_count: number }
    handle.exec(`pragma max_page_count = ${page_count + 20}`)

    const { acknowledged, refusal } = await fill(scheduler)
    // Small and large at once: what does not fit fails alone, and what fits is stored.
    const mixed = await Promise.allSettled([
      scheduler.enqueue(plain, 'z'.repeat(200_000)),
      scheduler.enqueue(plain, 'small'),
      scheduler.enqueue(plain, 'z'.repeat(200_000)),
    ])

    expect(refusal).toMatchObject({ code: 'storage_full' })
    expect(mixed.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected'])
    for (const one of mixed) if (one.status === 'fulfilled') acknowledged.push(one.value.jobId)
    expect(await storedIn(scheduler)).toEqual(acknowledged.toSorted())
    handle.exec('pragma max_page_count = 1000000')
    await scheduler.enqueue(plain, 'x'.repeat(20_000))
  })

  function many(count: number) {
    return Array.from({ length: count }, () => ({ type: plain, params: 'x'.repeat(20_000) }))
  }

  /** Takes all the room that is left. */
  function fillFile(path: string): void {
    const file = openSync(path, 'w')
    const block = Buffer.alloc(4096)
    try {
      for (;;) writeSync(file, block)
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC')
    } finally {
      closeSync(file)
    }
  }
})

test('every file that Pawl makes can be read by its owner alone', async () => {
  const folder = newFolder()
  const command = defineJob({ type: 'command', command: [process.execPath, '-e', 'console.log("secret")'] })
  const before = process.umask(0)
  try {
    await using scheduler = await openScheduler({ store: sqlite(join(folder, 'pawl.db')), jobs: [plain, command] })
    await scheduler.start()
    await (await scheduler.enqueue(command, null)).settled()
    await scheduler.backup(join(folder, 'copy.db'))

    const modes = new Map<string, string>()
    const look = (path: string) => {
      const stat = statSync(path)
      modes.set(basename(path).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, 'ID'), (stat.mode & 0o777).toString(8))
      if (stat.isDirectory()) for (const name of readdirSync(path)) look(join(path, name))
    }
    for (const name of readdirSync(folder)) look(join(folder, name))

    expect(Object.fromEntries(modes)).toEqual({
      'pawl.db': '600',
      'pawl.db-wal': '600',
      'pawl.db-shm': '600',
      'pawl.db-node-ID': '600',
      'pawl.db-logs': '700',
      'ID.log': '600',
      'copy.db': '600',
    })
  } finally {
    process.umask(before)
  }
})

test('a database reached by a link is the same database, with its side files beside the real one', async () => {
  const folder = newFolder()
  mkdirSync(join(folder, 'real'))
  const real = join(folder, 'real', 'pawl.db')
  await makeStore(real)
  symlinkSync(real, join(folder, 'link.db'))

  await using one = await open(real)
  await using two = await open(join(folder, 'link.db'))
  await one.start()
  await two.start()

  expect(await two.listNodes()).toHaveLength(2)
  expect(readdirSync(folder)).toEqual(['link.db', 'real'])
  expect(readdirSync(dirname(real)).filter((name) => name.includes('-node-'))).toHaveLength(2)
})
