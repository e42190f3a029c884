import type { Finding } from '../../../../store/checks.ts'
import { findingOf } from '../../../shared/finding.ts'
import { Connection, type SqlRow } from '../../connection.ts'
import type { Driver } from '../../driver.ts'
import { isOfLibrary } from '../../errors.ts'
import { migrate } from '../../migrations/index.ts'
import { type InvariantCheck, type Steps } from './probe.ts'

const SELECT_TABLES = `
select name
from sqlite_schema
where type = 'table' and substr(name, 1, 7) <> 'sqlite_'
order by name`

// Table by table, because each look blocks until it is over.
const CHECK_TABLE = 'select integrity_check as problem from pragma_integrity_check(?)'

const CHECK_REFERENCES = `
select "table" || ' ' || coalesce(rowid, '') || ' to ' || parent as problem
from pragma_foreign_key_check(?)
limit 1000`

const RESTORE =
  'Stop all nodes, make a copy of the file, and restore a backup; or recover what is left with `sqlite3 file .recover`.'

export const integrity: InvariantCheck = {
  invariant: 'I17',
  title: 'The database is whole: its pages, its references and its schema.',
  *examine(connection) {
    const tables = connection.all<{ name: string }>(SELECT_TABLES).map(({ name }) => name)
    const damaged: string[] = []
    const dangling: string[] = []
    for (const table of tables) {
      const pages = problems(connection, CHECK_TABLE, table).filter((problem) => problem !== 'ok')
      damaged.push(...pages)
      yield
      if (pages.length === 0) dangling.push(...problems(connection, CHECK_REFERENCES, table))
      yield
    }
    return [
      ...(damaged.length === 0
        ? []
        : [
            findingOf(
              { message: 'The database is damaged: pages or indexes do not fit together.', advice: RESTORE },
              damaged,
            ),
          ]),
      ...(dangling.length === 0
        ? []
        : [findingOf({ message: 'Rows refer to rows that do not exist.', advice: RESTORE }, dangling)]),
      ...(yield* compareSchema(connection)),
    ]
  },
}

/** A damaged table may refuse to be looked at; that is what there is to know of it. */
function problems(connection: Connection, sql: string, table: string): string[] {
  try {
    return connection.all<{ problem: string }>(sql, table).map(({ problem }) => problem)
  } catch (error) {
    if (!isOfLibrary(error)) throw error
    return [`${table}: ${(error as Error).message}`]
  }
}

const SELECT_SCHEMA = `
select type, name, coalesce(sql, '') as sql
from sqlite_schema
where substr(name, 1, 7) <> 'sqlite_'
order by type, name`

interface SchemaRow extends SqlRow {
  type: string
  name: string
  sql: string
}

/** With the schema that the same migrations make in a new database. */
function* compareSchema(connection: Connection): Steps<Finding[]> {
  const expected = readFreshSchema(connection)
  yield
  const found = readSchema(connection)
  const wrong = [...expected].filter(([name, sql]) => found.get(name) !== sql).map(([name]) => name)
  const added = [...found.keys()].filter((name) => !expected.has(name))
  return [
    ...(wrong.length === 0
      ? []
      : [
          findingOf(
            {
              message: 'Parts of the schema are missing or were changed, so what they guarantee is not guaranteed.',
              advice: 'Restore a backup, or make them again as docs/sqlite-schema.md and the migrations say.',
            },
            wrong,
          ),
        ]),
    ...(added.length === 0
      ? []
      : [
          findingOf(
            {
              severity: 'warning',
              message: 'Somebody has added tables, indexes, views or triggers of their own.',
              advice: 'Keep what is yours in a file of its own: a later version of Pawl may use the same names.',
            },
            added,
          ),
        ]),
  ]
}

/** It is the same for as long as this process lives. */
const freshSchemas = new WeakMap<Driver, ReadonlyMap<string, string>>()

function readFreshSchema({ driver }: Connection): ReadonlyMap<string, string> {
  const known = freshSchemas.get(driver)
  if (known !== undefined) return known
  const fresh = new Connection(driver, driver.open(':memory:'))
  try {
    migrate(fresh, ':memory:', 0)
    const schema = readSchema(fresh)
    freshSchemas.set(driver, schema)
    return schema
  } finally {
    fresh.close()
  }
}

/** What makes each table, index, view and trigger. */
function readSchema(connection: Connection): ReadonlyMap<string, string> {
  return new Map(connection.all<SchemaRow>(SELECT_SCHEMA).map(({ type, name, sql }) => [`${type} ${name}`, sql]))
}
