// A scheduler that sends, as a process of its own. It is told by its parent whom to tell, what to execute, and when to close.
import dns from 'node:dns/promises'
import { once } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import { defineJob, openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'

const [{ file, speed, names, webhooks }] = await once(process, 'message')

// The system's resolver, as far as it knows names that only this run has: each answer comes once, the last for ever.
const { lookup } = dns
dns.lookup = async (hostname, options) => {
  const answers = names[hostname]
  if (answers === undefined) return lookup(hostname, options)
  const addresses = answers.length > 1 ? answers.shift() : answers[0]
  return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
}
syncBuiltinESMExports()

/** The delays between attempts are as documented; only time goes faster. */
const startedAt = Date.now()
const clock = {
  now: () => startedAt + Math.round((Date.now() - startedAt) * speed),
  after(delayMs, wake) {
    const timer = setTimeout(() => wake(), Math.min(delayMs / speed, 2_147_483_647))
    return { cancel: () => clearTimeout(timer) }
  },
}

const jobs = [
  defineJob({ type: 'completes', run: ({ params }) => params }),
  defineJob({
    type: 'fails',
    retry: { maxRetries: 0 },
    run: () => {
      throw new Error('as it should')
    },
  }),
]
const silent = { info() {}, warn() {}, error() {} }
const scheduler = await openScheduler({
  store: sqlite(file, { durability: 'process' }),
  jobs,
  concurrency: 4,
  clock,
  logger: silent,
  webhooks: { allowPrivate: ['127.0.0.1'] },
})

const made = []
for (const { name, url, events } of webhooks) {
  try {
    const { webhookId, secret } = await scheduler.webhooks.create({ url, events })
    made.push({ name, webhookId, secret })
  } catch (error) {
    made.push({ name, refused: error.code })
  }
}
await scheduler.start()
process.send({ kind: 'ready', made, now: clock.now() })

async function obey(message) {
  switch (message.kind) {
    case 'enqueue': {
      const handle = await scheduler.enqueue(message.type, { n: message.n })
      const { outcome } = await handle.settled()
      return void process.send({ kind: 'ended', jobId: handle.jobId, outcome })
    }
    case 'memory':
      return void process.send({ kind: 'memory', mb: process.memoryUsage().rss / 1_048_576 })
    case 'close': {
      const closedFrom = performance.now()
      await scheduler.close()
      const closed = { kind: 'closed', ms: performance.now() - closedFrom, now: clock.now() }
      return void process.send(closed, () => process.exit())
    }
  }
}

// Whoever waits for a Job when the scheduler closes is told so, and nobody wants to know.
process.on('message', (message) => void obey(message).catch(() => {}))
