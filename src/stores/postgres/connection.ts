import { createHash } from 'node:crypto'
import { passFaultPoint } from '../../store/fault-points.ts'

export type SqlValue = string | number | boolean | null | readonly (string | number | boolean | null)[]

/** The part of a client or pool of `pg` that Pawl uses. */
export interface Queryable {
  query(config: QueryConfig): Promise<QueryAnswer>
}

export interface QueryConfig {
  readonly text: string
  readonly values?: unknown[]
  readonly name?: string
  readonly query_timeout?: number
  readonly types?: { getTypeParser(oid: number, format?: string): (text: string) => unknown }
  /** What is looked at, for libraries that have one function for each. `pg` answers with both. */
  readonly returns?: 'rows' | 'count'
}

export interface QueryAnswer {
  readonly rows: unknown[]
  readonly rowCount: number | null
}

/** How statements are written for one store. */
export interface Dialect {
  /** The schema, quoted. */
  readonly schema: string
  /** False behind a pooler that hands a connection to somebody else after each transaction. */
  readonly prepares: boolean
  /** Whether the next statement may be sent before the last one is answered. */
  readonly pipelines: boolean
  /** How long the answer to a statement is awaited. Null: as long as it takes. */
  readonly patienceMs: number | null
}

/**
 * One connection to PostgreSQL, as statements use it. They are written for the schema `pawl`, with `$1`, `$2` …; each text is
 * prepared once per connection. Whole numbers come as numbers, everything else but truth values as text.
 */
export class Connection {
  readonly #client: Queryable
  readonly #dialect: Dialect
  readonly #texts: TextCache
  #rowsChanged = 0

  constructor(client: Queryable, dialect: Dialect, texts: TextCache) {
    this.#client = client
    this.#dialect = dialect
    this.#texts = texts
  }

  /** How many rows this connection has written so far. The difference tells whether some work wrote any. */
  get rowsChanged(): number {
    return this.#rowsChanged
  }

  /** Runs a statement for its effect. Returns how many rows it changed. */
  async run(sql: string, ...values: SqlValue[]): Promise<number> {
    passFaultPoint('store:statement')
    const changed = (await this.#query(sql, values, 'count')).rowCount ?? 0
    this.#rowsChanged += changed
    return changed
  }

  /** Runs a statement that writes at most one row and returns it. */
  async runReturning<Row>(sql: string, ...values: SqlValue[]): Promise<Row | undefined> {
    return (await this.runReturningAll<Row>(sql, ...values))[0]
  }

  /** Runs a statement that writes rows and returns them. */
  async runReturningAll<Row>(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    passFaultPoint('store:statement')
    const { rows } = await this.#query(sql, values, 'rows')
    this.#rowsChanged += rows.length
    return rows as Row[]
  }

  async get<Row>(sql: string, ...values: SqlValue[]): Promise<Row | undefined> {
    return (await this.#query(sql, values, 'rows')).rows[0] as Row | undefined
  }

  async all<Row>(sql: string, ...values: SqlValue[]): Promise<Row[]> {
    return (await this.#query(sql, values, 'rows')).rows as Row[]
  }

  /** Runs statements that need no values and return nothing: transactions, migrations. */
  async exec(sql: string): Promise<void> {
    const { text } = this.#texts.of(sql, this.#dialect)
    await this.#client.query({ text, returns: 'count', ...this.#patience() })
  }

  /**
   * Runs a statement that writes one row and returns it, and commits behind it without waiting for the answer in between. If
   * the statement fails, the server takes the commit for a rollback.
   */
  async commitReturning<Row>(sql: string, ...values: SqlValue[]): Promise<Row | undefined> {
    const sent = this.together(() => [this.#query(sql, values, 'rows'), this.exec('commit')] as const)
    const [answer, commit] = await Promise.allSettled(sent)
    if (answer.status === 'rejected') throw answer.reason
    if (commit.status === 'rejected') throw commit.reason
    return answer.value.rows[0] as Row | undefined
  }

  /** What is sent meanwhile goes out in one piece. Each write of its own would wake the server up for a part of it. */
  together<T>(send: () => T): T {
    const stream = streamOf(this.#client)
    stream?.cork()
    try {
      return send()
    } finally {
      stream?.uncork()
    }
  }

  #query(sql: string, values: readonly SqlValue[], returns: 'rows' | 'count'): Promise<QueryAnswer> {
    const { text, name } = this.#texts.of(sql, this.#dialect)
    return this.#client.query({
      text,
      values: values.map(storable),
      types: TYPES,
      returns,
      ...(this.#dialect.prepares && { name }),
      ...this.#patience(),
    })
  }

  #patience(): { readonly query_timeout?: number } {
    const { patienceMs } = this.#dialect
    return patienceMs === null ? {} : { query_timeout: patienceMs }
  }
}

interface Corkable {
  cork(): void
  uncork(): void
}

/** The socket of a client of `pg`. Null: it is some other client, or keeps it to itself. */
function streamOf(client: Queryable): Corkable | null {
  const { connection } = client as { readonly connection?: { readonly stream?: Partial<Corkable> } }
  const stream = connection?.stream
  return typeof stream?.cork === 'function' && typeof stream.uncork === 'function' ? (stream as Corkable) : null
}

/** The texts of a store's statements, each with its schema written in, and the name under which it is prepared. */
export class TextCache {
  readonly #texts = new Map<string, { readonly text: string; readonly name: string }>()

  of(sql: string, { schema }: Dialect): { readonly text: string; readonly name: string } {
    let known = this.#texts.get(sql)
    if (known === undefined) {
      const text = sql.replaceAll('pawl.', `${schema}.`)
      known = { text, name: `pawl_${createHash('sha256').update(text).digest('hex').slice(0, 24)}` }
      this.#texts.set(sql, known)
    }
    return known
  }
}

/** PostgreSQL has no texts with U+0000. Nothing that is stored has one, so nothing is found by it either. */
function storable(value: SqlValue): unknown {
  if (typeof value === 'string') return value.includes('\u0000') ? value.replaceAll('\u0000', '\ufffd') : value
  return Array.isArray(value) ? value.map(storable) : value
}

const asText = (text: string): unknown => text

/** The types of PostgreSQL that are no text here, by their numbers. */
const PARSERS: ReadonlyMap<number, (text: string) => unknown> = new Map<number, (text: string) => unknown>([
  [16, (text) => text === 't'],
  ...[20, 21, 23, 26, 700, 701, 1700].map((oid): [number, (text: string) => unknown] => [oid, Number]),
])

const TYPES = { getTypeParser: (oid: number) => PARSERS.get(oid) ?? asText }
