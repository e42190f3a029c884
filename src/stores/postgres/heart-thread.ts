import { parentPort, workerData } from 'node:worker_threads'
import { Heart } from './heart.ts'
import { loadPg } from './pool.ts'

/** What the thread is given. */
export interface HeartOrder {
  readonly text: string
  readonly nodeId: string
  readonly everyMs: number
  /** What `new Client(…)` of `pg` takes. */
  readonly connection: object
  /** When the life was last proven, for whoever wants to know at once, even while this thread's messages wait. */
  readonly provenAt: Float64Array
}

const { text, nodeId, everyMs, connection, provenAt } = workerData as HeartOrder

const heart = new Heart({
  text,
  nodeId,
  everyMs,
  async open() {
    const { Client } = await loadPg()
    const client = new Client(connection)
    client.on('error', () => {
      // The next proof finds out.
    })
    await client.connect()
    return client
  },
  proven(sentAtMs) {
    provenAt[0] = sentAtMs
  },
  lost() {
    parentPort?.postMessage('lost')
  },
})

heart.start()
parentPort?.once('message', () => {
  // A connection that nobody answers on would keep this thread alive.
  void heart.stop().then(() => process.exit())
})
