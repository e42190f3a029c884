import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { NOW, newJob, newJobs } from '../../src/store/conformance/fixtures.ts'
import { postgres } from '../../src/stores/postgres/index.ts'
import { type PostgresServer, startServer } from '../../torture/servers/server.ts'
import { newSchema } from './schemas.ts'

// A server of its own: a long transaction of another test would make readers wait.
let server: PostgresServer
let client: Client

beforeAll(async () => {
  server = await startServer()
  client = new Client({ connectionString: server.url })
  await client.connect()
})

afterAll(async () => {
  await client.end()
  await server.remove()
})

// `pg_restore` into another server copies the rows, and with the events the numbers of transactions that this server has not
// reached yet. Whoever began there would find its numbers taken, and readers would wait for all of them.
test('a copy that was restored on a younger server goes on at once: events are written and read', async () => {
  const schema = newSchema()
  await (await postgres(server.url, { schema }).open()).close()
  const { rows } = await client.query(`select pg_current_xact_id()::text::bigint as xid`)
  await client.query(
    `insert into "${schema}".events (seq, part, at, transitions)
     select n, part, 1, '[]' from generate_series($1::bigint, $1::bigint + 1000) n, generate_series(0, 2) part`,
    [Number(rows[0].xid) - 100],
  )

  const store = await postgres(server.url, { schema }).open()
  const before = await store.lastEventSeq()
  const jobs = [newJob(), ...newJobs(3)]
  for (const job of jobs) expect(await store.enqueueJobs([job], NOW)).toMatchObject({ kind: 'enqueued' })
  await expect
    .poll(
      async () =>
        (await store.readEvents(before, 10)).flatMap(({ transitions }) => transitions.map((one) => one.jobId)),
      { timeout: 20_000 },
    )
    .toEqual(jobs.map(({ jobId }) => jobId))
  await store.close()
})
