import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Job, type Logger, PawlError } from 'pawl'
import { afterEach } from 'vitest'

export {
  newSharedStore,
  newStore,
  onlyOnSqlite,
  openTestScheduler,
  plainSql,
  position,
  storeKind,
} from '../stores/package-stores.ts'

const folders: string[] = []

/** A database file in a folder of its own, which is removed after the test. */
export function newDatabasePath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-lifecycle-'))
  folders.push(folder)
  return join(folder, 'pawl.db')
}

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** A door that a body waits at until the test opens it. */
export interface Gate<Value = void> {
  readonly passed: Promise<Value>
  open(value: Value): void
  break(error: Error): void
}

export function newGate<Value = void>(): Gate<Value> {
  let open: Gate<Value>['open'] = () => {}
  let refuse: Gate<Value>['break'] = () => {}
  const passed = new Promise<Value>((resolve, reject) => {
    open = resolve
    refuse = reject
  })
  return { passed, open, break: refuse }
}

/** Resolves when the signal fires, as a body does that listens to it. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** The refusal that this call must end with. Any other error, and none at all, fails the test. */
export async function refusalOf(call: Promise<unknown> | (() => unknown)): Promise<PawlError> {
  try {
    await (typeof call === 'function' ? call() : call)
  } catch (error) {
    if (error instanceof PawlError) return error
    throw error
  }
  throw new Error('Expected a PawlError, but the call was not refused.')
}

export interface Told {
  readonly level: 'info' | 'warn' | 'error'
  readonly fields: Readonly<Record<string, unknown>>
  readonly message: string
}

/** A logger that remembers what an operator would have been told. */
export function listeningLogger(): Logger & { readonly told: Told[] } {
  const told: Told[] = []
  return {
    told,
    info: (fields, message) => void told.push({ level: 'info', fields, message }),
    warn: (fields, message) => void told.push({ level: 'warn', fields, message }),
    error: (fields, message) => void told.push({ level: 'error', fields, message }),
  }
}

export function namesOf(jobs: readonly Job[]): (string | null)[] {
  return jobs.map((job) => job.name)
}

/** A handle of the caller's own, with the library that Pawl uses here: two copies of SQLite must not share a file. */
export interface Handle {
  prepare(sql: string): {
    run(...values: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint }
    get(...values: unknown[]): unknown
    all(...values: unknown[]): unknown[]
  }
  exec(sql: string): unknown
  close(): void
}

const library = Number(process.versions.node.split('.')[0]) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'
const { DatabaseSync } = (await import(library)) as { DatabaseSync: new (path: string) => Handle }

export function openHandle(path: string): Handle {
  return new DatabaseSync(path)
}
