import { createJiti } from 'jiti'

/** As a server comes, but safe from a loss of power, which the one of the tests is not. */
const SETTINGS = { fsync: 'on', full_page_writes: 'on', shared_buffers: '128MB', max_connections: '100' }

/** A PostgreSQL server for the time of the work: an installed one, else the one that the tests bring along. */
export async function withServer(work, settings = {}) {
  const { startServer } = await createJiti(import.meta.url).import('../../torture/servers/server.ts')
  const server = await startServer({ settings: { ...SETTINGS, ...settings } })
  try {
    return await work(server)
  } finally {
    await server.remove()
  }
}
