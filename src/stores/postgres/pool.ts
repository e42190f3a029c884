import { PawlError } from '../../domain/errors.ts'
import type { Queryable } from './connection.ts'
import { isRefusedStatement } from './errors.ts'

/** A client of `pg` that was taken from a pool. */
export interface PoolClient extends Queryable {
  release(broken?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

/** A `Pool` of `pg`, as far as Pawl uses it. */
export interface PgPool {
  connect(): Promise<PoolClient>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: Queryable) => void): unknown
  readonly options?: object
}

/** Does the work on a client of the pool. One that broke on the way is not given back. */
export async function onClient<T>(pool: PgPool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  // Without a listener the error of a connection would end the process.
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  try {
    return await work(client)
  } catch (error) {
    // A statement that the server refused leaves the connection as it was; anything else may have left it anyhow.
    if (!(error instanceof PawlError) && !isRefusedStatement(error)) broken ??= error as Error
    throw error
  } finally {
    client.removeListener('error', onError)
    client.release(broken)
  }
}

/** A connection of its own, outside of any pool. */
export interface PgClient extends Queryable {
  connect(): Promise<unknown>
  end(): Promise<void>
  /** Lets the process end although the connection is open. */
  unref?(): void
  on(event: 'error' | 'end', listener: (error: Error) => void): unknown
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown
}

interface PgModule {
  readonly Pool: new (options: object) => PgPool
  readonly Client: new (options: object) => PgClient
}

export async function loadPg(): Promise<PgModule> {
  try {
    const loaded = (await import('pg')) as unknown as PgModule & { readonly default?: PgModule }
    return loaded.default ?? loaded
  } catch (error) {
    throw new PawlError('driver_missing', 'Expected the package `pg` to be installed. Run `npm install pg`.', {
      cause: error,
    })
  }
}

/** Bodies, reads and the queue share these connections. */
const CONNECTIONS_DEFAULT = 10
const CONNECT_TIMEOUT_MS = 10_000
const IDLE_IN_TRANSACTION_MS = 15_000
const KEEP_ALIVE_AFTER_MS = 10_000

/**
 * A prepared statement is planned once. If the queue is empty at that moment, PostgreSQL finds that reading the whole table is
 * cheapest, and goes on doing so when it has a million rows. All our statements have indexes to go by: on our own connections
 * it is told to use them. What has no other way is still done so. And it is told to plan once indeed: by itself it may find, with
 * the rows that it has just counted, that planning anew for each call is better, which for a claim takes longer than the claim.
 */
export const USE_INDEXES = [
  'enable_seqscan = off',
  'enable_bitmapscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'enable_material = off',
  'jit = off',
  'plan_cache_mode = force_generic_plan',
]
  .map((setting) => `set ${setting}`)
  .join('; ')

/** How many of a pool's connections the store uses at once. One is left for heartbeats, wake-ups and the clock. */
export function placesIn(pool: PgPool): number {
  const { max = CONNECTIONS_DEFAULT } = (pool.options ?? {}) as { readonly max?: number }
  return Math.max(1, max - 1)
}

/** For a pool of our own whose connections stay ours. */
export function preferIndexes(pool: PgPool): PgPool {
  pool.on('connect', (client) => {
    client.query({ text: USE_INDEXES }).catch(() => {
      // The connection broke, or refuses everything: whoever uses it first is told.
    })
  })
  return pool
}

/** How to reach the server: what `new Pool(…)` and `new Client(…)` of `pg` take. */
export function connectionOptions(url: string, connections: number | undefined, pooler = false): object {
  return {
    connectionString: url,
    max: connections ?? CONNECTIONS_DEFAULT,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    application_name: 'pawl',
    // A process that is frozen in the middle of a transaction must not keep its locks from the others. Poolers refuse to be
    // told at the beginning of a connection.
    ...(!pooler && { idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS }),
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    pipeline: true,
  }
}

export function isPool(value: unknown): value is PgPool {
  return typeof value === 'object' && value !== null && 'connect' in value && 'end' in value && 'totalCount' in value
}

/** How a pool reaches the server. It hides its secrets from those who only list its options. */
export function optionsOf({ options }: PgPool): object | null {
  if (options === undefined) return null
  const { password, ssl } = options as { readonly password?: unknown; readonly ssl?: { readonly key?: unknown } }
  return {
    ...options,
    ...(password !== undefined && { password }),
    ...(ssl?.key !== undefined && { ssl: { ...ssl, key: ssl.key } }),
  }
}

/** What the messages call the database: never with its password. */
export function describeDatabase(url: string, schema: string): string {
  const parsed = parseUrl(url)
  const host = parsed.hostname || parsed.searchParams.get('host') || 'localhost'
  const where = `${host}${parsed.port === '' ? '' : `:${parsed.port}`}`
  return `postgres ${where}${parsed.pathname}${schema === 'pawl' ? '' : ` (schema ${schema})`}`
}

export function parseUrl(url: string): URL {
  try {
    const parsed = new URL(url)
    // What is percent-encoded must be so in the right way, or connecting fails with a riddle.
    for (const part of [parsed.username, parsed.password, parsed.pathname]) decodeURIComponent(part)
    if (/^postgres(ql)?:\/\//i.test(url)) return parsed
  } catch {
    // Told below.
  }
  throw new PawlError(
    'invalid_option',
    'Expected the address of a database such as postgres://user:password@host:5432/database, got a text that is none. It is ' +
      'not shown, because it may hold a password. Characters such as `#`, `/`, `@` and `%` in a password are written as %23, ' +
      '%2F, %40 and %25.',
  )
}
