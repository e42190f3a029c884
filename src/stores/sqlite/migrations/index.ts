import { createHash } from 'node:crypto'
import { PawlError } from '../../../domain/errors.ts'
import type { StoreState } from '../../../store/store.ts'
import type { Connection, SqlRow } from '../connection.ts'
import { kernel } from './0001-kernel.ts'
import { triggersAndComposition } from './0002-triggers-and-composition.ts'
import { doors } from './0003-doors.ts'
import { bulkOperations } from './0004-bulk-operations.ts'
import { minutes } from './0005-minutes.ts'
import { deliveriesByStatus } from './0006-deliveries-by-status.ts'
import { jobsByLane } from './0007-jobs-by-lane.ts'

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}

/** In order. A published migration is never changed: its checksum is stored in every database it made. */
const MIGRATIONS: readonly Migration[] = [
  kernel,
  triggersAndComposition,
  doors,
  bulkOperations,
  minutes,
  deliveriesByStatus,
  jobsByLane,
]

const LATEST = MIGRATIONS.length

/** `Pawl` in ASCII: tells our files from anybody else's. */
const APPLICATION_ID = 0x5061776c

const CREATE_MIGRATIONS = `
create table if not exists pawl_migrations (
  version integer primary key,
  name text not null,
  checksum text not null,
  applied_at integer not null
) strict`

const SELECT_APPLIED = 'select version, name, checksum from pawl_migrations order by version'

interface AppliedRow extends SqlRow {
  version: number
  name: string
  checksum: string
}

const INSERT_APPLIED = 'insert into pawl_migrations (version, name, checksum, applied_at) values (?, ?, ?, ?)'

function checksumOf(migration: Migration): string {
  return createHash('sha256').update(`${migration.version} ${migration.name}\n${migration.sql}`).digest('hex')
}

/** Throws unless the file is empty or ours, of this version or older, with unchanged migrations. Writes nothing. */
export function refuseForeignDatabase(connection: Connection, path: string): void {
  if (refuseOtherPrograms(connection, path) === 'ours') refuseUnknownMigrations(connection, path)
}

/** Throws when another program made this file. */
export function refuseOtherPrograms(connection: Connection, path: string): 'ours' | 'empty' {
  const { owner, applicationId, tables } = findOwner(connection)
  if (owner !== 'another') return owner
  throw new PawlError(
    'database_not_ours',
    `Expected ${path} to be a new file or a database made by Pawl, but it belongs to another program ` +
      `(application id ${applicationId}, ${tables} tables and indexes). It was left untouched; give Pawl a file of its own.`,
    { details: { path } },
  )
}

function findOwner(connection: Connection): {
  readonly owner: 'ours' | 'empty' | 'another'
  readonly applicationId: number
  readonly tables: number
} {
  // In this order: when another process migrates the file between the two looks, the second one finds that it is ours.
  const tables = connection.get<{ n: number }>('select count(*) as n from sqlite_schema')?.n ?? 0
  const applicationId = connection.get<{ application_id: number }>('pragma application_id')?.application_id ?? 0
  if (applicationId === APPLICATION_ID) return { owner: 'ours', applicationId, tables }
  return { owner: applicationId === 0 && tables === 0 ? 'empty' : 'another', applicationId, tables }
}

export type SchemaState = Omit<StoreState, 'description'>

export const NO_SCHEMA: SchemaState = {
  kind: 'missing',
  version: null,
  latest: LATEST,
  pending: MIGRATIONS.map(({ name }) => name),
}

export const FOREIGN_SCHEMA: SchemaState = { kind: 'foreign', version: null, latest: LATEST, pending: [] }

/** What opening it would find, without refusing anything but damage. */
export function readSchemaState(connection: Connection, path: string): SchemaState {
  const { owner } = findOwner(connection)
  if (owner === 'another') return FOREIGN_SCHEMA
  if (owner === 'empty') return NO_SCHEMA
  refuseMissingList(connection, path)
  const applied = new Set(connection.all<AppliedRow>(SELECT_APPLIED).map(({ version }) => version))
  const version = Math.max(versionOf(connection), ...applied)
  if (version > LATEST) return { kind: 'newer', version, latest: LATEST, pending: [] }
  refuseUnknownMigrations(connection, path)
  const pending = MIGRATIONS.filter((migration) => !applied.has(migration.version)).map(({ name }) => name)
  return { kind: pending.length === 0 ? 'current' : 'older', version, latest: LATEST, pending }
}

const HAS_MIGRATIONS = "select 1 as found from sqlite_schema where type = 'table' and name = 'pawl_migrations'"

function refuseMissingList(connection: Connection, path: string): void {
  if (connection.get(HAS_MIGRATIONS) !== undefined) return
  throw new PawlError(
    'database_corrupt',
    `${path} says that Pawl made it, but it is damaged: its list of migrations is missing. It was left untouched; restore a backup.`,
    { details: { path } },
  )
}

function refuseUnknownMigrations(connection: Connection, path: string): void {
  refuseMissingList(connection, path)
  for (const applied of connection.all<AppliedRow>(SELECT_APPLIED)) {
    const known = MIGRATIONS.find((migration) => migration.version === applied.version)
    if (known === undefined) throw tooNew(path, applied.version, applied.name)
    if (checksumOf(known) !== applied.checksum) {
      throw new PawlError(
        'database_migration_changed',
        `${path} was made by another text of migration ${applied.version} (${applied.name}) than this Pawl has ` +
          '(the checksums differ). It was left untouched; use the Pawl that made it.',
        { details: { path, version: applied.version } },
      )
    }
  }
  const version = versionOf(connection)
  if (version > LATEST) throw tooNew(path, version)
}

function tooNew(path: string, version: number, name: string | null = null): PawlError {
  return new PawlError(
    'database_too_new',
    `${path} has schema version ${version}${name === null ? '' : ` (${name})`}, but this Pawl knows versions up to ` +
      `${LATEST}. It was left untouched; use the newer Pawl that made it.`,
    { details: { path, version } },
  )
}

/** Applies what is missing, all or nothing, under the write lock: any number of processes may do so at once. */
export function migrate(connection: Connection, path: string, now: number): void {
  if (isUpToDate(connection)) return
  connection.exec('begin immediate')
  try {
    // Another process may have migrated between our look and our lock.
    refuseForeignDatabase(connection, path)
    connection.exec(CREATE_MIGRATIONS)
    const done = new Set(connection.all<AppliedRow>(SELECT_APPLIED).map((row) => row.version))
    for (const migration of MIGRATIONS) {
      if (done.has(migration.version)) continue
      connection.exec(migration.sql)
      connection.run(INSERT_APPLIED, migration.version, migration.name, checksumOf(migration), now)
    }
    connection.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${LATEST}`)
    connection.exec('commit')
  } catch (error) {
    rollBack(connection)
    throw error
  }
}

/** After some failures SQLite has rolled back already. What failed first is what counts. */
function rollBack(connection: Connection): void {
  try {
    connection.exec('rollback')
  } catch {
    // Nothing is open any more.
  }
}

function isUpToDate(connection: Connection): boolean {
  return versionOf(connection) === LATEST
}

function versionOf(connection: Connection): number {
  return connection.get<{ user_version: number }>('pragma user_version')?.user_version ?? 0
}
