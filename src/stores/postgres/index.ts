import { randomUUID } from 'node:crypto'
import { PawlError } from '../../domain/errors.ts'
import { invalid, refuseUnknownKeys } from '../../domain/options.ts'
import type { Store, StoreSource, StoreState } from '../../store/store.ts'
import { Connection, type Dialect, TextCache } from './connection.ts'
import { DatabaseClock } from './database-clock.ts'
import { translateError, unreachable } from './errors.ts'
import { HeartbeatLiveness } from './heartbeat-liveness.ts'
import { migrate, readSchemaState, refuseOldServer } from './migrations/index.ts'
import {
  connectionOptions,
  describeDatabase,
  isPool,
  loadPg,
  onClient,
  optionsOf,
  type PgPool,
  parseUrl,
  preferIndexes,
} from './pool.ts'
import { PostgresStore } from './postgres-store.ts'
import { QueueVacuum } from './queue-vacuum.ts'
import { forgetForeignEvents } from './statements/events.ts'
import { WakeUps } from './wake-ups.ts'

export { describeDatabase } from './pool.ts'
export type { PgPool }

export interface PostgresOptions {
  /**
   * The schema that Pawl has for itself. Made when it is not there.
   * @default 'pawl'
   */
  readonly schema?: string
  /**
   * Connections in Pawl's own pool. Not for a pool that you give it.
   * @default 10
   */
  readonly connections?: number
  /**
   * True: between Pawl and the server stands a pooler that gives a connection to somebody else after each transaction, such as
   * PgBouncer in transaction mode. Then no statement is prepared, and `directUrl` is needed for `listen`.
   * @default false
   */
  readonly pooler?: boolean
  /**
   * Where heartbeats and wake-ups connect, past a pooler. Without it, behind a pooler, nobody is woken up by others, and all
   * look by themselves.
   * @default the same as everything else
   */
  readonly directUrl?: string
  /**
   * Whether this process is told when another one commits something. Without it, all look by themselves.
   * @default true
   */
  readonly listen?: boolean
  /**
   * A folder of this machine for the output of commands and child processes. Others that share the database do not see it.
   * @default none: that output is not kept
   */
  readonly logDirectory?: string
}

/** A schema's name becomes part of every statement. PostgreSQL cuts longer names. */
const SCHEMA_PATTERN = /^[A-Za-z_][A-Za-z0-9_]{0,48}$/

/** A store in a PostgreSQL database, for many machines. Takes its URL, or a pool of `pg` that you have already. */
export function postgres(urlOrPool: string | PgPool, options: PostgresOptions = {}): StoreSource {
  refuseUnknownKeys(options, ['schema', 'connections', 'pooler', 'directUrl', 'listen', 'logDirectory'], '')
  const schema = options.schema ?? (typeof urlOrPool === 'string' ? schemaOf(urlOrPool) : DEFAULT_SCHEMA)
  if (!SCHEMA_PATTERN.test(schema)) {
    throw invalid('schema', 'a name of letters, digits and underscores, at most 49 of them', schema)
  }
  const { connections } = options
  if (connections !== undefined && (!Number.isInteger(connections) || connections < 2 || connections > 1_000)) {
    throw invalid('connections', 'a whole number from 2 to 1000', connections)
  }
  if (typeof urlOrPool === 'string') parseUrl(urlOrPool)
  else if (!isPool(urlOrPool)) {
    // Whatever it is, it may hold a password.
    throw new PawlError(
      'invalid_option',
      'Expected postgres() to be called with a URL or a `Pool` of `pg`, got another value.',
    )
  }
  if (options.directUrl !== undefined) parseUrl(options.directUrl)
  const place = { urlOrPool, schema, options }
  return { open: () => openStore(place), inspect: () => inspectStore(place) }
}

interface Place {
  readonly urlOrPool: string | PgPool
  readonly schema: string
  readonly options: PostgresOptions
}

/** A statement that takes longer went to a server that is not there any more. */
const PATIENCE_MS = 30_000

const DEFAULT_SCHEMA = 'pawl'
const SCHEMA_PARAMETER = 'pawl_schema'

/** The schema that a URL names. On a command line the URL is all there is: `postgres://…/app?pawl_schema=jobs`. */
export function schemaOf(url: string): string {
  return parseUrl(url).searchParams.get(SCHEMA_PARAMETER) ?? DEFAULT_SCHEMA
}

/** The server does not know our parameter. */
function withoutSchema(url: string): string {
  const parsed = parseUrl(url)
  parsed.searchParams.delete(SCHEMA_PARAMETER)
  return parsed.toString()
}

function describe({ urlOrPool, schema }: Place): string {
  if (typeof urlOrPool === 'string') return describeDatabase(urlOrPool, schema)
  const { host = 'localhost', database = '' } = (urlOrPool.options ?? {}) as { host?: string; database?: string }
  return `postgres ${host}/${database}${schema === 'pawl' ? '' : ` (schema ${schema})`}`
}

