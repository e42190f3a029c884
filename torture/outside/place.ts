import type { StoreSource } from 'pawl'
import { postgres } from 'pawl/postgres'
import { sqlite } from 'pawl/sqlite'
import { Pool } from 'pg'

/** Where a store is, in a form that can be given to a process of its own. */
export type Place =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string }

export function sourceOf(place: Place): StoreSource {
  if (place.kind === 'sqlite') return sqlite(place.path)
  return postgres(place.url, { schema: place.schema, connections: 8 })
}

/** Reads a store with plain SQL, past the code that wrote it. */
export interface Reader extends AsyncDisposable {
  readonly kind: Place['kind']
  /** What a query answers. It says `pawl.` before the name of each table, as on PostgreSQL. */
  select<Row>(sql: string): Promise<Row[]>
  close(): Promise<void>
}

export async function openReader(place: Place): Promise<Reader> {
  return place.kind === 'sqlite' ? await openFile(place.path) : openSchema(place.url, place.schema)
}

const BUILT_IN_SINCE_NODE = 24

interface Database {
  prepare(sql: string): { all(): unknown[] }
  exec(sql: string): unknown
  close(): void
}

/** With the library that Pawl uses itself: two of them in one process would lose each other's locks. */
async function openFile(path: string): Promise<Reader> {
  const isBuiltIn = Number(process.versions.node.split('.')[0]) >= BUILT_IN_SINCE_NODE
  const { DatabaseSync } = (await import(isBuiltIn ? 'node:sqlite' : '@photostructure/sqlite')) as {
    DatabaseSync: new (path: string) => Database
  }
  const database = new DatabaseSync(path)
  database.exec('pragma busy_timeout = 5000')
  const close = async () => database.close()
  return {
    kind: 'sqlite',
    select: async <Row>(sql: string) => database.prepare(sql.replaceAll('pawl.', 'pawl_')).all() as Row[],
    close,
    [Symbol.asyncDispose]: close,
  }
}

function openSchema(url: string, schema: string): Reader {
  const pool = new Pool({ connectionString: url, max: 2, allowExitOnIdle: true })
  // A server that restarts ends idle connections; the next question opens another one.
  pool.on('error', () => {})
  const close = () => pool.end()
  return {
    kind: 'postgres',
    select: async <Row>(sql: string) => (await pool.query(sql.replaceAll('pawl.', `"${schema}".`))).rows as Row[],
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** An instant as the views tell it: a Date on PostgreSQL, text on SQLite. */
export function toEpochMs(instant: Date | string | null): number | null {
  return instant === null ? null : new Date(instant).getTime()
}
