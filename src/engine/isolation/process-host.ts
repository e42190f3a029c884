import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { assert } from '../../domain/errors.ts'
import { flushOutput } from './host-output.ts'
import { HostedHandler } from './hosted-handler.ts'
import { type FromHost, openEnvelope, type ToHost } from './protocol.ts'

// The first file of a child process that runs a handler. `process.ts` starts it.

const sendToNode = process.send?.bind(process)
assert(sendToNode !== undefined, 'process-host was started without a channel')
// The callback keeps a closed channel from becoming an uncaught error. A node that is gone needs no messages.
const send = (message: FromHost, then = () => {}) => sendToNode({ pawl: message }, undefined, undefined, then)

const hosted = new HostedHandler(send)
const hasLifeline = watchLifeline()

process.on('message', (value) => {
  const message = openEnvelope<ToHost>(value)
  if (message?.kind === 'run-handler') void execute(message)
  else if (message !== null) hosted.receive(message)
})

async function execute(order: Extract<ToHost, { kind: 'run-handler' }>): Promise<void> {
  await hasLifeline
  const answer = await hosted.execute(order)
  await new Promise<void>((resolve) => send({ kind: 'answer', answer }, resolve))
  await flushOutput()
  // The handler has ended. Timers and connections that it left open do not keep its process.
  process.exit(0)
}

/** The handler may block this thread for ever, so another one watches whether the node still lives. */
async function watchLifeline(): Promise<void> {
  // It starts plain, without what the user's Node options load.
  const watcher = new Worker(new URL('./lifeline-host.js', import.meta.url), { execArgv: [], env: {} })
  watcher.unref()
  // If it fails, nobody handles that, and this process ends: no lifeline, no body.
  await once(watcher, 'message')
}
