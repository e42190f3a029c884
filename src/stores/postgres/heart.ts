import type { Queryable } from './connection.ts'

/** A connection that only beats. */
interface Vein extends Queryable {
  end(): Promise<void>
}

export interface HeartParts {
  /** `update … set beat = beat + 1 …`, with the node's id as its only value. */
  readonly text: string
  readonly nodeId: string
  readonly everyMs: number
  readonly open: () => Promise<Vein>
  /** The life was proven at this instant. Called with the time at which the proof was on its way, not when it came back. */
  readonly proven: (sentAtMs: number) => void
  /** The row is gone: others took this node for dead. */
  readonly lost: () => void
}

const TRY_AGAIN_MS = 500
const GOODBYE_MS = 1_000

/** Monotonic, and the same in all threads of a process. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/**
 * Proves again and again that a node lives. It needs nothing but its own connection, so it can be in a thread of its own,
 * where no body that blocks the event loop can stop it.
 */
export class Heart {
  readonly #parts: HeartParts
  #vein: Vein | null = null
  #timer: NodeJS.Timeout | null = null
  #beating: Promise<void> = Promise.resolve()
  #stopped = false
  /** The last proof failed. */
  #isFailing = false

  constructor(parts: HeartParts) {
    this.#parts = parts
  }

  start(): void {
    this.#next(this.#parts.everyMs)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#sayGoodbye()
    await this.#beating
    await this.#sayGoodbye()
  }

  /** Nobody may be there to hear it. */
  async #sayGoodbye(): Promise<void> {
    if (this.#vein !== null) await within(GOODBYE_MS, this.#vein.end()).catch(() => {})
  }

  /** One that comes too late is closed again. */
  async #open(): Promise<Vein> {
    const opening = this.#parts.open()
    let isLate = false
    opening.then((vein) => (isLate ? vein.end() : undefined)).catch(() => {})
    try {
      return await within(this.#parts.everyMs, opening)
    } catch (error) {
      isLate = true
      throw error
    }
  }

  #next(delayMs: number): void {
    if (this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#beating = this.#beat()
    }, delayMs)
    this.#timer.unref()
  }

  async #beat(): Promise<void> {
    const { text, nodeId, everyMs } = this.#parts
    const sentAtMs = monotonicMs()
    try {
      this.#vein ??= await this.#open()
      // A connection that hangs must not keep the next proof from being tried on another: the first time early enough, so
      // that the proof comes before anything has to be stopped for the lack of it.
      const patienceMs = this.#isFailing ? everyMs : everyMs / 2
      const asked = this.#vein.query({ text, values: [nodeId], query_timeout: patienceMs })
      const { rowCount } = await within(patienceMs, asked)
      this.#isFailing = false
      if (rowCount === 0) this.#parts.lost()
      else this.#parts.proven(sentAtMs)
      this.#next(Math.max(0, sentAtMs + everyMs - monotonicMs()))
    } catch {
      // Whatever it was, the next proof goes on another connection.
      const broken = this.#vein
      this.#vein = null
      this.#isFailing = true
      broken?.end().catch(() => {})
      this.#next(TRY_AGAIN_MS)
    }
  }
}

async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('The server did not answer in time.')), timeoutMs)
  })
  // After the timeout nobody looks at it any more.
  work.catch(() => {})
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
