import { Pool, type PoolClient } from 'pg'

/** What the store asks of a client. */
export interface Question {
  readonly text: string
  readonly values?: unknown[]
}

/** A pool of `pg` for a store, of which a test sees all that is asked of it. */
export abstract class WatchedPool extends Pool {
  /** Answers the questions of one user of one client, from when it is taken from the pool until it is given back. */
  protected abstract answering(client: PoolClient): (question: Question) => Promise<unknown>

  override connect(): Promise<PoolClient>
  override connect(callback: Parameters<Pool['connect']>[0]): void
  override connect(callback?: Parameters<Pool['connect']>[0]): Promise<PoolClient> | undefined {
    if (callback === undefined) return super.connect().then((client) => this.#watched(client))
    super.connect(callback)
    return undefined
  }

  #watched(client: PoolClient): PoolClient {
    const query = this.answering(client)
    return new Proxy(client, {
      get: (target, name) => {
        if (name === 'query') return query
        const member: unknown = Reflect.get(target, name, target)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
  }
}
