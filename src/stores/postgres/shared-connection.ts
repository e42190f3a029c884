import type { Connection } from './connection.ts'
import { isRefusedStatement } from './errors.ts'

/** A connection that was taken. */
interface Taken {
  readonly connection: Connection
  /** How many use it now, and how many have so far. */
  users: number
  uses: number
  /** What broke it. */
  failure: unknown
  readonly giveBack: () => void
  readonly giveBackBroken: (failure: unknown) => void
}

/** Somebody who waits for a connection to be taken. */
interface Waiting {
  readonly begin: (taken: Taken) => void
  readonly reject: (error: unknown) => void
}

type Work<T> = (connection: Connection) => Promise<T>

/** After so many it is given back, and taken again in turn: who else needs a connection must not wait for a quiet moment. */
const USES_MAX = 50

/**
 * One connection for all that is under way at the same time. Whoever comes while it is in use sends behind the others, in the
 * order in which they came, so that the server goes from one to the next without waiting for an answer to be read.
 */
export class SharedConnection {
  readonly #take: (work: Work<void>) => Promise<void>
  #taken: Taken | null = null
  #waiting: Waiting[] = []

  constructor(take: (work: Work<void>) => Promise<void>) {
    this.#take = take
  }

  /** What the work sends, it must send at once: what it sent later would come between the statements of others. */
  use<T>(work: Work<T>): Promise<T> {
    if (this.#taken !== null) return this.#useTaken(this.#taken, work)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ begin: (taken) => resolve(this.#useTaken(taken, work)), reject })
      if (this.#waiting.length === 1) void this.#takeOne()
    })
  }

  async #takeOne(): Promise<void> {
    let hasBegun = false
    try {
      await this.#take((connection) => {
        return new Promise<void>((giveBack, giveBackBroken) => {
          hasBegun = true
          const taken: Taken = { connection, users: 0, uses: 0, failure: null, giveBack, giveBackBroken }
          this.#taken = taken
          for (const { begin } of this.#waiting.splice(0)) begin(taken)
        })
      })
    } catch (error) {
      // Those who have used it know what happened.
      if (!hasBegun) for (const { reject } of this.#waiting.splice(0)) reject(error)
    }
  }

  async #useTaken<T>(taken: Taken, work: Work<T>): Promise<T> {
    taken.users++
    taken.uses++
    if (taken.uses === USES_MAX) this.#close(taken)
    try {
      return await work(taken.connection)
    } catch (error) {
      // A statement that the server refused leaves the connection as it was; anything else may have left it anyhow.
      if (!isRefusedStatement(error)) {
        taken.failure ??= error
        this.#close(taken)
      }
      throw error
    } finally {
      taken.users--
      if (taken.users === 0) {
        this.#close(taken)
        if (taken.failure === null) taken.giveBack()
        else taken.giveBackBroken(taken.failure)
      }
    }
  }

  /** Nobody else joins. */
  #close(taken: Taken): void {
    if (this.#taken === taken) this.#taken = null
  }
}
