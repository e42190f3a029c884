// Every operation of the store is carried out on a small store and on a large one, with dead rows at the head of the queue,
// and each of its statements is explained on the way with the values it really has: it must look at no more pages on the
// large one. `PAWL_TEST_ROWS=1000000` does it with a million finished and a million queued Jobs, and 100,000 dead rows.
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { HOUR, NOW } from '../../src/store/conformance/fixtures.ts'
import { type PgPool, postgres } from '../../src/stores/postgres/index.ts'
import { type PostgresServer, startServer } from '../../torture/servers/server.ts'
import type { SweptDatabase } from '../../torture/sweep/database.ts'
import { bulkOperations } from '../../torture/sweep/operations/bulk.ts'
import { directOperations } from '../../torture/sweep/operations/direct.ts'
import { doorOperations } from '../../torture/sweep/operations/doors.ts'
import { jobOperations } from '../../torture/sweep/operations/jobs.ts'
import { runOperations } from '../../torture/sweep/operations/runs.ts'
import { upkeepOperations } from '../../torture/sweep/operations/upkeep.ts'
import { type Operation, Stage } from '../../torture/sweep/stage.ts'
import { type Execution, ExplainingPool } from './explaining-pool.ts'
import { fillSchema } from './many-rows.ts'
import { newSchema } from './schemas.ts'

/** Of what keeps a store in order, the rest may look at all there is. */
const UPKEEP = ['prune', 'adding up the hours of the statistics', 'adding up the minutes of the statistics']

/** Not what is done in transactions of others, nor what renumbers a whole priority. */
const operations = [
  ...bulkOperations,
  ...directOperations,
  ...doorOperations,
  ...jobOperations.filter(({ name, commits }) => commits !== 'caller' && name !== 'normalising of positions'),
  ...runOperations,
  ...upkeepOperations.filter(({ name }) => UPKEEP.includes(name)),
]

const YEAR = 365 * 24 * HOUR
const SMALL = 1_000
const LARGE = Number(process.env['PAWL_TEST_ROWS'] ?? 50_000)

/** An index of a million entries is up to two pages deeper than one of a thousand. */
const DEEPER = 3
const NOISE_PAGES = 60
const DEAD = LARGE / 10
/** So many entries of dead rows are passed over in one page of an index, until they are vacuumed. */
const DEAD_PER_PAGE = 200

/** As many rows as bodies execute. */
const SMALL_TABLES = /^(direct_)?occupancies: /

type Executions = ReadonlyMap<string, readonly Execution[]>

let small: Executions
let large: Executions

// A server of its own: the transactions of other tests would keep dead rows from being passed over.
let server: PostgresServer
let client: Client

beforeAll(async () => {
  server = await startServer()
  client = new Client({ connectionString: server.url })
  await client.connect()
  small = await liveOn(SMALL)
  large = await liveOn(LARGE)
}, 900_000)

afterAll(async () => {
  await client.end()
  await server.remove()
})

test('the operations were carried out, and their statements explained', () => {
  expect([...large.keys()]).toEqual(operations.map(({ name }) => name))
  expect([...large.values()].filter((executions) => executions.length === 0)).toEqual([])
  expect(new Set([...large.values()].flat().map(({ text }) => text)).size).toBeGreaterThan(90)
})

test('on a large store no statement looks at more pages than on a small one', () => {
  const growing = operations.flatMap(({ name }) => {
    const before = pagesByText(small.get(name) ?? [])
    return [...pagesByText(large.get(name) ?? [])].flatMap(([text, pages]) => {
      const most = DEEPER * (before.get(text) ?? 0) + NOISE_PAGES + DEAD / DEAD_PER_PAGE
      return pages > most ? [`${name}: ${pages} pages, ${before.get(text)} on the small one: ${text}`] : []
    })
  })
  expect(growing).toEqual([])
})

test('no statement reads a table that grows from its beginning to its end', () => {
  const reading = [...large].flatMap(([name, executions]) =>
    executions.flatMap(({ text, scans }) =>
      scans.filter((scan) => !SMALL_TABLES.test(scan)).map((scan) => `${name}: ${scan}: ${text}`),
    ),
  )
  expect(reading).toEqual([])
})

test('this check sees what grows: a statement without an index looks at more pages', async () => {
  const pool = new ExplainingPool(server.url)
  const connection = await pool.connect()
  await connection.query('create temp table grown as select n, n::text as name from generate_series(1, 100000) n')
  await connection.query({ text: 'select n from grown where name = $1', values: ['5'] })
  connection.release()
  await pool.end()
  expect(pool.executions).toMatchObject([{ scans: ['grown: 100000 rows'] }])
  expect(pool.executions[0]?.pages).toBeGreaterThan(NOISE_PAGES)
})

async function liveOn(count: number): Promise<Executions> {
  const schema = newSchema()
  await (await postgres(server.url, { schema }).open()).close()
  await fillSchema(client, schema, count)
  await client.query(`update "${schema}".queue set run_at = $1 where not ready`, [NOW + YEAR])
  await client.query(`vacuum "${schema}".queue`)
  await leaveDeadRows(schema, count / 10)
  const executions = new Map<string, readonly Execution[]>()
  // Whoever comes first after rows were removed marks their entries, and those who follow pass over them.
  for (const operation of operations) if (operation.name === 'claim') await explained(schema, operation)
  for (const operation of operations) executions.set(operation.name, await explained(schema, operation))
  await client.query(`drop schema "${schema}" cascade`)
  return executions
}

/** The statements of one operation. The store is afterwards as it was. */
async function explained(schema: string, { prepare }: Operation): Promise<readonly Execution[]> {
  const pool = new ExplainingPool(server.url)
  const store = await postgres(pool as unknown as PgPool, { schema, listen: false }).open()
  // None of these operations does anything behind the store's back.
  const operate = await prepare(await Stage.on({} as SweptDatabase, store))
  pool.executions.splice(0)
  await operate()
  const executions = pool.executions.splice(0)
  await store.close()
  await pool.end()
  await removeTraces(schema)
  return executions
}

/** Rows of Jobs that stood at the head of the queue and have started. */
async function leaveDeadRows(schema: string, count: number): Promise<void> {
  await client.query(`
    alter table "${schema}".queue set (autovacuum_enabled = false);
    insert into "${schema}".queue (seq, position, created_at, run_at, priority, lane_id, ready)
    select -n, -n, 1, 1, 100, 1 + n % 20, true from generate_series(1, ${count}) n;
    delete from "${schema}".queue where priority = 100`)
}

/** What an operation left, so that the next one finds the store as it was. */
async function removeTraces(schema: string): Promise<void> {
  const ours = `(select lane_id from "${schema}".lanes where type !~ '^type\\d+$')`
  await client.query(`
    delete from "${schema}".queue where lane_id in ${ours};
    delete from "${schema}".occupancies;
    delete from "${schema}".permits;
    delete from "${schema}".limits;
    delete from "${schema}".webhooks;
    delete from "${schema}".reservations where status = 'WAITING';
    delete from "${schema}".direct_occupancies;
    delete from "${schema}".business_keys where business_key !~ '^b\\d+$';
    delete from "${schema}".idempotency_keys where idempotency_key !~ '^i\\d+$'`)
}

/** The most that each statement looked at. */
function pagesByText(executions: readonly Execution[]): Map<string, number> {
  const most = new Map<string, number>()
  for (const { text, pages } of executions) most.set(text, Math.max(pages, most.get(text) ?? 0))
  return most
}
