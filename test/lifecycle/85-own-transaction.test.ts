// A Job inside your own transaction: it exists if and only if you commit. Your rows and your Jobs cannot disagree.
import { defineJob, openScheduler, type Scheduler } from 'pawl'
import { type BetterSqlite3, sqlite } from 'pawl/sqlite'
import { onFaultPoint } from 'pawl/testing'
import { describe, expect, type TestContext, test } from 'vitest'
import { z } from 'zod'
import { type Handle, newDatabasePath, openHandle, refusalOf } from './stage.ts'

const mail = defineJob({
  type: 'mail',
  params: z.object({ to: z.string() }),
  run: ({ params }) => `sent to ${params.to}`,
})

const openMail = (path: string) => openScheduler({ store: sqlite(path), jobs: [mail] })

/** A database of the caller's, with the tables of Pawl in the same file. */
function openShared<Database extends Handle>(path: string, open: (path: string) => Database): Database {
  const database = open(path)
  database.exec('create table if not exists users (name text primary key)')
  return database
}

const usersIn = (database: Handle) => database.prepare('select name from users order by name').all()

async function jobsOf(scheduler: Scheduler): Promise<unknown[]> {
  return (await scheduler.listJobs()).items.map(({ params }) => params)
}

describe('enqueueSync', () => {
  test('makes the Job with the commit: the caller’s row and the Job appear together, and the Job runs', async () => {
    const path = newDatabasePath()
    await using scheduler = await openMail(path)
    await scheduler.start()
    const database = openShared(path, openHandle)

    database.exec('begin immediate')
    database.prepare('insert into users values (?)').run('ada')
    const handle = scheduler.enqueueSync(database, mail, { to: 'ada' }, { priority: 2, businessKey: 'welcome-ada' })
    expect(await jobsOf(scheduler)).toEqual([])
    database.exec('commit')

    expect(await handle.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'sent to ada' })
    expect(await handle.get()).toMatchObject({ priority: 2, businessKey: 'welcome-ada', position: 100 })
    expect(usersIn(database)).toEqual([{ name: 'ada' }])
    database.close()
  })

  test('leaves nothing after a rollback: no row, no Job, no key', async () => {
    const path = newDatabasePath()
    await using scheduler = await openMail(path)
    const database = openShared(path, openHandle)

    database.exec('begin immediate')
    database.prepare('insert into users values (?)').run('ada')
    scheduler.enqueueSync(database, mail, { to: 'ada' }, { idempotencyKey: 'i', businessKey: 'b' })
    database.exec('rollback')

    expect(usersIn(database)).toEqual([])
    expect(await jobsOf(scheduler)).toEqual([])
    const later = await scheduler.enqueue(mail, { to: 'bob' }, { idempotencyKey: 'i', businessKey: 'b' })
    expect(later.existed).toBe(false)
    database.close()
  })

  test('without a transaction of the caller’s is one of its own', async () => {
    const path = newDatabasePath()
    await using scheduler = await openMail(path)
    const database = openHandle(path)
    scheduler.enqueueSync(database, mail, { to: 'ada' })
    expect(await jobsOf(scheduler)).toEqual([{ to: 'ada' }])
    database.close()
  })

  test('may be called many times in one transaction, in order', async () => {
    const path = newDatabasePath()
    await using scheduler = await openMail(path)
    await scheduler.enqueue(mail, { to: 'first' })
    const database = openHandle(path)
    database.exec('begin immediate')
    for (const to of ['second', 'third']) scheduler.enqueueSync(database, 'mail', { to })
    database.exec('commit')
    expect((await scheduler.listQueue()).map(({ params, position }) => [params, position])).toEqual([
      [{ to: 'first' }, 100],
      [{ to: 'second' }, 200],
      [{ to: 'third' }, 300],
    ])
    database.close()
  })

  test('that is refused leaves the transaction as it was; the caller may go on and commit', async () => {
    const path = newDatabasePath()
    await using scheduler = await openMail(path)
    await scheduler.enqueue(mail, { to: 'holder' }, { businessKey: 'taken' })
    const database = openShared(path, openHandle)

    database.exec('begin immediate')
    database.prepare('insert into users values (?)').run('ada')
    expect(await refusalOf(() => scheduler.enqueueSync(database, 'mail', { to: 7 }))).toMatchObject({
      code: 'invalid_params',
      path: 'params.to',
    })
    expect(
      await refusalOf(() => scheduler.enqueueSync(database, mail, { to: 'ada' }, { businessKey: 'taken' })),
    ).toMatchObject({ code: 'business_key_taken' })
    scheduler.enqueueSync(database, mail, { to: 'ada' })
    database.exec('commit')

    expect(usersIn(database)).toEqual([{ name: 'ada' }])
    expect(await jobsOf(scheduler)).toEqual([{ to: 'ada' }, { to: 'holder' }])
    database.close()
  })

  test('that fails half-way leaves nothing behind in a transaction that goes on', async () => {
    const path = newDatabasePath()
    await using scheduler = await openMail(path)
    const database = openShared(path, openHandle)
    database.exec('begin immediate')
    database.prepare('insert into users values (?)').run('ada')

    // Fails before its second statement, then before its third, …, until one goes through.
    let failures = 0
    for (let statements = 1; ; statements++) {
      let executed = 0
      onFaultPoint(() => {
        if (++executed > statements) throw new Error('half-way')
      })
      try {
        scheduler.enqueueSync(database, mail, { to: `user ${statements}` }, { businessKey: 'b', idempotencyKey: 'i' })
        break
      } catch (error) {
        expect((error as Error).message).toBe('half-way')
        failures++
      } finally {
        onFaultPoint(null)
      }
    }
    database.exec('commit')

    expect(failures).toBeGreaterThan(2)
    expect(usersIn(database)).toEqual([{ name: 'ada' }])
    expect(await jobsOf(scheduler)).toEqual([{ to: `user ${failures + 1}` }])
    expect(await scheduler.listQueue()).toHaveLength(1)
    database.close()
  })

  test('answers an idempotency key with the first Job, as enqueue does', async () => {
    const path = newDatabasePath()
    await using scheduler = await openMail(path)
    const first = await scheduler.enqueue(mail, { to: 'ada' }, { idempotencyKey: 'k' })
    const database = openHandle(path)
    expect(scheduler.enqueueSync(database, mail, { to: 'ada' }, { idempotencyKey: 'k' })).toMatchObject({
      jobId: first.jobId,
      existed: true,
    })
    database.close()
  })

  test('is refused on a handle to another file or to memory: `wrong_database`', async () => {
    const path = newDatabasePath()
    await using scheduler = await openMail(path)
    for (const elsewhere of [newDatabasePath(), ':memory:']) {
      const database = openShared(elsewhere, openHandle)
      const refusal = await refusalOf(() => scheduler.enqueueSync(database, mail, { to: 'ada' }))
      expect(refusal.code).toBe('wrong_database')
      expect(refusal.message).toContain(path)
      database.close()
    }
    expect(await jobsOf(scheduler)).toEqual([])
  })

  test('is refused for a type whose params cannot be checked at once', async () => {
    const path = newDatabasePath()
    const slow = defineJob({ type: 'slow', params: z.string().refine(async () => true), run: () => null })
    await using scheduler = await openScheduler({ store: sqlite(path), jobs: [slow] })
    const database = openHandle(path)
    const refusal = await refusalOf(() => scheduler.enqueueSync(database, slow, 'text'))
    expect(refusal).toMatchObject({ code: 'invalid_option', message: expect.stringContaining('Use enqueue') })
    expect(await jobsOf(scheduler)).toEqual([])
    database.close()
  })

  test.each([
    ['nothing', undefined],
    ['a path', 'pawl.db'],
    ['an object that looks like a handle', { prepare: () => ({}), exec: () => {}, close: () => {} }],
  ])('is refused on what is no handle of the library that Pawl uses: %s', async (_, database) => {
    await using scheduler = await openMail(newDatabasePath())
    expect(await refusalOf(() => scheduler.enqueueSync(database, mail, { to: 'ada' }))).toMatchObject({
      code: 'driver_mismatch',
    })
  })
})

