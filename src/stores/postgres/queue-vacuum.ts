import type { PgClient } from './pool.ts'
import { waitAtMost } from './wait-at-most.ts'

export interface QueueVacuumParts {
  /** Null: there is no way around a pooler, and the server's own vacuum has to do. */
  readonly openClient: (() => Promise<PgClient>) | null
  /** As it stands in statements. */
  readonly schema: string
}

/** After so many Jobs have left the queue through here, it is looked at. */
const LOOK_AFTER_JOBS = 10_000
/** So many dead rows are left alone, and as many again for each twenty rows that live: to remove them reads all indexes. */
const DEAD_ROWS_MIN = 20_000
const LIVE_ROWS_PER_DEAD = 20
const GOODBYE_MS = 1_000

const DEAD_ROWS = (schema: string) => `
select n_dead_tup::float8 as dead, n_live_tup::float8 as live
from pg_stat_all_tables
where relid = '${schema}.queue'::regclass`

// Passes over a table that somebody else is vacuuming. The indexes are what it is for.
const VACUUM = (schema: string) => `vacuum (skip_locked, index_cleanup on, truncate off) ${schema}.queue`

/**
 * Removes the rows that claims leave behind at the head of the queue. Each claim steps over all of them in the index, and the
 * server removes them once a minute at most: in that time a busy node leaves a million.
 */
export class QueueVacuum {
  readonly #parts: QueueVacuumParts
  #jobs = 0
  /** What the last one could not remove, because somebody may still see it. */
  #left = 0
  #client: PgClient | null = null
  #working: Promise<void> | null = null
  #closed = false

  constructor(parts: QueueVacuumParts) {
    this.#parts = parts
  }

  /** So many Jobs have left the queue. Returns at once. */
  note(jobs: number): void {
    this.#jobs += jobs
    if (this.#jobs < LOOK_AFTER_JOBS || this.#working !== null || this.#closed) return
    this.#jobs = 0
    this.#working = this.#vacuum().finally(() => {
      this.#working = null
    })
  }

  /** Resolves when no look and no vacuum is under way. */
  async quiet(): Promise<void> {
    await this.#working
  }

  /** Nobody waits any more for a vacuum that is under way; the server may go on with it. */
  async close(): Promise<void> {
    this.#closed = true
    const client = this.#client
    await waitAtMost(GOODBYE_MS, Promise.all([client?.end().catch(() => {}), this.quiet()]))
    client?.unref?.()
  }

  /** Never throws. Whoever may not do it, or loses the connection, leaves it to the server and to others. */
  async #vacuum(): Promise<void> {
    try {
      const client = (await this.#parts.openClient?.()) ?? null
      if (client === null) return
      this.#client = client
      if (!this.#closed) await this.#vacuumOn(client)
    } catch {
      // See above.
    }
    await this.#client?.end().catch(() => {})
    this.#client = null
  }

  async #vacuumOn(client: PgClient): Promise<void> {
    const { schema } = this.#parts
    const { dead, live } = await readRows(client, schema)
    // Others may have removed them meanwhile.
    this.#left = Math.min(this.#left, dead)
    // Twice: while somebody may still see them, each vacuum passes over all that were left, for nothing.
    if (dead < 2 * this.#left + DEAD_ROWS_MIN + live / LIVE_ROWS_PER_DEAD) return
    await client.query({ text: VACUUM(schema) })
    this.#left = (await readRows(client, schema)).dead
  }
}

interface Rows {
  readonly dead: number
  readonly live: number
}

async function readRows(client: PgClient, schema: string): Promise<Rows> {
  const { rows } = await client.query({ text: DEAD_ROWS(schema) })
  return (rows[0] as Rows | undefined) ?? { dead: 0, live: 0 }
}
