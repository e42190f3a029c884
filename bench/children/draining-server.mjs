// Executes no-op Jobs of a full queue as fast as it can and serves HTTP from the same process. Tells its port and one of the
// Jobs; asked once, it begins, and tells how long its event loop was kept waiting when all are done.
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { serveHttp } from 'pawl/http'
import { openAt } from '../place.mjs'
import { drainPortion, fill, Noop } from '../stage.mjs'

const [place, jobs] = [JSON.parse(process.argv[2]), Number(process.argv[3])]
const noop = new Noop()
const scheduler = await openAt(place, [noop.type], { concurrency: 100 })
const { jobId } = await scheduler.enqueue(noop.type, { n: 1 })
await fill(scheduler, noop.type, jobs)
const server = await serveHttp(scheduler, { port: 0 })
process.send({ port: server.port, jobId })
await once(process, 'message')
const monitor = monitorEventLoopDelay({ resolution: 1 })
monitor.enable()
await drainPortion(scheduler, noop, jobs)
monitor.disable()
process.send({ p99: monitor.percentile(99) / 1e6, max: monitor.max / 1e6 })
process.once('disconnect', () => void server.close().then(() => scheduler.close()))
