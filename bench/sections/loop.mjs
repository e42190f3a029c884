import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { line, median, milliseconds } from '../figures.mjs'
import { Floor } from '../floor.mjs'
import { drainPortion, fill, inFolder, Noop, openPawl } from '../stage.mjs'

const CONCURRENCY = 100

/** How long other work of the process waits for the event loop while it drains. */
export async function loop({ folder: parent, scale }) {
  const { jobs, portions } = scale.loop
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
    const ratios = ours.map(({ p99 }, portion) => reference[portion].p99 / p99)
    return [
      line({
        name: `event-loop delay while draining, concurrency ${CONCURRENCY}, p99`,
        ours: `${milliseconds(median(ours.map(({ p99 }) => p99)))} (max ${milliseconds(Math.max(...ours.map(({ max }) => max)))})`,
        reference: `${milliseconds(median(reference.map(({ p99 }) => p99)))} floor, one batch per turn`,
        ratio: median(ratios),
        spread: [Math.min(...ratios), Math.max(...ratios)],
      }),
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
