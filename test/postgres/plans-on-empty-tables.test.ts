// A statement is planned once for each connection, and often when the store is still empty, or just drained and vacuumed: then
// reading the whole table is the cheapest way. It must not stay so when a million Jobs have come. A drained queue counts as empty
// until PostgreSQL counts its rows again, however many came meanwhile.
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { postgres } from '../../src/stores/postgres/index.ts'
import { USE_INDEXES } from '../../src/stores/postgres/pool.ts'
import { openClaimText } from '../../src/stores/postgres/statements/claim-open.ts'
import { PROMOTE_DUE } from '../../src/stores/postgres/statements/due.ts'
import { ENQUEUE_PLAIN } from '../../src/stores/postgres/statements/plain-enqueue.ts'
import { FINISH_PLAIN } from '../../src/stores/postgres/statements/plain-finish.ts'
import { fillSchema } from './many-rows.ts'
import { newSchema, postgresUrl } from './schemas.ts'
import { statementConstants } from './statement-constants.ts'

/** Where what happens to every Job and every direct execution stands. */
const HOT_FILES = new Set([
  'claim.ts',
  'claim-limited.ts',
  'claim-survey.ts',
  'direct-runs.ts',
  'due.ts',
  'enqueue.ts',
  'finish.ts',
  'locks.ts',
  'permits.ts',
  'release.ts',
  'reservations.ts',
  'retry.ts',
  'start-jobs.ts',
  'tickets.ts',
  'waiting-line.ts',
])

/** What `doctor` and `rebuild` do, and the look for damage at a start. */
const LOOKS_AT_ALL = /^(checks\/|rebuild|vitals|damage)/

const HOT_STATEMENTS = {
  PROMOTE_DUE,
  CLAIM_OPEN: openClaimText(100, 'checks-due'),
  CLAIM_BEHIND_PROMOTION: openClaimText(100, 'behind-promotion'),
  FINISH_AND_CLAIM: openClaimText(100, 'with-ends'),
  ENQUEUE_BARE: ENQUEUE_PLAIN.bare,
  ENQUEUE_FULL: ENQUEUE_PLAIN.full,
  FINISH_PLAIN,
}

const GROWING = 'queue|jobs|runs|reservations|permits|business_keys|idempotency_keys|dependencies'

/** Tables that are empty again and again, and are vacuumed and counted while they are. */
const EMPTIED = 'queue|occupancies|direct_occupancies|permits'

/** Ways that cost more with every row of the table. */
const GROWS = new RegExp(`Seq Scan on (${GROWING})|Bitmap|Hash Join|Merge Join|Materialize`)

/** Of the queue, the first row by an order, or a number of rows that somebody asked for. */
const READ_FROM_ONE_END = new Set([
  'CLAIM_OPEN',
  'CLAIM_BEHIND_PROMOTION',
  'FINISH_AND_CLAIM',
  'SURVEY in claim-survey.ts',
  'SELECT_NEXT_DUE in due.ts',
])
/** All that execute. */
const OF_A_NODE = new Set(['SELECT_DIRECT_OCCUPANCIES in direct-runs.ts'])
const COUNTED = new Set(['COUNT_QUEUED in statistics.ts', 'COUNT_READY in statistics.ts'])

let schema: string
let all: readonly { readonly name: string; readonly sql: string }[] = []
let statements: readonly { readonly name: string; readonly sql: string }[] = []

beforeAll(async () => {
  schema = newSchema()
  await (await postgres(postgresUrl(), { schema }).open()).close()
  const constants = (await statementConstants()).map(({ name, file, sql }) => ({
    name: `${name} in ${file}`,
    file,
    sql,
  }))
  const named = Object.entries(HOT_STATEMENTS).map(([name, sql]) => ({ name, sql }))
  all = [...named, ...constants.filter(({ file }) => !LOOKS_AT_ALL.test(file))]
  statements = [...named, ...constants.filter(({ file }) => HOT_FILES.has(file))]
}, 120_000)

afterAll(async () => {
  await onClient((client) => client.query(`drop schema "${schema}" cascade`))
})

async function onClient<T>(use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: postgresUrl() })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}

