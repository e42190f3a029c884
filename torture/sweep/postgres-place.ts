import { postgres } from 'pawl/postgres'
import type { Store } from 'pawl/store'
import pg from 'pg'
import { startServer } from '../servers/server.ts'
import type { Place, Row, SweptDatabase, Tables } from './database.ts'

type Pool = InstanceType<typeof pg.Pool>

/** Schemas on a server of its own, which is gone afterwards. */
export async function openPostgresPlace(): Promise<Place> {
  const server = await startServer()
  const place = openSchemas(server.url, 'pawl_sweep_')
  return {
    ...place,
    async remove() {
      await place.remove()
      await server.remove()
    },
  }
}

/** Schemas in a database that is there. They are emptied and used again, because making one takes longest; none is dropped. */
export function openSchemas(url: string, prefix: string): Place {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  // What is done behind the store's back has no name, so that its statements are not counted.
  const free: string[] = []
  let made = 0
  return {
    kind: 'postgres',
    async create() {
      const schema = free.pop() ?? `${prefix}${++made}`
      return new SweptSchema({ url, pool, schema, giveBack: () => free.push(schema) })
    },
    remove: () => pool.end(),
  }
}

interface SchemaParts {
  readonly url: string
  readonly pool: Pool
  readonly schema: string
  readonly giveBack: () => void
}

class SweptSchema implements SweptDatabase {
  readonly kind = 'postgres'
  readonly #parts: SchemaParts
  #last = ''

  constructor(parts: SchemaParts) {
    this.#parts = parts
  }

  open(): Promise<Store> {
    return postgres(this.#parts.url, { schema: this.#parts.schema }).open()
  }

  /**
   * On a server lanes, policies and free permits are names that are written before, in commits of their own, and that mean
   * nothing by themselves. A proof of life is nothing that was asked for.
   */
  async tables(): Promise<Tables> {
    const { schema, pool } = this.#parts
    const parts = (await this.#names())
      .filter((name) => !['lives', 'migrations', 'lanes', 'policies'].includes(name))
      .map((name) => {
        const taken = name === 'permits' ? 'where job_seq is not null or reservation_seq is not null' : ''
        const rows = "coalesce(json_agg(to_json(t) order by t::text), '[]')::text"
        return `select 'pawl_${name}' as name, (select ${rows} from "${schema}"."${name}" t ${taken}) as rows`
      })
    const { rows } = await pool.query<{ name: string; rows: string }>(parts.join(' union all '))
    return Object.fromEntries(rows.map((table) => [table.name, JSON.parse(table.rows) as Row[]]))
  }

  async hasChanged(): Promise<boolean> {
    const before = this.#last
    this.#last = JSON.stringify(await this.tables())
    return this.#last !== before
  }

  copyNow(): null {
    return null
  }

  async transact(work: (transaction: unknown) => unknown): Promise<void> {
    const own = new pg.Client({ connectionString: this.#parts.url, application_name: 'caller' })
    own.on('error', () => {})
    await own.connect()
    try {
      await own.query('begin')
      await work(own)
      await own.query('commit')
    } finally {
      await own.end()
    }
  }

  async damage(sql: string): Promise<void> {
    await this.#parts.pool.query(sql.replaceAll(/\bpawl_(\w+)/g, `"${this.#parts.schema}"."$1"`))
  }

  /** Empty tables are as good as new; only numbers go on. Where somebody still holds a lock, it is not used again. */
  async remove(): Promise<void> {
    const { schema, pool, giveBack } = this.#parts
    const tables = (await this.#names()).filter((name) => name !== 'migrations')
    const deletes = tables.map((name) => `delete from "${schema}"."${name}"`)
    const client = await pool.connect()
    try {
      await client.query(['begin', "set local lock_timeout = '5s'", ...deletes, 'commit'].join(';'))
      giveBack()
    } catch {
      await client.query('rollback')
    } finally {
      client.release()
    }
  }

  async #names(): Promise<string[]> {
    const { schema, pool } = this.#parts
    const sql = 'select tablename from pg_tables where schemaname = $1 order by tablename'
    const { rows } = await pool.query<{ tablename: string }>(sql, [schema])
    return rows.map(({ tablename }) => tablename)
  }
}
