import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../domain/errors.ts'
import { flushOutput } from './host-output.ts'
import { HostedHandler } from './hosted-handler.ts'
import { type Envelope, type FromHost, type HandlerOrder, openEnvelope, type ToHost } from './protocol.ts'

// The first file of a thread that runs a handler. `thread.ts` starts it.

const port = parentPort
assert(port !== null, 'thread-host was loaded outside of a thread')
const send = (message: FromHost) => port.postMessage({ pawl: message } satisfies Envelope<FromHost>)

const hosted = new HostedHandler(send)
port.on('message', (value) => {
  const message = openEnvelope<ToHost>(value)
  if (message !== null) hosted.receive(message)
})

const answer = await hosted.execute(workerData as HandlerOrder)
send({ kind: 'answer', answer })
await flushOutput()
// The handler has ended. Timers and connections that it left open do not keep its thread.
process.exit(0)
