import type { Connection } from './connection.ts'
import type { PgClient } from './pool.ts'
import { waitAtMost } from './wait-at-most.ts'

/** Not more often than this: NOTIFY makes commits wait for each other. */
const SEND_EVERY_MS = 10
/** How long after a lost connection the next one is tried. */
const LISTEN_AGAIN_MS = 1_000
const GOODBYE_MS = 1_000

export interface WakeUpParts {
  /** Null: nobody is told, and everybody looks by himself from time to time. */
  readonly openClient: (() => Promise<PgClient>) | null
  /** Sends on some connection, outside of any transaction. */
  readonly notify: (channel: string, payload: string) => Promise<void>
  readonly channel: string
  /** Says who sent, so that nobody wakes himself up. */
  readonly sender: string
}

// As text: not every caller's library can read a column of type void.
const NOTIFY_WITHIN = 'select pg_notify($1, $2)::text as told'

/**
 * Tells other processes on the same database that something was committed, and hears it from them. Only a hint: whoever
 * misses one finds the same by looking.
 */
export class WakeUps {
  readonly #parts: WakeUpParts
  #hear: () => void = () => {}
  #client: PgClient | null = null
  #listening = false
  #closed = false
  #timer: NodeJS.Timeout | null = null
  #lastSentAt = Number.NEGATIVE_INFINITY
  #sending: Promise<void> = Promise.resolve()

  constructor(parts: WakeUpParts) {
    this.#parts = parts
  }

  onWakeUp(hear: () => void): void {
    this.#hear = hear
  }

  /** After a commit. Calls that follow each other closely become one. */
  send(): void {
    if (this.#parts.openClient === null || this.#closed || this.#timer !== null) return
    const waitMs = this.#lastSentAt + SEND_EVERY_MS - performance.now()
    if (waitMs <= 0) this.#sendNow()
    else {
      this.#timer = setTimeout(() => {
        this.#timer = null
        this.#sendNow()
      }, waitMs)
    }
  }

  #sendNow(): void {
    this.#lastSentAt = performance.now()
    this.#sending = this.#parts.notify(this.#parts.channel, this.#parts.sender).catch(() => {
      // Nobody hears it. They will look by themselves.
    })
  }

  /** Inside a caller's transaction: told when, and only if, it commits. */
  async sendWithin(connection: Connection): Promise<void> {
    // No sender: the caller's commit is news for this process too.
    if (this.#parts.openClient !== null) await connection.get(NOTIFY_WITHIN, this.#parts.channel, '')
  }

  /** Begins to hear others. Returns at once; until it hears, everybody looks by himself. */
  listen(): void {
    if (this.#listening || this.#closed || this.#parts.openClient === null) return
    this.#listening = true
    void this.#open()
  }

  async #open(): Promise<void> {
    try {
      const client = await this.#parts.openClient?.()
      if (client === undefined) return
      if (this.#closed) {
        await client.end()
        return
      }
      this.#client = client
      client.on('notification', ({ payload }) => {
        if (payload !== this.#parts.sender) this.#hear()
      })
      client.on('error', () => this.#openAgain(client))
      client.on('end', () => this.#openAgain(client))
      await client.query({ text: `listen "${this.#parts.channel}"` })
      // Something may have happened before.
      this.#hear()
    } catch {
      this.#openAgain(this.#client)
    }
  }

  #openAgain(lost: PgClient | null): void {
    if (this.#closed || lost !== this.#client) return
    this.#client = null
    void lost?.end().catch(() => {})
    setTimeout(() => {
      if (!this.#closed) void this.#open()
    }, LISTEN_AGAIN_MS).unref()
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    const client = this.#client
    this.#client = null
    await waitAtMost(GOODBYE_MS, Promise.all([this.#sending, client?.end().catch(() => {})]))
    client?.unref?.()
  }
}