describe('better-sqlite3', () => {
  type Database = Handle & { backup(path: string): Promise<unknown>; pragma(text: string): unknown }

  /** The library, when it can be loaded here. Its binary is made for one version of Node. */
  async function load(context: TestContext): Promise<BetterSqlite3 & (new (path: string) => Database)> {
    try {
      const { default: library } = (await import('better-sqlite3' as string)) as {
        default: BetterSqlite3 & (new (path: string) => Database)
      }
      new library(':memory:').close()
      return library
    } catch (error) {
      return context.skip(`better-sqlite3 cannot be loaded here: ${(error as Error).message}`)
    }
  }

  test('handles are refused while Pawl uses another library: two on one file lose commits', async (context) => {
    const library = await load(context)
    await using scheduler = await openMail(newDatabasePath())
    // In memory, because this process must not open Pawl's file with a second library either.
    const database = new library(':memory:')
    const refusal = await refusalOf(() => scheduler.enqueueSync(database, mail, { to: 'ada' }))
    expect(refusal.code).toBe('driver_mismatch')
    expect(refusal.message).toContain('sqlite(path, { driver })')
    expect(await refusalOf(openScheduler({ store: sqlite(database) }))).toMatchObject({ code: 'driver_mismatch' })
    database.close()
  })

  test('as { driver } executes a whole life, and shares the caller’s transactions', async (context) => {
    const library = await load(context)
    const path = newDatabasePath()
    await using scheduler = await openScheduler({ store: sqlite(path, { driver: library }), jobs: [mail] })
    const handle = openShared(path, (file) => new library(file))
    await scheduler.start()

    handle.exec('begin immediate')
    handle.prepare('insert into users values (?)').run('ada')
    const job = scheduler.enqueueSync(handle, mail, { to: 'ada' })
    handle.exec('commit')
    expect(await job.settled()).toMatchObject({ outcome: 'COMPLETED', result: 'sent to ada' })

    handle.exec('begin immediate')
    const undone = scheduler.enqueueSync(handle, mail, { to: 'bob' })
    handle.exec('rollback')
    expect(await refusalOf(undone.get())).toMatchObject({ code: 'job_not_found' })

    const many = await scheduler.enqueueMany(
      Array.from({ length: 200 }, (_, index) => ({ type: mail, params: { to: `user ${index}` } })),
    )
    for (const one of many) expect((await one.settled()).outcome).toBe('COMPLETED')

    const copy = newDatabasePath()
    await scheduler.backup(copy)
    await using restored = await openScheduler({ store: sqlite(copy, { driver: library }) })
    expect(await restored.getJob(job.jobId)).toEqual(await job.get())

    const native = openHandle(':memory:')
    expect(await refusalOf(() => scheduler.enqueueSync(native, mail, { to: 'ada' }))).toMatchObject({
      code: 'driver_mismatch',
    })
    native.close()
    handle.close()
  })

  test('as a handle stands for its file', async (context) => {
    const library = await load(context)
    const path = newDatabasePath()
    await (await openScheduler({ store: sqlite(path, { driver: library }), jobs: [mail] })).close()
    const database = new library(path)
    await using scheduler = await openScheduler({ store: sqlite(database, { driver: library }), jobs: [mail] })
    const { jobId } = await scheduler.enqueue(mail, { to: 'ada' })
    expect(database.prepare('select job_id from pawl_jobs').all()).toEqual([{ job_id: jobId }])
    database.close()
  })
})

test('a handle of the caller’s stands for its file; Pawl opens connections of its own to it', async () => {
  const path = newDatabasePath()
  await (await openMail(path)).close()
  const database = openHandle(path)
  {
    await using scheduler = await openScheduler({ store: sqlite(database), jobs: [mail] })
    await scheduler.enqueue(mail, { to: 'ada' })
  }
  // Still the caller's, and still open.
  expect(database.prepare('select count(*) as n from pawl_jobs').get()).toEqual({ n: 1 })
  database.close()
})
