import { onClient, type PgPool } from './pool.ts'

const MEASURE_EVERY_MS = 60_000
/** Of several measurements the one with the shortest way is the truest. */
const MEASUREMENTS = 3
const WAY_MAX_MS = 1_000
/** A connection that does not answer is given up. */
const PATIENCE_MS = 10_000

interface Measurement {
  readonly wayMs: number
  readonly offsetMs: number
}

const SELECT_NOW = 'select extract(epoch from clock_timestamp()) * 1000 as now'

/**
 * The time by the database's clock: this machine's monotonic clock and a measured offset. So nodes whose own clocks are wrong
 * agree on when a Job is due, and a clock that is set does not move it.
 */
export class DatabaseClock {
  readonly #pool: PgPool
  #offsetMs: number
  #timer: NodeJS.Timeout | null = null

  private constructor(pool: PgPool, offsetMs: number) {
    this.#pool = pool
    this.#offsetMs = offsetMs
  }

  static async measured(pool: PgPool): Promise<DatabaseClock> {
    const clock = new DatabaseClock(pool, (await measure(pool)).offsetMs)
    clock.#measureLater()
    return clock
  }

  readonly now = (): number => Math.floor(performance.now() + this.#offsetMs)

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  #measureLater(): void {
    this.#timer = setTimeout(() => {
      void this.#measureAgain()
    }, MEASURE_EVERY_MS)
    this.#timer.unref()
  }

  async #measureAgain(): Promise<void> {
    try {
      const { offsetMs, wayMs } = await measure(this.#pool)
      // On a long way nobody knows where the time went.
      if (wayMs < WAY_MAX_MS) this.#offsetMs = offsetMs
    } catch {
      // The server is away. The last measurement will do until it is back.
    }
    if (this.#timer !== null) this.#measureLater()
  }
}

async function measure(pool: PgPool): Promise<Measurement> {
  return onClient(pool, async (client) => {
    let best: Measurement = { wayMs: Number.POSITIVE_INFINITY, offsetMs: 0 }
    for (let count = 0; count < MEASUREMENTS; count++) {
      const sentAt = performance.now()
      const { rows } = await client.query({ text: SELECT_NOW, query_timeout: PATIENCE_MS })
      const cameAt = performance.now()
      const databaseMs = Number((rows[0] as { now: string | number }).now)
      const wayMs = cameAt - sentAt
      if (wayMs < best.wayMs) best = { wayMs, offsetMs: databaseMs - (sentAt + cameAt) / 2 }
    }
    return best
  })
}
