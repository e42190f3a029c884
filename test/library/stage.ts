import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PawlError } from 'pawl'
import { afterEach, expect, type TestContext } from 'vitest'

const folders: string[] = []
const mounts: string[] = []

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-library-'))
  folders.push(folder)
  return folder
}

/** A small file system of its own, so that its disk can be full or read-only. Needs root, and says so when it is not. */
export function newFileSystem(context: TestContext, sizeKiB: number): { path: string; makeReadOnly(): void } {
  const path = join(newFolder(), 'mounted')
  mkdirSync(path)
  const mount = (...options: string[]): string | null => {
    const { status, stderr, error } = spawnSync('mount', options, { encoding: 'utf8' })
    return status === 0 ? null : (error?.message ?? stderr.trim())
  }
  const refused = mount('-t', 'tmpfs', '-o', `size=${sizeKiB}k`, 'tmpfs', path)
  if (refused !== null) context.skip(`A small file system cannot be mounted here: ${refused}`)
  mounts.push(path)
  return {
    path,
    makeReadOnly() {
      const problem = mount('-o', 'remount,ro', path)
      if (problem !== null) context.skip(`A file system cannot be made read-only here: ${problem}`)
    },
  }
}

afterEach(() => {
  for (const path of mounts.splice(0)) spawnSync('umount', ['-l', path])
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** The error that a caller without types gets. It must be one of Pawl's, with a code and a whole sentence. */
export async function errorOf(call: () => unknown): Promise<PawlError> {
  try {
    await call()
  } catch (error) {
    expect(error).toBeInstanceOf(PawlError)
    expect((error as PawlError).message).toMatch(/^.{20,}[.…`]$/s)
    return error as PawlError
  }
  throw new Error('Expected the call to be refused, but it was not.')
}

/**
 * Every file of a folder with its size, mode and content, to show that nothing was touched. What holds no data is left
 * out: the index of a write-ahead log, in which even readers note themselves, and an empty log, which a reader makes.
 */
export function fingerprintOf(folder: string): Record<string, string> {
  const isData = (name: string) =>
    !name.endsWith('-shm') && !(name.endsWith('-wal') && statSync(join(folder, name)).size === 0)
  return Object.fromEntries(
    readdirSync(folder)
      .filter(isData)
      .toSorted()
      .map((name) => {
        const path = join(folder, name)
        const { size, mode } = statSync(path)
        const hash = createHash('sha256').update(readFileSync(path)).digest('hex')
        return [name, `${size} bytes, mode ${(mode & 0o777).toString(8)}, ${hash}`]
      }),
  )
}

/** A handle with the library that Pawl uses here: two copies of SQLite must not share a file. */
export interface Handle {
  prepare(sql: string): {
    run(...values: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint }
    get(...values: unknown[]): unknown
    all(...values: unknown[]): unknown[]
  }
  exec(sql: string): unknown
  close(): void
}

export const SQLITE_LIBRARY =
  Number(process.versions.node.split('.')[0]) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'

export const { DatabaseSync, backup } = (await import(SQLITE_LIBRARY)) as {
  DatabaseSync: new (path: string) => Handle
  backup(handle: Handle, path: string): Promise<unknown>
}
