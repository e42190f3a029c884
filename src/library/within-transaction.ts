import { invalid, refuseUnknownKeys } from '../domain/options.ts'

export interface WithinTransaction {
  /**
   * Your own transaction under way, on the scheduler's database: a client of `pg`, or what Kysely, Drizzle, Knex or Prisma hand
   * to the function inside a transaction. PostgreSQL only; on SQLite use `enqueueSync`.
   */
  readonly tx?: object
}

/** The options without the transaction, and the transaction. */
export function splitTransaction<Options extends object>(
  options: (Options & WithinTransaction) | undefined,
): { readonly tx: object | undefined; readonly rest: Options | undefined } {
  if (typeof options !== 'object' || options === null || !('tx' in options)) return { tx: undefined, rest: options }
  const { tx, ...rest } = options
  return { tx: readTx(tx), rest: rest as Options }
}

/** The transaction, where it is the only option. */
export function readTransaction(options: WithinTransaction | undefined): object | undefined {
  if (options === undefined) return undefined
  refuseUnknownKeys(options, ['tx'], '')
  return readTx(options.tx)
}

function readTx(tx: unknown): object | undefined {
  if (tx === undefined || typeof tx === 'function' || (typeof tx === 'object' && tx !== null)) return tx
  throw invalid('tx', 'your own transaction, such as a client of `pg` after `begin`', tx)
}
