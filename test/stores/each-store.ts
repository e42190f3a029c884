import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, inject, test } from 'vitest'
import { keepConnections } from '../postgres/kept-connections.ts'
import { giveBackSchema, postgresPool, postgresUrl, takeSchema } from '../postgres/schemas.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The store that tests about any store run on, this time: vitest.config.ts lets them run once on each. */
    storeKind: 'sqlite' | 'postgres'
  }
}

export const storeKind = inject('storeKind')

if (storeKind === 'postgres') keepConnections()

/** Where a store of a test keeps its data. Null: in memory. */
type Place = { readonly path: string } | { readonly schema: string } | null

const places = new WeakMap<object, Place>()
const folders: string[] = []
const schemas: string[] = []

afterEach(async () => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
  for (const schema of schemas.splice(0)) await giveBackSchema(schema)
})

/** The functions that make stores: those of the package, or those of the sources, as the rest of the test has them. */
interface Makers<Source> {
  sqlite(path: string): Source
  postgres(url: string, options?: { readonly schema: string }): Source
}

/** How the tests of a folder get their stores: of the kind that it is about this time, empty, and gone after the test. */
export function storesFrom<Source extends object>({ sqlite, postgres }: Makers<Source>) {
  const inPlace = (place: Place, source: Source): Source => {
    places.set(source, place)
    return source
  }
  const onServer = () => {
    const schema = takeSchema()
    schemas.push(schema)
    return inPlace({ schema }, postgres(postgresUrl(), { schema }))
  }
  const inFile = () => {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-store-'))
    folders.push(folder)
    const path = join(folder, 'pawl.db')
    return inPlace({ path }, sqlite(path))
  }
  return {
    /** A store that is opened once. On SQLite it is in memory. */
    newStore: (): Source => (storeKind === 'postgres' ? onServer() : inPlace(null, sqlite(':memory:'))),
    /** A store that may be opened several times, at once or after each other. On SQLite it is a file. */
    newSharedStore: (): Source => (storeKind === 'postgres' ? onServer() : inFile()),
    /** The store in a file, or in the schema that a URL names. Its connections are not to be taken for those of a script. */
    storeAt: (address: string): Source =>
      address.startsWith('postgres:') ? postgres(address.replace(/&application_name=\w+/, '')) : sqlite(address),
  }
}

/** The file of a shared store. Null: it has none. */
export function fileOf(store: object): string | null {
  const place = places.get(store) ?? null
  return place !== null && 'path' in place ? place.path : null
}

/** A store of the package or of the sources, as far as it is looked at here. */
interface Checkable {
  open(): Promise<{
    checkInvariants(now: number): Promise<readonly { readonly findings: readonly Finding[] }[]>
    close(): Promise<void>
  }>
}

interface Finding {
  readonly severity: string
  readonly message: string
}

/** No invariant is contradicted by what is stored. */
export async function holdsNoFault(source: Checkable, now = Date.now()): Promise<void> {
  const store = await source.open()
  try {
    const checked = await store.checkInvariants(now)
    const faults = checked.flatMap(({ findings }) => findings.filter(({ severity }) => severity === 'fault'))
    expect(faults.map(({ message }) => message)).toEqual([])
  } finally {
    await store.close()
  }
}

/** A test that cannot be true on PostgreSQL. There it is shown as skipped, with the reason. */
export function onlyOnSqlite(reason: string): (title: string, body: () => Promise<void>) => void {
  if (storeKind === 'sqlite') return test
  return (title) => test(title, (context) => context.skip(`only on SQLite: ${reason}`))
}

/** Where a Job stands. A server store takes positions from a sequence: there the order is promised, not the number. */
export function position(onSqlite: number): number {
  return storeKind === 'sqlite' ? onSqlite : (expect.any(Number) as unknown as number)
}

type Row = Readonly<Record<string, unknown>>

/**
 * Runs plain SQL on the database of a shared store, behind its back. Tables are called as on SQLite (`pawl_jobs`), numbers
 * come as numbers. One statement at a time.
 */
export async function plainSql(store: object, sql: string): Promise<Row[]> {
  const place = places.get(store) ?? null
  if (place === null) throw new Error('Expected a store of newSharedStore(), which others can open too.')
  if ('path' in place) return sqlOnFile(place.path, sql)
  const text = sql.replaceAll(/\bpawl_(\w+)/g, `"${place.schema}"."$1"`)
  const { rows } = await postgresPool().query({ text, types: { getTypeParser: () => asNumberOrText } })
  return rows as Row[]
}

const asNumberOrText = (text: string): unknown => (/^-?\d+$/.test(text) ? Number(text) : text)

interface Handle {
  prepare(sql: string): { all(): unknown[] }
  close(): void
}

/** The library that Pawl uses here too: two copies of SQLite in one process must not open the same file. */
const library = Number(process.versions.node.split('.')[0]) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'

async function sqlOnFile(path: string, sql: string): Promise<Row[]> {
  const { DatabaseSync } = (await import(library)) as { DatabaseSync: new (path: string) => Handle }
  const handle = new DatabaseSync(path)
  try {
    handle.prepare('pragma foreign_keys = off').all()
    handle.prepare('pragma busy_timeout = 5000').all()
    return handle.prepare(sql).all() as Row[]
  } finally {
    handle.close()
  }
}
