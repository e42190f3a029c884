import { randomBytes } from 'node:crypto'
import { Pool, type QueryResult } from 'pg'
import { inject } from 'vitest'

/** The database of this test run. Tests share it, each in a schema of its own. */
export function postgresUrl(): string {
  return inject('postgresUrl')
}

/** Of this process. Its number will not do: numbers of processes come again while one run of the tests lasts. */
const mine = randomBytes(4).toString('hex')
let made = 0
const free: string[] = []
let pool: Pool | null = null

/** For what a test does behind the store's back. Lets the process end. */
export function postgresPool(): Pool {
  pool ??= new Pool({ connectionString: postgresUrl(), max: 4, allowExitOnIdle: true })
  return pool
}

/** The name of a schema that does not exist yet. It goes with the server, or at the end of the run. */
export function newSchema(): string {
  return `${inject('postgresSchemas')}${mine}_${++made}`
}

/**
 * The name of a schema that is empty or does not exist yet. To be given back when everybody who used it is gone: making one
 * takes a hundred times as long as emptying it. A test that kills processes or changes tables takes `newSchema` instead.
 */
export function takeSchema(): string {
  return free.pop() ?? newSchema()
}

const FIND_TABLES = `
select tablename
from pg_tables
where schemaname = $1 and tablename <> 'migrations'`

/** From so many on, the remains of deleted rows slow down whoever comes next. */
const REMAINS_MAX = 500

/** The remains in each table of each schema. */
const remains = new Map<string, number>()

/** Migrations write no rows, so empty tables are as good as new; only numbers go on. */
export async function giveBackSchema(schema: string): Promise<void> {
  const client = await postgresPool().connect()
  try {
    const { rows } = await client.query<{ tablename: string }>(FIND_TABLES, [schema])
    const tables = rows.map(({ tablename }) => `"${schema}"."${tablename}"`)
    const deletes = tables.map((table) => `delete from ${table}`)
    // Where somebody still holds a lock, the schema is not used again.
    const answers = await client.query(['begin', "set local lock_timeout = '5s'", ...deletes, 'commit'].join(';'))
    for (const [index, { rowCount }] of (answers as unknown as QueryResult[]).slice(2, -1).entries()) {
      const table = tables[index] as string
      const left = (remains.get(table) ?? 0) + (rowCount ?? 0)
      // Vacuumed, it would count as empty when the next test fills it.
      if (left > REMAINS_MAX) await client.query(`truncate ${table}`)
      remains.set(table, left > REMAINS_MAX ? 0 : left)
    }
    free.push(schema)
  } catch {
    await client.query('rollback')
  } finally {
    client.release()
  }
}
