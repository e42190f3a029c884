// One process that uses Pawl while its writes are traced. Its argument is a file with a `WorkloadOrder`.
import { once } from 'node:events'
import { openSync, readFileSync, writeSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import type { Act, Order, Session } from './acts.ts'
import { Client } from './client.ts'
import { jobTypes, RESOURCES } from './job-types.ts'
import { QuickClock, type QuickTime } from './quick-clock.ts'
import { DATABASE_FILE, SAID_FILE, type Say } from './said.ts'

export interface WorkloadOrder {
  readonly folder: string
  readonly session: Session
  readonly time: QuickTime
  /** See `ClientParts`. */
  readonly prunesBefore: number | null
}

/** What was asked for by then is let go on for so long, on the clock of the trace, before the process ends. */
const GO_ON_MS = 8_000

const { folder, session, time, prunesBefore } = JSON.parse(
  readFileSync(process.argv[2] as string, 'utf8'),
) as WorkloadOrder
const clock = new QuickClock(time)
const said = openSync(join(folder, SAID_FILE), 'a')
const say: Say = (line) => void writeSync(said, `${JSON.stringify({ ...line, at: clock.now() })}\n`)
const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve))

const receiver = createServer((request, response) => {
  request.resume().once('end', () => {
    say({ is: 'received', deliveryId: String(request.headers['webhook-id']) })
    response.end()
  })
})
receiver.listen(0, '127.0.0.1')
await once(receiver, 'listening')
const { port } = receiver.address() as AddressInfo

const path = join(folder, DATABASE_FILE)
const scheduler = await openScheduler({
  store: sqlite(path),
  clock,
  concurrency: 3,
  resources: RESOURCES,
  webhooks: { allowPrivate: ['127.0.0.1'] },
  shutdownTimeoutMs: 2_000,
  jobs: jobTypes({
    began: (jobId, runId) => say({ is: 'began', jobId, runId }),
    asked: (orders: readonly Order[]) => say({ is: 'asked', orders }),
    wait: (ms, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true })
        clock.after(ms, resolve)
      }),
  }),
})
await scheduler.start()
const troubled = (act: Act, error: unknown) => say({ is: 'failed', act: act.kind, message: String(error) })
const client = await Client.open({
  scheduler,
  clock,
  say,
  path,
  webhookUrl: `http://127.0.0.1:${port}/`,
  troubled,
  prunesBefore,
})
const acts = session.acts[Symbol.iterator]()
await Promise.all(
  Array.from({ length: session.clients }, async () => {
    for (const act of acts) await client.perform(act)
  }),
)
await wait(GO_ON_MS)
if (session.end === 'kill') process.kill(process.pid, 'SIGKILL')
client.close()
await scheduler.close()
receiver.closeAllConnections()
receiver.close()
