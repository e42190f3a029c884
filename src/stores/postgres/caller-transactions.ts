import { PawlError } from '../../domain/errors.ts'
import { type CallerQueryable, callerQueryable } from './caller-queryable.ts'
import type { Connection, Queryable } from './connection.ts'
import { codeOf, isDuplicate } from './errors.ts'

export interface CallerTransactionParts {
  readonly connectionOn: (client: Queryable) => Connection
  /** Does the work on a connection of Pawl's own. */
  readonly onConnection: <T>(work: (connection: Connection) => Promise<T>) => Promise<T>
  readonly description: string
}

/** How often work is done again, because another transaction has just written the same key. */
const TRIES_MAX = 3

const SAVEPOINT = 'savepoint pawl_enqueue'
const UNDO = 'rollback to savepoint pawl_enqueue'
const KEEP = 'release savepoint pawl_enqueue'

// When the schema was made. Two databases hardly have the same instant.
const SELECT_ORIGIN = 'select applied_at from pawl.migrations where version = 1'

/** Work of ours in transactions of others: it is kept or undone as a whole, and what the caller did before stays in any case. */
export class CallerTransactions {
  readonly #parts: CallerTransactionParts
  /** The last turn on each connection: a savepoint has only one owner at a time. */
  readonly #turns = new WeakMap<object, Promise<void>>()
  /** Connections that lead to this database. */
  readonly #known = new WeakSet<object>()
  #origin: Promise<number | null> | null = null

  constructor(parts: CallerTransactionParts) {
    this.#parts = parts
  }

  async within<T>(tx: unknown, work: (connection: Connection) => Promise<T>): Promise<T> {
    const queryable = await callerQueryable(tx)
    const { holder } = queryable
    const turn = (this.#turns.get(holder) ?? Promise.resolve()).then(() => this.#work(queryable, work))
    const over = turn.then(
      () => {},
      () => {},
    )
    this.#turns.set(holder, over)
    return turn
  }

  async #work<T>(queryable: CallerQueryable, work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = this.#parts.connectionOn(queryable)
    await begin(connection)
    try {
      await this.#refuseOtherDatabase(connection, queryable.holder)
      const result = await insist(connection, work)
      await connection.exec(KEEP)
      return result
    } catch (error) {
      await connection
        .exec(UNDO)
        .then(() => connection.exec(KEEP))
        .catch(() => {
          // The whole transaction is over, or its connection. The first error says why.
        })
      throw error
    }
  }

  async #refuseOtherDatabase(connection: Connection, holder: object): Promise<void> {
    if (this.#known.has(holder)) return
    this.#origin ??= this.#parts.onConnection(readOrigin).catch((error: unknown) => {
      this.#origin = null
      throw error
    })
    const expected = await this.#origin
    const found = await readOrigin(connection).catch((error: unknown) => {
      if (NOT_THERE.has(codeOf(error) ?? '')) return null
      throw error
    })
    if (found === expected) return void this.#known.add(holder)
    throw new PawlError(
      'wrong_database',
      `Expected \`tx\` to be a transaction on the scheduler's own database (${this.#parts.description}), but it is on ` +
        'another one. A transaction cannot span databases.',
      { path: 'tx' },
    )
  }
}

/** No such schema, no such table. */
const NOT_THERE = new Set(['3F000', '42P01'])

async function readOrigin(connection: Connection): Promise<number | null> {
  return (await connection.get<{ applied_at: number }>(SELECT_ORIGIN))?.applied_at ?? null
}

async function begin(connection: Connection): Promise<void> {
  try {
    await connection.exec(SAVEPOINT)
  } catch (error) {
    const what = UNUSABLE[codeOf(error) ?? '']
    if (what === undefined) throw error
    throw new PawlError('invalid_option', `Expected \`tx\` to have a transaction under way, but ${what}.`, {
      path: 'tx',
      cause: error,
    })
  }
}

const UNUSABLE: Readonly<Record<string, string>> = {
  '25P01': 'it has none. Call `begin` first, and `commit` afterwards',
  '25P02': 'a statement in it has failed. Roll it back and begin anew',
}

/** Whoever wrote the same key at the same time has committed now: the work finds what it wrote, and answers accordingly. */
async function insist<T>(connection: Connection, work: (connection: Connection) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work(connection)
    } catch (error) {
      if (!isDuplicate(error)) throw error
      if (tries === TRIES_MAX) throw unseen(error)
      await connection.exec(UNDO)
    }
  }
}

function unseen(cause: unknown): PawlError {
  return new PawlError(
    'store_busy',
    'Another transaction has just used the same key, and yours cannot see what it wrote, because its isolation level is above ' +
      '`read committed`. Roll it back and begin anew.',
    { cause },
  )
}
