import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { withServer } from '../postgres/server.mjs'

export const REDIS_MISSING = 'redis-server is not installed; on Debian and Ubuntu: apt-get install redis-server'

/**
 * A folder, two Redis servers and a PostgreSQL server for the time of the work. Without an installed Redis, `redis` is null.
 */
export async function withServers(parent, work) {
  const custodian = fork(fileURLToPath(new URL('./custodian.mjs', import.meta.url)), [parent], { execArgv: [] })
  try {
    const { folder, redis } = await nextFrom(custodian)
    const sockets = {}
    for (const appendfsync of redis === null ? [] : ['everysec', 'always']) {
      custodian.send(appendfsync)
      const { socket, error } = await nextFrom(custodian)
      if (error !== undefined) throw new Error(error)
      sockets[appendfsync] = socket
    }
    // Every system has a pool of its own, and those that are idle keep theirs for a while.
    return await withServer(({ url, version }) => work({ folder, redis, sockets, url, postgres: version }), {
      max_connections: '400',
    })
  } finally {
    if (custodian.connected) {
      custodian.disconnect()
      await once(custodian, 'exit')
    }
  }
}

async function nextFrom(custodian) {
  const [told] = await Promise.race([
    once(custodian, 'message'),
    once(custodian, 'exit').then(() => {
      throw new Error('The process that keeps the Redis servers ended.')
    }),
  ])
  return told
}
