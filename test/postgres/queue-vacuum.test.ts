// What claims leave behind at the head of the queue is removed before the server would do so. The tests' server has no vacuum
// of its own.
import { Client } from 'pg'
import { expect, test, vi } from 'vitest'
import { postgres } from '../../src/stores/postgres/index.ts'
import type { PgClient } from '../../src/stores/postgres/pool.ts'
import { QueueVacuum } from '../../src/stores/postgres/queue-vacuum.ts'
import { type PostgresServer, startServer } from '../../torture/servers/server.ts'
import { newSchema } from './schemas.ts'

// A server of its own: the transactions of other tests would keep dead rows from being removed.
async function onServer(work: (server: PostgresServer, client: Client) => Promise<void>): Promise<void> {
  const server = await startServer({ settings: { autovacuum: 'off' } })
  const client = new Client({ connectionString: server.url })
  await client.connect()
  try {
    await work(server, client)
  } finally {
    await client.end()
    await server.remove()
  }
}

async function makeDeadRows(client: Client, schema: string, count: number): Promise<void> {
  await client.query(`
    insert into "${schema}".queue (seq, position, created_at, run_at, priority, lane_id, ready)
    select -n, -n, 1, 1, 100, 1, true from generate_series(1, ${count}) n`)
  await client.query(`delete from "${schema}".queue where priority = 100`)
  // Who counts them is told a little later.
  await vi.waitFor(async () => expect(await deadRows(client, schema)).toBeGreaterThanOrEqual(count), 10_000)
}

async function statistics(client: Client, schema: string): Promise<{ dead: number; vacuums: number }> {
  const { rows } = await client.query(
    `select n_dead_tup::integer as dead, vacuum_count::integer as vacuums
     from pg_stat_all_tables where relid = '"${schema}".queue'::regclass`,
  )
  return rows[0]
}

async function deadRows(client: Client, schema: string): Promise<number> {
  return (await statistics(client, schema)).dead
}

async function openVacuum(server: PostgresServer, schema: string): Promise<QueueVacuum> {
  await (await postgres(server.url, { schema }).open()).close()
  return new QueueVacuum({
    schema: `"${schema}"`,
    openClient: async () => {
      const client = new Client({ connectionString: server.url })
      await client.connect()
      return client as unknown as PgClient
    },
  })
}

test('many dead rows are removed when ten thousand jobs have left the queue; few are left to the server', async () => {
  await onServer(async (server, client) => {
    const schema = newSchema()
    const vacuum = await openVacuum(server, schema)
    await makeDeadRows(client, schema, 5_000)
    vacuum.note(10_000)
    await vacuum.quiet()
    expect(await statistics(client, schema)).toMatchObject({ vacuums: 0 })
    await makeDeadRows(client, schema, 20_000)
    vacuum.note(9_999)
    await vacuum.quiet()
    expect(await statistics(client, schema)).toMatchObject({ vacuums: 0 })
    vacuum.note(1)
    await vacuum.quiet()
    expect(await statistics(client, schema)).toEqual({ vacuums: 1, dead: 0 })
    await vacuum.close()
  })
})

test('rows that an old transaction keeps are not tried again and again', async () => {
  await onServer(async (server, client) => {
    const schema = newSchema()
    const vacuum = await openVacuum(server, schema)
    const old = new Client({ connectionString: server.url })
    await old.connect()
    await old.query('begin isolation level repeatable read')
    await old.query(`select 1 from "${schema}".queue`)
    await makeDeadRows(client, schema, 25_000)
    for (let look = 0; look < 3; look++) {
      vacuum.note(10_000)
      await vacuum.quiet()
    }
    expect(await statistics(client, schema)).toMatchObject({ vacuums: 1 })
    await old.end()
    // Somebody else removes them. Those that come then are as many as those that were left.
    await client.query(`vacuum "${schema}".queue`)
    vacuum.note(10_000)
    await vacuum.quiet()
    await makeDeadRows(client, schema, 25_000)
    vacuum.note(10_000)
    await vacuum.quiet()
    expect(await statistics(client, schema)).toMatchObject({ vacuums: 3 })
    await vacuum.close()
  })
})

test('nothing goes wrong where it cannot be done', async () => {
  const pooled = new QueueVacuum({ schema: '"pawl"', openClient: null })
  pooled.note(1_000_000)
  await pooled.close()
  const away = new QueueVacuum({ schema: '"pawl"', openClient: () => Promise.reject(new Error('gone')) })
  away.note(1_000_000)
  await away.close()
})

test('claims count', async () => {
  await onServer(async (server, client) => {
    const schema = newSchema()
    const { defineJob, openScheduler } = await import('../../src/index.ts')
    const work = defineJob({ type: 'work', run: () => null })
    await using scheduler = await openScheduler({
      store: postgres(server.url, { schema }),
      jobs: [work],
      concurrency: 500,
    })
    await scheduler.enqueueMany(Array.from({ length: 10_000 }, () => ({ type: work, params: null })))
    await makeDeadRows(client, schema, 25_000)
    await scheduler.start()
    await vi.waitFor(async () => expect(await statistics(client, schema)).toMatchObject({ vacuums: 1 }), 60_000)
  })
}, 90_000)
