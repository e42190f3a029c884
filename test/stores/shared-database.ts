import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, vi } from 'vitest'
import { giveBackSchema, postgresPool, postgresUrl, takeSchema } from '../postgres/schemas.ts'
import { damage, isSound, readTables, select } from '../recovery/database.ts'
import { endScripts } from '../recovery/processes.ts'
import { holdsNoFault, storeKind } from './each-store.ts'
import { storeAt } from './package-stores.ts'

export type Row = Readonly<Record<string, string | number | null>>

/** While tests run at the same time, what one of them has left behind may be the other's. */
let running = 0
const used: SharedDatabase[] = []

beforeEach(() => {
  running++
})

afterEach(async () => {
  if (--running > 0) return
  await endScripts()
  for (const database of used.splice(0)) await database.remove()
})

/**
 * A database that several processes open, one after the other or at once, of the kind that the tests are about this time, and
 * a folder for what they note beside it. It is gone after the test, and so is every process that a script of ours is.
 */
export class SharedDatabase {
  /** For the notes of processes. On SQLite the database is in it too. */
  readonly folder = mkdtempSync(join(tmpdir(), 'pawl-shared-'))
  /** What `storeAt` takes, here and in the scripts: the path of a file, or a URL that names a schema. */
  readonly address: string
  readonly #schema: string | null

  constructor() {
    used.push(this)
    if (storeKind === 'sqlite') {
      this.#schema = null
      this.address = join(this.folder, 'pawl.db')
    } else {
      this.#schema = takeSchema()
      const url = new URL(postgresUrl())
      url.searchParams.set('pawl_schema', this.#schema)
      // So that the sessions of killed scripts can be told from others.
      url.searchParams.set('application_name', this.#schema)
      this.address = url.toString()
    }
  }

  /** Null: it is on a server. */
  get file(): string | null {
    return this.#schema === null ? this.address : null
  }

  /** Tables are called as on SQLite (`pawl_jobs`); numbers and truth values come as there. */
  async select(sql: string): Promise<Row[]> {
    if (this.#schema === null) return select(this.address, sql)
    return onServer(sql.replaceAll(/\bpawl_(\w+)/g, `"${this.#schema}"."$1"`))
  }

  /** Changes it behind Pawl's back, as only a person with SQL can. */
  async damage(sql: string): Promise<void> {
    if (this.#schema === null) damage(this.address, sql)
    else await this.select(sql)
  }

  /** Every row of every table, but for proofs of life. Of the nodes only those that have not left: each start makes a new one. */
  async tables(): Promise<Readonly<Record<string, Row[]>>> {
    if (this.#schema === null) return readTables(this.address)
    const names = await onServer(`select tablename as name from pg_tables where schemaname = '${this.#schema}'`)
    const parts = names
      .filter(({ name }) => name !== 'lives' && name !== 'migrations')
      .map(({ name }) => {
        const left = name === 'nodes' ? 'where ended_at is null' : ''
        const rows = "coalesce(json_agg(to_json(t) order by t::text), '[]')::text"
        return `select 'pawl_${name}' as name, (select ${rows} from "${this.#schema}"."${name}" t ${left}) as rows`
      })
    const found = await onServer(parts.join(' union all '))
    return Object.fromEntries(found.map(({ name, rows }) => [name, JSON.parse(String(rows)) as Row[]]))
  }

  /** One line per Job in the order of their making: `a 1 FINISHED, run FAILED crash` or `a 2 RUNNING, run open, occupied`. */
  async jobs(): Promise<string[]> {
    return (await this.select(SELECT_JOBS)).map((row) => {
      const outcome = [row['run_status'], row['reason']].filter((word) => word !== null).join(' ')
      const run = row['has_run'] === 0 ? 'no run' : `run ${outcome === '' ? 'open' : outcome}`
      return `${row['name']} ${row['attempt']} ${row['status']}, ${run}${row['is_occupied'] === 1 ? ', occupied' : ''}`
    })
  }

  /** What must hold in every committed state, whatever was killed when. */
  async isSound(): Promise<void> {
    await holdsNoFault(storeAt(this.address))
    if (this.#schema === null) isSound(this.address)
  }

  /**
   * Of processes that were killed: nothing of them is under way any more, and everybody knows that they are dead. A file is
   * unlocked with the death of its process. On a server their sessions end a moment later; and there a node is taken for dead
   * when it has proved nothing for 15 s, which this does not wait for: it takes their proofs away, as the one does who finds
   * them dead. `name`: of the node that was killed; null, when nobody lives.
   */
  async outlives(name: string | null = null): Promise<void> {
    if (this.#schema === null) return
    if (name === null) await this.#isLeft()
    const some = name === null ? '' : `where node_id in (select node_id from pawl_nodes where name = '${name}')`
    await this.select(`delete from pawl_lives ${some}`)
  }

  /** No script is connected any more. */
  async #isLeft(): Promise<void> {
    const sessions = `select count(*) as sessions from pg_stat_activity where application_name = '${this.#schema}'`
    await vi.waitFor(async () => expect(await onServer(sessions)).toEqual([{ sessions: 0 }]), {
      timeout: 10_000,
      interval: 5,
    })
  }

  /** Nobody uses it any more. Done after each test; sooner by a test that uses many, one after the other. */
  async remove(): Promise<void> {
    const index = used.indexOf(this)
    if (index !== -1) used.splice(index, 1)
    if (existsSync(this.folder)) rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
    if (this.#schema === null) return
    await this.#isLeft()
    await giveBackSchema(this.#schema)
  }
}

const SELECT_JOBS = `
select j.name, j.attempt, readable.status, case when r.seq is null then 0 else 1 end as has_run, r.status as run_status,
  r.reason, case when o.seq is null then 0 else 1 end as is_occupied
from pawl_jobs j
join pawl_jobs_readable readable on readable.job_id = j.job_id
left join pawl_runs r on r.seq = j.seq
left join pawl_occupancies o on o.seq = j.seq
order by j.seq`

async function onServer(text: string): Promise<Row[]> {
  return (await postgresPool().query({ text, types: AS_ON_SQLITE })).rows as Row[]
}

const BOOLEAN = 16
const NUMBERS = [20, 21, 23, 26, 700, 701, 1700]

const AS_ON_SQLITE = {
  getTypeParser: (oid: number) => (text: string) => {
    if (oid === BOOLEAN) return text === 't' ? 1 : 0
    return NUMBERS.includes(oid) ? Number(text) : text
  },
}
