// BullMQ on a Redis server of its own, over a Unix socket. It keeps finished jobs, which is its default.
import { importPeer, options, versionOfPeer } from './answering.mjs'
import { oncePerSettings, serve } from './serving.mjs'

const { Queue, Worker } = await importPeer('bullmq')
const connection = { path: options.socket, maxRetriesPerRequest: null }
const { store } = options

const open = oncePerSettings(async ({ autoPipelining }) => {
  const queue = new Queue(store, { connection: { ...connection, enableAutoPipelining: autoPipelining } })
  await queue.waitUntilReady()
  return queue
})

async function producer({ autoPipelining = false }) {
  const queue = await open({ autoPipelining })
  return {
    enqueue: (n) => queue.add('noop', { n }),
    enqueueList: (ns) => queue.addBulk(ns.map((n) => ({ name: 'noop', data: { n } }))),
  }
}

async function work({ workers, concurrency }, body) {
  const started = Array.from(
    { length: workers },
    () => new Worker(store, async () => body(), { connection, concurrency }),
  )
  await Promise.all(started.map((worker) => worker.waitUntilReady()))
  return () => Promise.all(started.map((worker) => worker.close()))
}

async function remaining() {
  const queue = await open({ autoPipelining: false })
  const counts = await queue.getJobCounts('waiting', 'active', 'prioritized', 'delayed')
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}

async function askRedis(question) {
  const { Redis } = await importPeer('ioredis')
  const client = new Redis(options.socket)
  const answer = await question(client)
  client.disconnect()
  return answer
}

async function serverMemory() {
  const info = await askRedis((client) => client.info('memory'))
  return Number(/used_memory_rss:(\d+)/.exec(info)[1])
}

const forget = () => askRedis((client) => client.flushall())

await serve({ version: versionOfPeer('bullmq'), producer, work, remaining, serverMemory, forget })
