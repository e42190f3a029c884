// Jobs that exist if and only if the caller's own transaction commits, with each library that a caller may have it from.
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { CamelCasePlugin, CompiledQuery, Kysely, PostgresDialect } from 'kysely'
import { Client, Pool, type PoolClient, type QueryResult } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, openScheduler, type PawlError, type Scheduler } from '../../src/index.ts'
import { isLargeNumber } from '../../src/stores/postgres/caller-queryable.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { sqlite } from '../../src/stores/sqlite/index.ts'
import { giveBackSchema, newSchema, postgresUrl, takeSchema } from './schemas.ts'

const welcome = defineJob({ type: 'welcome', run: ({ params }) => ({ greeted: params }) })
const broken = defineJob({
  type: 'broken',
  retry: { maxRetries: 0 },
  run: () => {
    throw new Error('no stamps')
  },
})

/** What a caller does inside its transaction: with `tx` for Pawl, and with statements of its own. */
type Work = (tx: object, own: (text: string) => Promise<unknown>) => Promise<void>

interface Way {
  readonly name: string
  /** Commits when the work resolves, rolls back when it rejects. */
  transaction(work: Work): Promise<void>
}

const pool = new Pool({ connectionString: postgresUrl(), max: 8 })
// Each has its own way of naming and parsing what comes back: none of it may matter.
const kysely = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
const renaming = kysely.withPlugin(new CamelCasePlugin())
const orm = drizzle({ client: pool })

/** A client of `pg` between `begin` and `commit` or `rollback`. */
async function onClient(as: (client: PoolClient) => object, work: Work): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await work(as(client), (text) => client.query(text))
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

const inKysely = (db: Kysely<unknown>, work: Work) =>
  db.transaction().execute((trx) => work(trx, (text) => trx.executeQuery(CompiledQuery.raw(text))))

/** Numbers of 64 bits that came as texts, and that nobody made numbers of. Filled by the way below. */
const unread: string[] = []

const WAYS: readonly Way[] = [
  { name: 'a client of pg', transaction: (work) => onClient((client) => client, work) },
  { name: 'Kysely', transaction: (work) => inKysely(kysely, work) },
  { name: 'Kysely with a plugin that renames columns', transaction: (work) => inKysely(renaming, work) },
  {
    name: 'Drizzle',
    transaction: (work) => orm.transaction((tx) => work(tx, (text) => tx.execute(sql.raw(text)))),
  },
  {
    name: 'Drizzle, in a transaction of a transaction',
    transaction: (work) =>
      orm.transaction((outer) => outer.transaction((tx) => work(tx, (text) => tx.execute(sql.raw(text))))),
  },
  {
    name: 'any object with query({ text, values }), whatever it makes of large numbers',
    transaction: (work) =>
      onClient(
        (client) => ({
          query: async ({ text, values }: { text: string; values?: unknown[] }) => {
            const { rows, rowCount, fields } = (await client.query(text, values)) as QueryResult<
              Record<string, unknown>
            >
            const large = fields.filter(({ dataTypeID }) => dataTypeID === 20).map(({ name }) => name)
            unread.push(...large.filter((name) => !isLargeNumber(name)))
            return { rows, rowCount }
          },
        }),
        work,
      ),
  },
]

const ROLLED_BACK = new Error('rolled back on purpose')

async function rollBack(way: Way, work: Work): Promise<void> {
  const ended = way.transaction(async (tx, own) => {
    await work(tx, own)
    throw ROLLED_BACK
  })
  await expect(ended).rejects.toBe(ROLLED_BACK)
}

let schema: string
let orders: string
let scheduler: Scheduler

beforeAll(async () => {
  schema = takeSchema()
  const app = newSchema()
  orders = `"${app}".orders`
  await pool.query(`create schema "${app}"; create table ${orders} (name text primary key)`)
  scheduler = await openScheduler({ store: postgres(postgresUrl(), { schema }), jobs: [welcome, broken] })
})

afterAll(async () => {
  await scheduler.close()
  await pool.end()
  await giveBackSchema(schema)
})

const openWorker = () =>
  openScheduler({ store: postgres(postgresUrl(), { schema }), jobs: [welcome, broken], shutdownTimeoutMs: 1_000 })

let counter = 0
const newName = () => `ada ${++counter}`

const codeOf = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => 'accepted',
    (error: PawlError) => error.code,
  )

async function orderExists(name: string): Promise<boolean> {
  return (await pool.query(`select from ${orders} where name = $1`, [name])).rowCount === 1
}

