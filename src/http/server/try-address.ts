import { once } from 'node:events'
import { createServer } from 'node:net'
import { listen } from './listen-address.ts'
import { type HttpOptions, readHttpOptions } from './server-options.ts'

/** Listens there for a moment, so that an address that cannot be used is refused before anything else is begun. */
export async function tryAddress(options: HttpOptions): Promise<void> {
  const { host, port } = readHttpOptions(options)
  const server = createServer((socket) => socket.destroy())
  await listen(server, host, port)
  server.close()
  await once(server, 'close')
}
