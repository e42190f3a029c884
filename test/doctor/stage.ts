import { createHash } from 'node:crypto'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import type { OperationContext } from '../../src/operations/context.ts'
import { type Clock, systemClock } from '../../src/platform/clock.ts'
import { createIdSource } from '../../src/platform/ids.ts'
import type { Store } from '../../src/store/store.ts'
import { storeAt } from '../stores/source-stores.ts'

type Row = Readonly<Record<string, string | number | null>>

export interface Handle {
  prepare(sql: string): { run(...values: unknown[]): unknown; all(...values: unknown[]): unknown[] }
  exec(sql: string): unknown
  close(): void
}

/** The library that Pawl uses here too: two copies of SQLite in one process must not open the same file. */
const library = Number(process.versions.node.split('.')[0]) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'
export const { DatabaseSync } = (await import(library)) as { DatabaseSync: new (path: string) => Handle }

const folders: string[] = []
const stores: Store[] = []

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-doctor-'))
  folders.push(folder)
  return folder
}

/** A copy of its own, in a folder of its own. */
export function copyOf(path: string): string {
  const copy = join(newFolder(), 'pawl.db')
  copyFileSync(path, copy)
  return copy
}

/** Closed after the test. */
export async function openStore(address: string): Promise<Store> {
  const store = await storeAt(address).open()
  stores.push(store)
  return store
}

export function withHandle<Answer>(path: string, work: (handle: Handle) => Answer): Answer {
  const handle = new DatabaseSync(path)
  try {
    handle.exec('pragma busy_timeout = 5000')
    return work(handle)
  } finally {
    handle.close()
  }
}

/** Changes a database behind Pawl's back, as only a person with SQL can. Each statement must find something to change. */
export function damage(path: string, ...statements: readonly string[]): void {
  withHandle(path, (handle) => {
    handle.exec('pragma foreign_keys = off')
    for (const sql of statements) handle.exec(sql)
  })
}

export function select(path: string, sql: string): Row[] {
  return withHandle(path, (handle) => handle.prepare(sql).all() as Row[])
}

/** What stands in each file of a folder, as a hash. */
export function filesOf(folder: string): Readonly<Record<string, string>> {
  const hash = (name: string) => createHash('sha256').update(readFileSync(join(folder, name)))
  return Object.fromEntries(readdirSync(folder).map((name) => [name, hash(name).digest('hex')]))
}

export function contextOn(store: Store, clock: Clock = systemClock): OperationContext {
  return {
    store,
    clock,
    newId: createIdSource(clock),
    types: {
      get: () => {
        throw new Error('nothing is accepted here')
      },
      paramsSchemaOf: () => null,
    },
    webhookGuard: null as never,
  }
}