function dialectOf({ urlOrPool, schema, options }: Place): Dialect {
  // A plan that was made on an empty table stays. On connections of our own the server is told to use indexes (see
  // `preferIndexes`); those of a pool that others use too are not changed, and each statement is planned when it runs.
  const prepares = typeof urlOrPool === 'string' && options.pooler !== true
  const pipelines = typeof urlOrPool === 'string' || isPipelined(urlOrPool)
  return { schema: `"${schema}"`, prepares, pipelines, patienceMs: PATIENCE_MS }
}

/** Whether its clients were told to send statements without waiting. */
function isPipelined(pool: PgPool): boolean {
  return (pool.options as { readonly pipeline?: unknown } | undefined)?.pipeline === true
}

async function openPool({ urlOrPool, options }: Place): Promise<PgPool> {
  if (typeof urlOrPool !== 'string') return urlOrPool
  const { Pool } = await loadPg()
  const pool = new Pool(connectionOptions(withoutSchema(urlOrPool), options.connections, options.pooler))
  // Behind a pooler the connection is somebody else's next; but there nothing is prepared either.
  return options.pooler === true ? pool : preferIndexes(pool)
}

async function inspectStore(place: Place): Promise<StoreState> {
  const description = describe(place)
  const pool = await openPool(place)
  try {
    const state = await onOne(pool, place, (connection) => readSchemaState(connection, place.schema, description))
    return { description, ...state }
  } catch (error) {
    throw translateError(error, description)
  } finally {
    if (typeof place.urlOrPool === 'string') await pool.end()
  }
}

async function onOne<T>(pool: PgPool, place: Place, work: (connection: Connection) => Promise<T>): Promise<T> {
  const dialect = { ...dialectOf(place), prepares: false, patienceMs: null }
  let isConnected = false
  try {
    return await onClient(pool, (client) => {
      isConnected = true
      return work(new Connection(client, dialect, new TextCache()))
    })
  } catch (error) {
    throw isConnected ? error : unreachable(error, describe(place))
  }
}

async function openStore(place: Place): Promise<Store> {
  const { urlOrPool, schema, options } = place
  const description = describe(place)
  const pool = await openPool(place)
  let clock: DatabaseClock | null = null
  try {
    await onOne(pool, place, (connection) => refuseOldServer(connection, description))
    clock = await DatabaseClock.measured(pool)
    const now = clock.now()
    await onOne(pool, place, async (connection) => {
      await migrate(connection, schema, description, now)
      await forgetForeignEvents(connection)
    })
  } catch (error) {
    clock?.stop()
    if (typeof urlOrPool === 'string') await pool.end()
    throw translateError(error, description)
  }
  const direct = directOptions(place, pool)
  return new PostgresStore({
    pool,
    ownsPool: typeof urlOrPool === 'string',
    dialect: dialectOf(place),
    description,
    logDirectory: options.logDirectory ?? null,
    clock,
    liveness: new HeartbeatLiveness({ pool, dialect: dialectOf(place), direct, description }),
    vacuum: new QueueVacuum({ openClient: direct === null ? null : () => openClient(direct), schema: `"${schema}"` }),
    wakeUps: new WakeUps({
      openClient: direct === null || options.listen === false ? null : () => openClient(direct),
      notify: (channel, payload) => notify(pool, channel, payload),
      channel: `pawl_${schema}`,
      sender: randomUUID(),
    }),
  })
}

/**
 * Null: there is no way around the pooler. These connections send one statement at a time: then `pg` breaks one that does not
 * answer when it is told to end it, instead of waiting for the answer.
 */
function directOptions({ urlOrPool, options }: Place, pool: PgPool): object | null {
  if (options.directUrl !== undefined) return onePerTurn(connectionOptions(withoutSchema(options.directUrl), 1))
  if (options.pooler === true) return null
  return onePerTurn(typeof urlOrPool === 'string' ? connectionOptions(withoutSchema(urlOrPool), 1) : optionsOf(pool))
}

function onePerTurn(options: object | null): object | null {
  return options === null ? null : { ...options, pipeline: false }
}

async function openClient(options: object) {
  const { Client } = await loadPg()
  const client = new Client(options)
  // Until somebody else listens: an error without a listener would end the process.
  client.on('error', () => {})
  await client.connect()
  return client
}

// A wake-up that a crash of the server takes along wakes nobody who could be told: so its commit need not wait for the disk.
const NOTIFY = "select set_config('synchronous_commit', 'off', true), pg_notify($1, $2)::text as told"

async function notify(pool: PgPool, channel: string, payload: string): Promise<void> {
  const query = { text: NOTIFY, values: [channel, payload], query_timeout: PATIENCE_MS }
  await onClient(pool, (client) => client.query(query))
}
