// Somebody who is told by webhook what came of the jobs.
import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'

/** Listens on any free port of this machine. `told` is called with each message. Answers with the address to call. */
export async function startReceiver(told) {
  const server = createServer((request, response) => {
    const answer = (status) => response.writeHead(status).end()
    json(request)
      .then(told)
      .then(
        () => answer(204),
        () => answer(400),
      )
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  // The demo ends when the server of Pawl does.
  server.unref()
  return `http://127.0.0.1:${server.address().port}/pawl`
}
