import { PawlError } from '../../domain/errors.ts'
import type { QueryAnswer, Queryable } from './connection.ts'
import { isPool } from './pool.ts'

// A caller hands over what it has inside its own transaction. A client of `pg` takes our statements as they are. Query builders
// lead to such a client, or run a statement that is given as text; then numbers may come as texts or as bigints.

/** What runs statements in the caller's transaction. */
export async function callerQueryable(tx: unknown): Promise<CallerQueryable> {
  if ((typeof tx === 'object' || typeof tx === 'function') && tx !== null) {
    const asked = ofKysely(tx) ?? ofPrisma(tx)
    const client = asked === null ? ((await ofKnex(tx)) ?? ofDrizzle(tx) ?? ofClient(tx)) : null
    const found = asked ?? client
    if (found !== null) return { holder: client ?? tx, query: async (config) => readable(await found.query(config)) }
  }
  throw refusal(`got ${tx === null ? 'null' : typeof tx === 'object' ? 'another object' : `a ${typeof tx}`}`)
}

export interface CallerQueryable extends Queryable {
  /** Stands for the connection. */
  readonly holder: object
}

function refusal(got: string): PawlError {
  return new PawlError(
    'invalid_option',
    'Expected `tx` to be a client of `pg` with a transaction under way, the transaction of Kysely, Drizzle, Knex or Prisma, or ' +
      `an object with \`query({ text, values })\`, ${got}. See docs/postgres.md.`,
    { path: 'tx' },
  )
}

function ofClient(tx: object): Queryable | null {
  if (isPool(tx)) throw refusal('got a pool, whose statements may each run on another connection')
  return hasFunctions(tx, 'query') ? tx : null
}

/** `db.transaction().execute(async (trx) => …)`, on whatever driver. Plugins may rename columns, so they are left out. */
function ofKysely(tx: object): Queryable | null {
  if (!hasFunctions(tx, 'executeQuery', 'withoutPlugins')) return null
  const { isTransaction } = tx as { isTransaction?: unknown }
  if (isTransaction !== true) throw refusal('got a Kysely that is no transaction')
  const kysely = tx.withoutPlugins() as { executeQuery(query: object): Promise<KyselyAnswer> }
  return {
    query: async ({ text, values = [] }) => {
      const node = { kind: 'RawNode', sqlFragments: [text], parameters: [] }
      const query = { sql: text, parameters: values, query: node, queryId: { queryId: 'pawl' } }
      const { rows, numAffectedRows } = await kysely.executeQuery(query)
      return { rows, rowCount: numAffectedRows === undefined ? rows.length : Number(numAffectedRows) }
    },
  }
}

interface KyselyAnswer {
  readonly rows: unknown[]
  readonly numAffectedRows?: bigint
}

/** `knex.transaction(async (trx) => …)`: asked for a connection, it hands out the one of the transaction. */
async function ofKnex(tx: object): Promise<Queryable | null> {
  const { client, isTransaction } = tx as { client?: unknown; isTransaction?: unknown }
  if (typeof tx !== 'function' || !hasFunctions(client, 'acquireConnection')) return null
  if (isTransaction !== true) throw refusal('got a Knex that is no transaction')
  const connection: unknown = await client.acquireConnection()
  return hasFunctions(connection, 'query') ? connection : null
}

/** `db.transaction(async (tx) => …)` on `node-postgres`. */
function ofDrizzle(tx: object): Queryable | null {
  const { session } = tx as { session?: { client?: unknown } }
  if (typeof session !== 'object' || session === null || !hasFunctions(session.client, 'query')) return null
  if (isPool(session.client)) throw refusal('got a Drizzle that is no transaction')
  return session.client
}

/** `prisma.$transaction(async (tx) => …)`. It has one function for rows and another one for counts. */
function ofPrisma(tx: object): Queryable | null {
  if (!hasFunctions(tx, '$queryRawUnsafe', '$executeRawUnsafe')) return null
  return {
    query: async ({ text, values = [], returns }) => {
      try {
        if (returns === 'count') return { rows: [], rowCount: (await tx.$executeRawUnsafe(text, ...values)) as number }
        const rows = (await tx.$queryRawUnsafe(text, ...values)) as unknown[]
        return { rows, rowCount: rows.length }
      } catch (error) {
        throw withSqlState(error)
      }
    },
  }
}

/** Prisma keeps what the server said apart, in one place or another. */
function withSqlState(error: unknown): unknown {
  const { meta, message } = error as { meta?: PrismaMeta; message?: string }
  const code = meta?.driverAdapterError?.cause?.originalCode ?? meta?.code
  return code === undefined ? error : Object.assign(new Error(message, { cause: error }), { code })
}

interface PrismaMeta {
  readonly code?: string
  readonly driverAdapterError?: { readonly cause?: { readonly originalCode?: string } }
}

type Functions<Name extends string> = Readonly<Record<Name, (...values: unknown[]) => unknown>>

function hasFunctions<Name extends string>(value: unknown, ...names: Name[]): value is Functions<Name> & Queryable {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return names.every((name) => typeof (value as Readonly<Record<string, unknown>>)[name] === 'function')
}

/** The whole numbers of our tables and statements that do not fit into 32 bits, by the names of their columns. */
const LARGE_NUMBERS = /(^|_)(seq|at|ms|until|since)$|^(position|queued|number|xid|cursor|count)$/

export function isLargeNumber(column: string): boolean {
  return LARGE_NUMBERS.test(column)
}

function readable({ rows, rowCount }: QueryAnswer): QueryAnswer {
  return { rows: (rows ?? []).map((row) => withNumbers(row as Row)), rowCount }
}

type Row = Readonly<Record<string, unknown>>

function withNumbers(row: Row): Row {
  const entries = Object.entries(row).map(([name, value]): [string, unknown] => {
    const isNumber = typeof value === 'bigint' || (typeof value === 'string' && isLargeNumber(name))
    return [name, isNumber ? Number(value) : value]
  })
  return Object.fromEntries(entries)
}
