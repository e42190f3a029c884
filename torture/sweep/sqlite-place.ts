import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqlite } from 'pawl/sqlite'
import type { Store } from 'pawl/store'
import type { Place, Row, SweptDatabase, Tables } from './database.ts'

interface Handle {
  prepare(sql: string): { all(): unknown[]; get(): unknown; run(): unknown }
  exec(sql: string): unknown
  close(): void
}

/** The library that Pawl uses here too: two copies of SQLite in one process must not open the same file. */
const library = Number(process.versions.node.split('.')[0]) >= 24 ? 'node:sqlite' : '@photostructure/sqlite'

const SELECT_NAMES = `
select name
from sqlite_schema
where type = 'table' and (name like 'pawl_%' or name = 'sqlite_sequence')`

/** Files in a folder of its own. Making the tables takes longest, so it is done once. */
export async function openSqlitePlace(): Promise<Place> {
  const { DatabaseSync } = (await import(library)) as { DatabaseSync: new (path: string) => Handle }
  const folder = mkdtempSync(join(tmpdir(), 'pawl-sweep-'))
  const empty = join(folder, 'empty.db')
  await (await sourceOf(empty).open()).close()
  let made = 0
  const takeFile = (from: string) => {
    const file = join(folder, `${++made}.db`)
    copyFileSync(from, file)
    // What is committed may stand in the log only.
    if (existsSync(`${from}-wal`)) copyFileSync(`${from}-wal`, `${file}-wal`)
    return new SweptFile(file, takeFile, (path) => new DatabaseSync(path))
  }
  return {
    kind: 'sqlite',
    create: async () => takeFile(empty),
    remove: async () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  }
}

/** How safe it is from a loss of power is nothing that an operation broken off could show. */
const sourceOf = (file: string) => sqlite(file, { durability: 'process' })

class SweptFile implements SweptDatabase {
  readonly kind = 'sqlite'
  readonly #file: string
  readonly #copy: (file: string) => SweptDatabase
  readonly #connect: (file: string) => Handle
  #reader: Handle | null = null
  #version = 0

  constructor(file: string, copy: (file: string) => SweptDatabase, connect: (file: string) => Handle) {
    this.#file = file
    this.#copy = copy
    this.#connect = connect
  }

  open(): Promise<Store> {
    return sourceOf(this.#file).open()
  }

  async tables(): Promise<Tables> {
    const reader = this.#reading()
    const names = reader.prepare(SELECT_NAMES).all() as { readonly name: string }[]
    return Object.fromEntries(names.map(({ name }) => [name, reader.prepare(`select * from ${name}`).all() as Row[]]))
  }

  async hasChanged(): Promise<boolean> {
    const before = this.#version
    this.#version = (this.#reading().prepare('pragma data_version').get() as { data_version: number }).data_version
    return this.#version !== before
  }

  copyNow(): SweptDatabase {
    return this.#copy(this.#file)
  }

  async transact(work: (transaction: unknown) => unknown): Promise<void> {
    const own = this.#connect(this.#file)
    try {
      own.exec('begin immediate')
      await work(own)
      own.exec('commit')
    } catch (error) {
      own.exec('rollback')
      throw error
    } finally {
      own.close()
    }
  }

  async damage(sql: string): Promise<void> {
    const own = this.#connect(this.#file)
    try {
      own.exec('pragma foreign_keys = off')
      own.prepare(sql).run()
    } finally {
      own.close()
    }
  }

  async remove(): Promise<void> {
    this.#reader?.close()
    for (const ending of ['', '-wal', '-shm', '-nodes', '-logs']) {
      rmSync(`${this.#file}${ending}`, { recursive: true, force: true })
    }
  }

  #reading(): Handle {
    this.#reader ??= this.#connect(this.#file)
    return this.#reader
  }
}