describe.each(WAYS)('with $name', (way) => {
  test('the job exists once the transaction has committed, and nobody sees it before', async () => {
    const name = newName()
    let jobId = ''
    await way.transaction(async (tx, own) => {
      await own(`insert into ${orders} values ('${name}')`)
      const job = await scheduler.enqueue(welcome, { name }, { tx, priority: 3, tags: ['mail'], name: '42' })
      jobId = job.jobId
      expect(await codeOf(scheduler.getJob(jobId))).toBe('job_not_found')
    })
    expect(await scheduler.getJob(jobId)).toMatchObject({
      status: 'QUEUED',
      params: { name },
      priority: 3,
      tags: ['mail'],
      name: '42',
    })
    expect(await orderExists(name)).toBe(true)
    await scheduler.cancel(jobId)
  })

  test('nothing is left of it when the transaction is rolled back, not even its keys', async () => {
    const name = newName()
    let jobId = ''
    await rollBack(way, async (tx, own) => {
      await own(`insert into ${orders} values ('${name}')`)
      const options = { tx, idempotencyKey: name, businessKey: name }
      jobId = (await scheduler.enqueue(welcome, { name }, options)).jobId
    })
    expect(await codeOf(scheduler.getJob(jobId))).toBe('job_not_found')
    expect(await orderExists(name)).toBe(false)
    const again = await scheduler.enqueue(welcome, { name }, { idempotencyKey: name, businessKey: name })
    expect(again.existed).toBe(false)
    await again.cancel()
  })

  test('an idempotency key that was used is answered with the first job', async () => {
    const name = newName()
    const first = await scheduler.enqueue(welcome, { name }, { idempotencyKey: name })
    await way.transaction(async (tx) => {
      const again = await scheduler.enqueue(welcome, { name }, { tx, idempotencyKey: name })
      expect(again).toMatchObject({ jobId: first.jobId, existed: true })
    })
    await first.cancel()
  })

  test('a refused job leaves the transaction usable', async () => {
    const name = newName()
    const holder = await scheduler.enqueue(welcome, { name }, { businessKey: name })
    await way.transaction(async (tx, own) => {
      await own(`insert into ${orders} values ('${name}')`)
      expect(await codeOf(scheduler.enqueue(welcome, { name }, { tx, businessKey: name }))).toBe('business_key_taken')
      expect(await codeOf(scheduler.enqueue('nonsense', {}, { tx }))).toBe('unknown_type')
      await own(`insert into ${orders} values ('${name} still')`)
    })
    expect(await orderExists(name)).toBe(true)
    expect(await orderExists(`${name} still`)).toBe(true)
    await holder.cancel()
  })

  test('two at once on one transaction are both kept, and one that fails takes nothing of the other with it', async () => {
    const name = newName()
    let jobIds: string[] = []
    await way.transaction(async (tx) => {
      const attempts = await Promise.allSettled([
        scheduler.enqueue(welcome, { name }, { tx, businessKey: name }),
        scheduler.enqueue(welcome, { name: 'other' }, { tx, businessKey: name }),
        scheduler.enqueue(welcome, { name: 'third' }, { tx }),
      ])
      jobIds = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value.jobId] : []))
    })
    expect(jobIds).toHaveLength(2)
    for (const jobId of jobIds) await scheduler.cancel(jobId)
  })

  test('lists and graphs are accepted within it, with parents inside and outside of it', async () => {
    const name = newName()
    await using worker = await openWorker()
    await worker.start()
    const failed = await worker.enqueue(broken, {})
    await failed.settled()
    let graph: Awaited<ReturnType<typeof enqueueGraph>> | null = null
    const enqueueGraph = (tx: object) =>
      scheduler.enqueueGraph(
        {
          parent: { type: welcome, params: { name } },
          child: { type: welcome, params: { name: 'child' }, dependsOn: ['parent'] },
          doomed: { type: welcome, params: { name: 'doomed' }, dependsOn: [failed.jobId] },
        },
        { tx },
      )
    let listed: string[] = []
    await way.transaction(async (tx) => {
      graph = await enqueueGraph(tx)
      const items = [
        { type: welcome, params: {}, webhookUrl: 'https://example.com/hook' },
        { type: welcome, params: {}, delayMs: 1_000 },
      ] as const
      listed = (await scheduler.enqueueMany(items, { tx })).map(({ jobId }) => jobId)
    })
    const { parent, child, doomed } = graph as unknown as Awaited<ReturnType<typeof enqueueGraph>>
    expect(await doomed.get()).toMatchObject({ status: 'CANCELLED' })
    expect(await child.get()).toMatchObject({ hold: 'dependencies' })
    expect(await parent.settled()).toMatchObject({ outcome: 'COMPLETED' })
    expect(await child.settled()).toMatchObject({ outcome: 'COMPLETED' })
    for (const jobId of listed) await scheduler.cancel(jobId).catch(() => {})
  })

  test('a template is enqueued within it', async () => {
    const template = await scheduler.templates.create({
      name: newName(),
      type: 'welcome',
      defaultParams: { from: 'us' },
    })
    let jobId = ''
    await way.transaction(async (tx) => {
      jobId = (await scheduler.enqueueTemplate(template.templateId, { to: 'ada' }, { tx })).jobId
    })
    expect(await scheduler.getJob(jobId)).toMatchObject({ params: { from: 'us', to: 'ada' } })
    await scheduler.cancel(jobId)
  })
})

test('every large number that came as a text was read as a number', () => {
  expect([...new Set(unread)]).toEqual([])
})