/** The steps of each statement, planned as a connection of Pawl plans them. */
function plansOf(
  settings: string,
  planned: readonly { readonly name: string; readonly sql: string }[],
  at = schema,
): Promise<{ readonly name: string; readonly steps: readonly string[] }[]> {
  return onClient(async (client) => {
    await client.query(`${settings}; set plan_cache_mode = force_generic_plan`)
    const plans = []
    for (const { name, sql } of planned) {
      const values = Math.max(0, ...[...sql.matchAll(/\$(\d+)/g)].map(([, number]) => Number(number)))
      const given = values === 0 ? '' : `(${Array.from({ length: values }, () => 'null').join(', ')})`
      await client.query('deallocate all')
      await client.query(`prepare statement as ${sql.replaceAll('pawl.', `"${at}".`)}`)
      const { rows } = await client.query(`explain (costs off) execute statement${given}`)
      plans.push({ name, steps: (rows as { 'QUERY PLAN': string }[]).map((row) => row['QUERY PLAN'].trim()) })
    }
    return plans
  })
}

/** The statements that would read more with every row. */
async function growing(settings: string): Promise<string[]> {
  const plans = await plansOf(settings, statements)
  return plans.flatMap(({ name, steps }) => steps.filter((step) => GROWS.test(step)).map((step) => `${name}: ${step}`))
}

/** Steps that read all of a table, or all of an index: what is joined with that is compared with every row. */
function wholeReads(steps: readonly string[], tables: string): string[] {
  const reads = new RegExp(`(Seq|Index|Index Only) Scan .*on (${tables})\\b`)
  return steps.filter((step, index) => reads.test(step) && !steps[index + 1]?.startsWith('Index Cond'))
}

/** The statements that would read a whole index of the queue. */
async function readingTheQueue(at: string): Promise<string[]> {
  const plans = await plansOf(USE_INDEXES, all, at)
  return plans.flatMap(({ name, steps }) => (wholeReads(steps, 'queue').length > 0 ? [name] : []))
}

/** The hot statements that would compare what they were given with every row of a table. */
async function comparingWithAll(tables: string): Promise<string[]> {
  const plans = await plansOf(USE_INDEXES, statements)
  return plans.flatMap(({ name, steps }) =>
    wholeReads(steps, tables)
      .filter((step) => !(READ_FROM_ONE_END.has(name) && /on queue\b/.test(step)) && !OF_A_NODE.has(name))
      .map((step) => `${name}: ${step}`),
  )
}

describe('planned on tables that are', () => {
  test('new, the hot statements go by indexes, and look up what they were given', async () => {
    expect(await growing(USE_INDEXES)).toEqual([])
    expect(await comparingWithAll(`jobs|runs|${EMPTIED}`)).toEqual([])
  })

  test('empty and vacuumed, the hot statements go by indexes, and look up what they were given', async () => {
    await onClient(async (client) => {
      const { rows } = await client.query('select tablename from pg_tables where schemaname = $1', [schema])
      for (const { tablename } of rows) await client.query(`vacuum analyze "${schema}"."${tablename}"`)
    })
    expect(await growing(USE_INDEXES)).toEqual([])
    expect(await comparingWithAll(EMPTIED)).toEqual([])
  })

  test('drained and counted, every statement looks rows of the queue up', async () => {
    const drained = newSchema()
    await (await postgres(postgresUrl(), { schema: drained }).open()).close()
    await onClient(async (client) => {
      await fillSchema(client, drained, 1_000)
      await client.query(`delete from "${drained}".queue`)
      await client.query(`analyze "${drained}".queue`)
    })
    const expected = new Set([...READ_FROM_ONE_END, ...COUNTED])
    expect((await readingTheQueue(drained)).filter((name) => !expected.has(name))).toEqual([])
    const [nextDue] = await plansOf(
      USE_INDEXES,
      all.filter(({ name }) => name === 'SELECT_NEXT_DUE in due.ts'),
      drained,
    )
    expect(nextDue?.steps).toEqual(['Limit', '->  Index Only Scan using queue_due on queue'])
    await onClient((client) => client.query(`drop schema "${drained}" cascade`))
  })

  test('empty, they would not without our settings: this check sees that', async () => {
    const found = await growing('set jit = off')
    expect(found.some((step) => step.startsWith('CLAIM_OPEN'))).toBe(true)
    expect(found.length).toBeGreaterThan(20)
  })
})
