import { createHash } from 'node:crypto'
import { PawlError } from '../../../domain/errors.ts'
import type { StoreState } from '../../../store/store.ts'
import type { Connection } from '../connection.ts'
import { schema } from './0001-schema.ts'
import { enqueueFunction } from './0002-enqueue-function.ts'
import { readableViews } from './0003-readable-views.ts'
import { waitingInLanes } from './0004-waiting-in-lanes.ts'
import { bulkOperations } from './0005-bulk-operations.ts'
import { fewestDigits } from './0006-fewest-digits.ts'
import { exactNumbers } from './0007-exact-numbers.ts'
import { minutes } from './0008-minutes.ts'
import { deliveriesByStatus } from './0009-deliveries-by-status.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

/** In order. A published migration is never changed: its checksum is stored in every database it made. */
const MIGRATIONS: readonly Migration[] = [
  schema,
  enqueueFunction,
  readableViews,
  waitingInLanes,
  bulkOperations,
  fewestDigits,
  exactNumbers,
  minutes,
  deliveriesByStatus,
]

const LATEST = MIGRATIONS.length

const CREATE_MIGRATIONS = `
create table if not exists pawl.migrations (
  version integer primary key,
  name text not null,
  checksum text not null,
  applied_at bigint not null
)`

/** All that makes the schema, in order. */
export function schemaTexts(): string[] {
  return [CREATE_MIGRATIONS, ...MIGRATIONS.map(({ sql }) => sql)]
}

const SELECT_APPLIED = 'select version, name, checksum from pawl.migrations order by version'

interface AppliedRow {
  version: number
  name: string
  checksum: string
}

const INSERT_APPLIED = 'insert into pawl.migrations (version, name, checksum, applied_at) values ($1, $2, $3, $4)'

function checksumOf(migration: Migration): string {
  return createHash('sha256').update(`${migration.version} ${migration.name}\n${migration.sql}`).digest('hex')
}

const SERVER_VERSION = "select current_setting('server_version_num')::integer as version"

/** PostgreSQL 14. */
const SERVER_VERSION_MIN = 140_000

export async function refuseOldServer(connection: Connection, description: string): Promise<void> {
  const { version } = (await connection.get<{ version: number }>(SERVER_VERSION)) ?? { version: 0 }
  if (version >= SERVER_VERSION_MIN) return
  throw new PawlError(
    'database_unavailable',
    `Expected PostgreSQL 14 or newer, but ${description} is ${Math.floor(version / 10_000)}. Upgrade the server.`,
  )
}

const FIND_TABLES = `
select count(*) as tables, coalesce(bool_or(c.relname = 'migrations'), false) as ours
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where n.nspname = $1 and c.relkind in ('r', 'p', 'v', 'm')`

export type SchemaState = Omit<StoreState, 'description'>

/** What opening it would find, without refusing anything but damage. `name` is the schema as it is, not quoted. */
export async function readSchemaState(connection: Connection, name: string, description: string): Promise<SchemaState> {
  const found = await connection.get<{ tables: number; ours: boolean }>(FIND_TABLES, name)
  if (found === undefined || found.tables === 0) {
    return { kind: 'missing', version: null, latest: LATEST, pending: MIGRATIONS.map((migration) => migration.name) }
  }
  if (!found.ours) return { kind: 'foreign', version: null, latest: LATEST, pending: [] }
  const applied = await connection.all<AppliedRow>(SELECT_APPLIED)
  const version = Math.max(0, ...applied.map((row) => row.version))
  if (version > LATEST) return { kind: 'newer', version, latest: LATEST, pending: [] }
  refuseChanged(applied, description)
  const done = new Set(applied.map((row) => row.version))
  const pending = MIGRATIONS.filter((migration) => !done.has(migration.version)).map((migration) => migration.name)
  return { kind: pending.length === 0 ? 'current' : 'older', version, latest: LATEST, pending }
}

function refuseChanged(applied: readonly AppliedRow[], description: string): void {
  for (const row of applied) {
    const known = MIGRATIONS.find((migration) => migration.version === row.version)
    if (known === undefined || checksumOf(known) === row.checksum) continue
    throw new PawlError(
      'database_migration_changed',
      `${description} was made by another text of migration ${row.version} (${row.name}) than this Pawl has ` +
        '(the checksums differ). It was left untouched; use the Pawl that made it.',
      { details: { version: row.version } },
    )
  }
}

/** Two programs that migrate the same schema at once wait for each other here. */
const LOCK = "select pg_advisory_xact_lock(hashtextextended('pawl migrations ' || $1, 0))"

/** Applies what is missing, all or nothing. Any number of processes may do so at once. */
export async function migrate(connection: Connection, name: string, description: string, now: number): Promise<void> {
  refuseUnusable(await readSchemaState(connection, name, description), description)
  if ((await readSchemaState(connection, name, description)).kind === 'current') return
  await connection.exec('begin')
  try {
    await connection.get(LOCK, name)
    // Another process may have migrated between our look and our lock.
    refuseUnusable(await readSchemaState(connection, name, description), description)
    await connection.exec(`create schema if not exists "${name.replaceAll('"', '""')}"`)
    await connection.exec(CREATE_MIGRATIONS)
    const done = new Set((await connection.all<AppliedRow>(SELECT_APPLIED)).map((row) => row.version))
    for (const migration of MIGRATIONS) {
      if (done.has(migration.version)) continue
      await connection.exec(migration.sql)
      await connection.run(INSERT_APPLIED, migration.version, migration.name, checksumOf(migration), now)
    }
    await connection.exec('commit')
  } catch (error) {
    await connection.exec('rollback').catch(() => {
      // The connection is gone, and its transaction with it. The first error says why.
    })
    throw error
  }
}

function refuseUnusable(state: SchemaState, description: string): void {
  if (state.kind === 'newer') {
    throw new PawlError(
      'database_too_new',
      `${description} has schema version ${state.version}, but this Pawl knows versions up to ${LATEST}. It was left ` +
        'untouched; use the newer Pawl that made it.',
      { details: { version: state.version ?? 0 } },
    )
  }
  if (state.kind === 'foreign') {
    throw new PawlError(
      'database_not_ours',
      `Expected the schema of ${description} to be empty or made by Pawl, but it has tables of another program. It was ` +
        'left untouched; give Pawl a schema of its own: postgres(url, { schema }).',
    )
  }
}