test('two transactions with the same idempotency key make one job: the second waits, then gets the first one’s', async () => {
  const name = newName()
  let letSecondBegin = () => {}
  const secondMayBegin = new Promise<void>((resolve) => {
    letSecondBegin = resolve
  })
  const [one, two] = await Promise.all([
    onClientReturning(async (client) => {
      const job = await scheduler.enqueue(welcome, { name }, { tx: client, idempotencyKey: name })
      letSecondBegin()
      await untilSomebodyWaitsFor(client)
      return job
    }),
    secondMayBegin.then(() =>
      onClientReturning((client) => scheduler.enqueue(welcome, { name }, { tx: client, idempotencyKey: name })),
    ),
  ])
  expect({ jobId: two.jobId, existed: two.existed }).toEqual({ jobId: one.jobId, existed: true })
  await one.cancel()
})

test('a worker of another process starts the job within 100 ms of the commit, because it is notified', async () => {
  await using worker = await openWorker()
  await worker.start()
  const waits: number[] = []
  for (let round = 0; round < 5; round++) {
    const job = await onClientReturning((client) => scheduler.enqueue(welcome, {}, { tx: client }))
    const committedAt = performance.now()
    await expect.poll(async () => (await job.get()).status, { interval: 5 }).toBe('FINISHED')
    waits.push(performance.now() - committedAt)
  }
  // Whoever only looks from time to time would be this late nearly always.
  expect(Math.min(...waits)).toBeLessThan(100)
})

describe('what is no transaction of this database is refused, and nothing is stored', () => {
  const refusal = (tx: object) =>
    scheduler.enqueue(welcome, {}, { tx }).then(
      () => null,
      ({ code, message }: PawlError) => ({ code, message }),
    )

  test('a pool', async () => {
    expect(await refusal(pool)).toEqual({
      code: 'invalid_option',
      message: expect.stringMatching(
        /^Expected `tx` to be a client of `pg` .* got a pool, whose statements may each run/,
      ),
    })
  })

  test('a Kysely and a Drizzle outside of a transaction', async () => {
    expect((await refusal(kysely))?.message).toContain('got a Kysely that is no transaction')
    expect((await refusal(orm))?.message).toContain('got a Drizzle that is no transaction')
  })

  test('anything else', async () => {
    expect(await refusal({})).toMatchObject({ code: 'invalid_option' })
    expect(await refusal('tx' as never)).toMatchObject({ code: 'invalid_option' })
  })

  test('a client without a transaction under way', async () => {
    const client = await pool.connect()
    try {
      expect(await refusal(client)).toEqual({
        code: 'invalid_option',
        message:
          'Expected `tx` to have a transaction under way, but it has none. Call `begin` first, and `commit` afterwards.',
      })
    } finally {
      client.release()
    }
  })

  test('a transaction in which a statement has failed', async () => {
    await rollBack(WAYS[0] as Way, async (tx, own) => {
      await own('select 1 / 0').catch(() => {})
      expect((await refusal(tx))?.message).toContain('a statement in it has failed. Roll it back and begin anew')
    })
  })

  test('a transaction on another database, whether or not that has a store of its own', async () => {
    const elsewhere = newSchema()
    const other = await openScheduler({ store: postgres(postgresUrl(), { schema: elsewhere }), jobs: [welcome] })
    const client = new Client({ connectionString: postgresUrl() })
    await client.connect()
    try {
      // The same names, but not the same tables: as on another server.
      await client.query(`begin; alter schema "${schema}" rename to "${schema}_aside"`)
      expect(await refusal(client)).toMatchObject({ code: 'wrong_database' })
      await client.query(`alter schema "${elsewhere}" rename to "${schema}"`)
      expect(await refusal(client)).toMatchObject({ code: 'wrong_database' })
    } finally {
      await client.end()
    }
    await other.close()
  })

  test('any at all on SQLite, which has enqueueSync instead', async () => {
    await using small = await openScheduler({ store: sqlite(':memory:'), jobs: [welcome] })
    const message =
      '`tx` is for PostgreSQL. On sqlite :memory: transactions are synchronous: use `enqueueSync(database, '
    await expect(small.enqueue(welcome, {}, { tx: {} })).rejects.toThrow(message)
    await expect(small.enqueueMany([], { tx: {} })).rejects.toThrow(message)
  })

  test('and enqueueSync on PostgreSQL', () => {
    expect(() => scheduler.enqueueSync(pool, welcome, {})).toThrow(
      /^`enqueueSync` is for SQLite\. On postgres .* use `await enqueue\(type, params, { tx }\)` inside yours\.$/,
    )
  })
})

async function onClientReturning<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
  let result: T | undefined
  await onClient(
    (client) => client,
    async (client) => {
      result = await work(client as PoolClient)
    },
  )
  return result as T
}

/** Waits until another transaction waits for this one. */
async function untilSomebodyWaitsFor(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const waiting = 'select count(*)::integer as count from pg_stat_activity where $1 = any(pg_blocking_pids(pid))'
  await expect.poll(async () => (await pool.query(waiting, [rows[0]?.pid])).rows[0].count).toBeGreaterThan(0)
}
