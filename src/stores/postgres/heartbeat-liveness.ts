import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { Life, Liveness } from '../../store/nodes.ts'
import { Connection, type Dialect, TextCache } from './connection.ts'
import { translateError } from './errors.ts'
import { Heart, type HeartParts, monotonicMs } from './heart.ts'
import type { HeartOrder } from './heart-thread.ts'
import { onClient, type PgPool } from './pool.ts'

export interface HeartbeatParts {
  readonly pool: PgPool
  readonly dialect: Dialect
  /** What `new Client(…)` of `pg` takes; null: there is no connection but those of the pool. */
  readonly direct: object | null
  /** The database in words, for messages. */
  readonly description: string
}

const BEAT_EVERY_MS = 5_000
/** One beat is overdue: nothing new begins. */
const SILENT_AFTER_MS = 7_500
/** Others take a node for dead after this time of their own; before, it must have stopped what must not run twice. */
const FADING_AFTER_MS = 10_000
const DEAD_AFTER_MS = 15_000
/** Lives of which nobody has a row, and which have not beaten for so long, left nothing but their proof. */
const REMAINS_AFTER = "interval '1 hour'"

const BEGIN = `
insert into pawl.lives (node_id, beat) values ($1, 1)
on conflict (node_id) do update set beat = pawl.lives.beat + 1, beat_at = clock_timestamp()`
const BEAT = 'update pawl.lives set beat = beat + 1, beat_at = clock_timestamp() where node_id = $1'
const END = 'delete from pawl.lives where node_id = $1'
const BURY = 'delete from pawl.lives where node_id = $1 and beat = $2'
const SELECT_BEAT = 'select beat from pawl.lives where node_id = $1'
const SELECT_LAST_BEATS = `
select node_id, (extract(epoch from beat_at) * 1000)::bigint as at
from pawl.lives
where node_id = any($1::text[])`
const SWEEP = `
delete from pawl.lives
where not (node_id = any($1::text[])) and beat_at < clock_timestamp() - ${REMAINS_AFTER}`

/** What was seen of a node: this beat, for the first time and for the last time then. */
interface Seen {
  readonly beat: number
  readonly sinceMs: number
  readonly lookedAtMs: number
}

/**
 * A node proves its life by a number in the database that grows. Dead is whose number was the same for 15 s, by the
 * monotonic clock of one who looked all the time and could beat himself: so a failover of the database, during which nobody
 * can beat, makes nobody declare the others dead, and no clock has to be right.
 */
export class HeartbeatLiveness implements Liveness {
  readonly #parts: HeartbeatParts
  readonly #texts = new TextCache()
  readonly #lives = new Set<OwnLife>()
  readonly #seen = new Map<string, Seen>()

  constructor(parts: HeartbeatParts) {
    this.#parts = parts
  }

  async begin(nodeId: string): Promise<Life> {
    const begunAtMs = monotonicMs()
    await this.#run(BEGIN, nodeId)
    const life = new OwnLife(begunAtMs, {
      nodeId,
      text: this.#texts.of(BEAT, this.#parts.dialect).text,
      pool: this.#parts.pool,
      direct: this.#parts.direct,
      beginAgain: () => this.#run(BEGIN, nodeId),
      end: async () => {
        this.#lives.delete(life)
        await this.#run(END, nodeId)
      },
    })
    this.#lives.add(life)
    return life
  }

  async isAlive(nodeId: string): Promise<boolean> {
    const row = await this.#on((connection) => connection.get<{ beat: number }>(SELECT_BEAT, nodeId))
    if (row === undefined) {
      this.#seen.delete(nodeId)
      return false
    }
    const nowMs = monotonicMs()
    const before = this.#seen.get(nodeId)
    // After a gap of our own nothing that we saw before it proves anything.
    const isProof = before !== undefined && nowMs - before.lookedAtMs < SILENT_AFTER_MS && !this.#isUnsound()
    const sinceMs = isProof && before.beat === row.beat ? before.sinceMs : nowMs
    this.#seen.set(nodeId, { beat: row.beat, sinceMs, lookedAtMs: nowMs })
    return nowMs - sinceMs < DEAD_AFTER_MS
  }

