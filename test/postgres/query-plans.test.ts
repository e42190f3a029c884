// No statement may read a large table from its beginning to its end: what Pawl does must cost the same on an empty store
// and on one with millions of rows.
//
// The statements are not copied here: all that stand in the source are explained by a real server with many rows, as they
// are planned once and for all values (a generic plan), because prepared statements are planned so.
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgres } from '../../src/stores/postgres/index.ts'
import { type PostgresServer, startServer } from '../../torture/servers/server.ts'
import { fillSchema } from './many-rows.ts'
import { newSchema } from './schemas.ts'
import { type Statement, statementConstants } from './statement-constants.ts'

/** So many finished Jobs, and as many queued ones. */
const COUNT = 100_000

const LARGE = new Set([
  'jobs',
  'job_tags',
  'queue',
  'runs',
  'uncompleted_runs',
  'run_logs',
  'events',
  'dependencies',
  'deliveries',
  'business_keys',
  'idempotency_keys',
  'reservations',
  'scheduled_chains',
  'audit',
  'operations',
])

/** Partial indexes that stay small, though their table grows. */
const SMALL_INDEXES: Readonly<Record<string, string>> = {
  reservations_waiting: 'as many entries as callers wait',
  reservations_running: 'as many entries as direct executions run',
}

/** Whole files whose statements may read everything, and why. */
const READS_ALL: Readonly<Record<string, string>> = {
  'checks/': 'doctor looks at every row',
  'rebuild.ts': 'doctor --fix looks at every row',
  'rebuild-groups.ts': 'doctor --fix looks at every row',
  'rebuild-queue.ts': 'doctor --fix looks at every row',
}

/** Statements that may, and why. */
const ALLOWED: Readonly<Record<string, string>> = {
  'SELECT_READY_LANES in vitals.ts': 'doctor looks at the whole queue',
  'NORMALISE in move.ts': 'it numbers a whole priority anew, when a person asks for it',
  'FAIL_PENDING in webhooks.ts': 'of a webhook that is removed; it reads the pending deliveries only',
  'SELECT_QUEUED_ELSEWHERE in damage.ts': 'only damage from outside leads to it',
}

/** What `explain (format json)` says of one step. */
interface Step {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly Filter?: string
  readonly Plans?: readonly Step[]
}

interface Explained extends Statement {
  readonly plan: Step
}

// A server of its own: filling a table is a transaction of seconds, for which all readers of events would wait.
let server: PostgresServer
let client: Client
let schema: string
let explained: readonly Explained[] = []
let refused: readonly string[] = []

beforeAll(async () => {
  server = await startServer()
  schema = newSchema()
  await (await postgres(server.url, { schema }).open()).close()
  client = new Client({ connectionString: server.url })
  await client.connect()
  await fillSchema(client, schema, COUNT)
  await client.query('set plan_cache_mode = force_generic_plan')
  const errors: string[] = []
  const plans: Explained[] = []
  for (const statement of await statementConstants()) {
    try {
      plans.push({ ...statement, plan: await explain(statement.sql) })
    } catch (error) {
      errors.push(`${statement.name} in ${statement.file}: ${(error as Error).message}`)
    }
  }
  explained = plans
  refused = errors
}, 120_000)

afterAll(async () => {
  await client.end()
  await server.remove()
})

describe('the statements', () => {
  test('of all files were found', () => {
    const files = new Set(explained.map(({ file }) => file))
    expect(files.size).toBeGreaterThan(40)
    expect(explained.length).toBeGreaterThan(200)
  })

  test('are all understood by the server', () => {
    expect(refused).toEqual([])
  })

  test('read no large table from its beginning to its end', () => {
    const scans = explained
      .filter((statement) => !mayReadAll(statement))
      .flatMap(({ name, file, plan }) => scansIn(plan).map((scan) => `${name} in ${file}: ${scan}`))
    expect(scans).toEqual([])
  })

  test('that may read everything are still there, and still do', () => {
    const reading = new Set(
      explained.filter(({ plan }) => scansIn(plan).length > 0).map(({ name, file }) => `${name} in ${file}`),
    )
    expect(Object.keys(ALLOWED).filter((key) => !reading.has(key))).toEqual([])
  })
})

test('this check sees a scan: the same statement without its index fails it', async () => {
  const found = await explain('select seq from pawl.jobs where name = $1')
  expect(scansIn(found)).toEqual(['Seq Scan on jobs'])
  const first = await explain('select seq from pawl.jobs where business_key is not null order by seq limit 1')
  expect(scansIn(first)).toEqual(['Index Scan on jobs by jobs_pkey, passing over rows'])
})

function mayReadAll({ name, file }: Statement): boolean {
  return `${name} in ${file}` in ALLOWED || Object.keys(READS_ALL).some((part) => file.startsWith(part))
}

async function explain(sql: string): Promise<Step> {
  const values = Math.max(0, ...[...sql.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)))
  const given = values === 0 ? '' : `(${Array.from({ length: values }, () => 'null').join(', ')})`
  await client.query('deallocate all')
  await client.query(`prepare statement as ${sql.replaceAll('pawl.', `"${schema}".`)}`)
  const { rows } = await client.query(`explain (format json, costs off) execute statement${given}`)
  return (rows as { 'QUERY PLAN': { Plan: Step }[] }[])[0]?.['QUERY PLAN'][0]?.Plan as Step
}

/**
 * A large table is read as a whole, or an index of it is, and rows are left out on the way. Whoever takes the first rows
 * that come, and leaves out none, stops after so many.
 */
function scansIn(step: Step, isLimited = false): string[] {
  const { 'Node Type': kind, 'Relation Name': table = '', 'Index Name': index, Filter: filter, Plans = [] } = step
  const below = Plans.flatMap((plan) => scansIn(plan, kind === 'Limit'))
  if (!LARGE.has(table) || (isLimited && filter === undefined)) return below
  if (kind === 'Seq Scan') return [`Seq Scan on ${table}`, ...below]
  if (index === undefined || index in SMALL_INDEXES) return below
  const passesOver = step['Index Cond'] === undefined && filter !== undefined
  return passesOver ? [`${kind} on ${table} by ${index}, passing over rows`, ...below] : below
}
