import { Agent } from 'node:http'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { line, median, milliseconds, percentile, withinTime } from '../figures.mjs'
import { Floor } from '../floor.mjs'
import { askChild, endChild, startChild } from '../processes.mjs'
import { drainPortion, fill, inFolder, Noop, openPawl } from '../stage.mjs'
import { timeOf } from './http-reads.mjs'

const CONCURRENCY = 100
const LOOP_P99_MS = 20
const HTTP_P99_MS = 50
/** Requests that wait for their answers at the same time. */
const CALLERS = 4

/** How long other work of the process waits for the event loop while it drains. */
export async function loop({ folder, scale }) {
  return [
    ...(await besideFloor(folder, scale.loop)),
    ...(await inFolder(folder, (own) => whileServing({ folder: own }, scale.loop.servedJobs))),
  ]
}

/** A process that executes as fast as it can, and serves HTTP at the same time. */
export async function whileServing(place, jobs) {
  const server = await startChild('draining-server', JSON.stringify(place), String(jobs))
  const { jobId } = server.told
  const target = { server, agent: new Agent({ keepAlive: true }) }
  const paths = [`/api/jobs/${jobId}`, '/api/jobs', '/api/scheduler/status']
  for (const path of paths) await timeOf(target, path)
  const times = []
  let isDone = false
  const draining = askChild(server).finally(() => {
    isDone = true
  })
  const call = async () => {
    for (let n = 0; !isDone; n++) times.push(await timeOf(target, paths[n % paths.length]))
  }
  const [delay] = await Promise.all([draining, ...Array.from({ length: CALLERS }, call)])
  target.agent.destroy()
  await endChild(server)
  const during = 'while draining at full speed and serving HTTP'
  return [
    withinTime({
      name: `event-loop delay ${during}, p99`,
      ours: `${milliseconds(delay.p99)} (max ${milliseconds(delay.max)})`,
      ms: delay.p99,
      allowedMs: LOOP_P99_MS,
    }),
    withinTime({
      name: `HTTP reads ${during}, p99`,
      ours: `${milliseconds(percentile(times, 99))} (of ${times.length})`,
      ms: percentile(times, 99),
      allowedMs: HTTP_P99_MS,
    }),
  ]
}

async function besideFloor(parent, { jobs, portions }) {
  return inFolder(parent, async (folder) => {
    const noop = new Noop()
    const scheduler = await openPawl(folder, [noop.type], { concurrency: CONCURRENCY })
    await fill(scheduler, noop.type, (jobs + 2 * CONCURRENCY) * (portions + 1))
    const floor = new Floor(join(folder, 'floor.db'))
    floor.prepareIds(jobs * (portions + 1) * 2)
    floor.insert(jobs * (portions + 1), 500)
    const ours = []
    const reference = []
    for (let portion = 0; portion <= portions; portion++) {
      const oursDelay = await delayDuring(() => drainPortion(scheduler, noop, jobs))
      const floorDelay = await delayDuring(() => drainInTurns(floor, jobs))
      if (portion === 0) continue
      ours.push(oursDelay)
      reference.push(floorDelay)
    }
    await scheduler.close()
    floor.close()
    const p99 = median(ours.map(({ p99: one }) => one))
    const ratios = ours.map((one, portion) => reference[portion].p99 / one.p99)
    return [
      line({
        name: `event-loop delay while draining, concurrency ${CONCURRENCY}, p99`,
        ours: `${milliseconds(p99)} (max ${milliseconds(Math.max(...ours.map(({ max }) => max)))})`,
        reference: `${milliseconds(median(reference.map(({ p99 }) => p99)))} floor, one batch per turn`,
        ratio: median(ratios),
        spread: [Math.min(...ratios), Math.max(...ratios)],
      }),
      withinTime({ name: 'event-loop delay while draining at full speed, p99', ms: p99, allowedMs: LOOP_P99_MS }),
    ]
  })
}

async function delayDuring(work) {
  const monitor = monitorEventLoopDelay({ resolution: 1 })
  monitor.enable()
  await work()
  monitor.disable()
  return { p99: monitor.percentile(99) / 1e6, max: monitor.max / 1e6 }
}

async function drainInTurns(floor, jobs) {
  let held = floor.claim(CONCURRENCY)
  for (let done = CONCURRENCY; done < jobs; done += CONCURRENCY) {
    await new Promise((resolve) => setImmediate(resolve))
    held = floor.finishAndClaim(held, CONCURRENCY)
  }
  floor.finish(held)
}
