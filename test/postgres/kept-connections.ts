import { syncBuiltinESMExports } from 'node:module'
import threads from 'node:worker_threads'
import pg from 'pg'
import { afterAll } from 'vitest'

type Pool = InstanceType<typeof pg.Pool>

const RealPool = pg.Pool
const RealWorker = threads.Worker
const kept = new Map<string, Pool[]>()
let isKeeping = false

/**
 * For tests that are about what a store does, not about how it is connected, so that hundreds of them need not wait for what
 * takes longer than most of them:
 * - A store of this process that is closed leaves its connections to the next one that connects in the same way. A new
 *   connection would read the server's catalogs and plan each statement first.
 * - Proofs of life come from the main thread, as in a program that was bundled into one file.
 */
export function keepConnections(): void {
  if (isKeeping) return
  isKeeping = true
  pg.Pool = new Proxy(RealPool, {
    construct(_, [options]: [object]) {
      const key = JSON.stringify(options)
      return kept.get(key)?.pop() ?? newPool(options, key)
    },
  })
  threads.Worker = new Proxy(RealWorker, {
    construct(_, [file, options]: ConstructorParameters<typeof RealWorker>) {
      if (String(file).endsWith('heart-thread.js')) throw new Error('no thread for this test')
      return new RealWorker(file, options)
    },
  })
  syncBuiltinESMExports()
}

function newPool(options: object, key: string): Pool {
  const pool = new RealPool(options)
  const end = pool.end.bind(pool)
  const keep = async (): Promise<void> => {
    // Somebody still uses one of its connections.
    if (pool.idleCount !== pool.totalCount || pool.waitingCount > 0) return end()
    for (const event of ['connect', 'error'] as const) pool.removeAllListeners(event)
    pool.on('error', () => {
      // A connection that nobody uses broke.
    })
    kept.set(key, [...(kept.get(key) ?? []), pool])
  }
  return Object.assign(pool, { end: keep, reallyEnd: end })
}

afterAll(async () => {
  const pools = [...kept.values()].flat() as (Pool & { readonly reallyEnd: () => Promise<void> })[]
  kept.clear()
  for (const pool of pools) await pool.reallyEnd()
})
