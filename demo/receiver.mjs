// Somebody who is told by webhook what came of the jobs.
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

/** Listens on any free port of this machine. `told` is called with each message. Answers with the address to call. */
export async function startReceiver(told) {
  const server = createServer(async (request, response) => {
    try {
      told(await json(request))
      response.writeHead(204).end()
    } catch {
      response.writeHead(400).end()
    }
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  // The demo ends when the server of Pawl does.
  server.unref()
  return `http://127.0.0.1:${server.address().port}/pawl`
}