  async lastProofs(nodeIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#on((connection) =>
      connection.all<{ node_id: string; at: number }>(SELECT_LAST_BEATS, nodeIds),
    )
    return new Map(rows.map(({ node_id, at }) => [node_id, at]))
  }

  async bury(nodeId: string): Promise<void> {
    const seen = this.#seen.get(nodeId)
    // One that has begun to live again meanwhile keeps its proof.
    if (seen !== undefined) await this.#on((connection) => connection.run(BURY, nodeId, seen.beat))
    this.#seen.delete(nodeId)
  }

  async sweep(known: ReadonlySet<string>): Promise<void> {
    await this.#run(SWEEP, [...known])
  }

  #isUnsound(): boolean {
    return [...this.#lives].some((life) => life.standing() !== 'sound')
  }

  #run(sql: string, value: string | readonly string[]): Promise<number> {
    return this.#on((connection) => connection.run(sql, value))
  }

  async #on<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await onClient(this.#parts.pool, (client) =>
        work(new Connection(client, this.#parts.dialect, this.#texts)),
      )
    } catch (error) {
      throw translateError(error, this.#parts.description)
    }
  }
}

interface OwnLifeParts {
  readonly nodeId: string
  /** The statement that beats. */
  readonly text: string
  readonly pool: PgPool
  readonly direct: object | null
  readonly beginAgain: () => Promise<unknown>
  readonly end: () => Promise<void>
}

const THREAD = new URL('./heart-thread.js', import.meta.url)

class OwnLife implements Life {
  readonly #parts: OwnLifeParts
  readonly #provenAt = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT))
  readonly #stop: () => Promise<void>
  #wasLost = false

  constructor(begunAtMs: number, parts: OwnLifeParts) {
    this.#parts = parts
    this.#provenAt[0] = begunAtMs
    this.#stop = this.#startThread() ?? this.#startHere()
  }

  standing(): 'sound' | 'silent' | 'fading' {
    const forMs = monotonicMs() - (this.#provenAt[0] ?? 0)
    if (forMs < SILENT_AFTER_MS) return 'sound'
    return forMs < FADING_AFTER_MS ? 'silent' : 'fading'
  }

  async beat(): Promise<'alive' | 'lost'> {
    if (!this.#wasLost) return this.standing() === 'sound' ? 'alive' : 'lost'
    const sentAtMs = monotonicMs()
    await this.#parts.beginAgain()
    this.#provenAt[0] = sentAtMs
    this.#wasLost = false
    return 'lost'
  }

  async end(): Promise<void> {
    await this.#stop()
    await this.#parts.end()
  }

  /**
   * In a thread of its own, so that a body which blocks the event loop does not make this node look dead. Null where that
   * cannot be: in a program that was bundled into one file, or whose way to connect cannot be handed to a thread.
   */
  #startThread(): (() => Promise<void>) | null {
    const { direct, text, nodeId } = this.#parts
    if (direct === null || !existsSync(THREAD)) return null
    const order: HeartOrder = { text, nodeId, everyMs: BEAT_EVERY_MS, connection: direct, provenAt: this.#provenAt }
    let worker: Worker
    try {
      worker = new Worker(THREAD, { workerData: order, execArgv: [] })
    } catch {
      return null
    }
    worker.unref()
    worker.on('message', () => {
      this.#wasLost = true
    })
    let isOver = false
    let instead: (() => Promise<void>) | null = null
    const exited = new Promise<void>((resolve) => {
      worker.once('exit', () => {
        resolve()
        // Whatever ended the thread, somebody has to prove this life.
        if (!isOver) instead = this.#startHere()
      })
    })
    worker.on('error', () => {
      // It ends of it: see above.
    })
    return async () => {
      isOver = true
      if (instead !== null) return instead()
      worker.ref()
      worker.postMessage('stop')
      await exited
    }
  }

  #startHere(): () => Promise<void> {
    const { pool, text, nodeId } = this.#parts
    const parts: HeartParts = {
      text,
      nodeId,
      everyMs: BEAT_EVERY_MS,
      async open() {
        const client = await pool.connect()
        client.on('error', () => {
          // The next proof finds out.
        })
        // Whoever ends it may have a statement under way, so nobody else gets it.
        return { query: (config) => client.query(config), end: async () => client.release(true) }
      },
      proven: (sentAtMs) => {
        this.#provenAt[0] = sentAtMs
      },
      lost: () => {
        this.#wasLost = true
      },
    }
    const heart = new Heart(parts)
    heart.start()
    return () => heart.stop()
  }
}
