// A node under a steady load of all kinds, which tells now and then how it is. It goes on until it is told to end.
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { defineJob, openScheduler } from 'pawl'
import { postgres } from 'pawl/postgres'
import { sqlite } from 'pawl/sqlite'
import { onFaultPoint } from 'pawl/testing'

const [{ address, seed, jobsPerSecond, sampleMs, keepMs, receiver }] = await once(process, 'message')
const isFile = !address.startsWith('postgres:')

/** From the enqueue, or the instant from which it may run, to the start of its body. */
let waits = []
let ended = 0
let writes = 0
onFaultPoint((point) => {
  if (point === 'store:statement') writes++
})

const start = ({ params }) => {
  if (params?.at !== undefined) waits.push(Date.now() - params.at)
  ended++
}
const plain = defineJob({ type: 'plain', run: start })
const limited = defineJob({ type: 'limited', resources: ['press'], run: () => void ended++ })
const flaky = defineJob({
  type: 'flaky',
  retry: { maxRetries: 2, backoff: { kind: 'fixed', delayMs: 200 } },
  run: ({ attempt }) => {
    ended++
    if (attempt < 2) throw new Error('not yet')
  },
})
const lasting = defineJob({
  type: 'lasting',
  run: async ({ log, progress, signal }) => {
    ended++
    log.info('begun')
    progress(0.5)
    await delay(20, undefined, { signal })
  },
})

const scheduler = await openScheduler({
  store: isFile ? sqlite(address) : postgres(address),
  jobs: [plain, limited, flaky, lasting],
  concurrency: 8,
  resources: { press: 2 },
  webhooks: { allowPrivate: ['127.0.0.1'] },
  logger: { info() {}, warn() {}, error: (_, text) => process.send({ kind: 'complaint', text }) },
})
await scheduler.webhooks.create({ url: receiver, events: ['job.settled'], jobTypes: ['flaky'] })
await scheduler.schedules.create({ name: 'each second', type: plain, everyMs: 1_000 })
await scheduler.start()

const loop = monitorEventLoopDelay({ resolution: 10 })
loop.enable()
let used = process.cpuUsage()
let isEnding = false

function sample() {
  const sorted = waits.splice(0).toSorted((a, b) => a - b)
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  const { rss, heapUsed } = process.memoryUsage()
  const files = isFile
    ? ['', '-wal'].map((end) => statSync(`${address}${end}`, { throwIfNoEntry: false })?.size ?? 0)
    : []
  process.send({
    kind: 'sample',
    rss,
    heap: heapUsed,
    cpuMs: (process.cpuUsage(used).user + process.cpuUsage(used).system) / 1_000,
    loopMs: loop.percentile(99) / 1e6,
    p50: at(0.5),
    p99: at(0.99),
    ended,
    writes,
    bytes: files.reduce((sum, size) => sum + size, 0),
  })
  loop.reset()
  used = process.cpuUsage()
  ended = 0
  writes = 0
}

/** As random as the seed: a small generator is enough here. */
let state = seed >>> 0
const chance = () => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return state / 0x1_0000_0000
}

async function enqueueSome() {
  const draw = chance()
  const at = Date.now()
  if (draw < 0.6) await scheduler.enqueue(plain, { at }, { priority: Math.floor(chance() * 3), tags: ['soak'] })
  else if (draw < 0.72) await scheduler.enqueue(limited, null)
  else if (draw < 0.82) await scheduler.enqueue(flaky, null)
  else if (draw < 0.9) await scheduler.enqueue(lasting, null)
  else if (draw < 0.95) {
    const parent = await scheduler.enqueue(plain, null)
    await scheduler.enqueue(plain, null, { dependsOn: [parent.jobId] })
  } else if (draw < 0.98) {
    const jobs = [1, 2, 3].map(() => ({ type: plain, params: null }))
    await scheduler.groups.create({ jobs, mode: chance() < 0.5 ? 'parallel' : 'sequential' })
  } else await scheduler.runDirect(plain, null)
}

async function load() {
  const startedAt = performance.now()
  for (let made = 0; !isEnding; made++) {
    const dueMs = startedAt + (made * 1_000) / jobsPerSecond - performance.now()
    if (dueMs > 1) await delay(dueMs)
    enqueueSome().catch(failed)
  }
}

async function prune() {
  while (!isEnding) {
    await delay(Math.min(5_000, keepMs))
    if (!isEnding) await scheduler.prune({ olderThanMs: keepMs })
  }
}

/** Whoever asks for something while it closes is refused, and that is right. */
function failed(error) {
  if (isEnding && error?.code === 'closed') return
  process.send({ kind: 'complaint', text: String(error?.stack ?? error) })
}

const sampling = setInterval(sample, sampleMs)
load().catch(failed)
prune().catch(failed)
process.send({ kind: 'ready' })

async function end() {
  isEnding = true
  clearInterval(sampling)
  await scheduler.close()
  process.send({ kind: 'ended' }, () => process.exit())
}

process.on('message', ({ kind }) => {
  if (kind === 'end') end().catch(failed)
})
process.on('disconnect', () => process.exit())
