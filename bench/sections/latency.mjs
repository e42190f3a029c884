import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob } from 'pawl'
import { compareTimes, milliseconds, percentile, withinTime } from '../figures.mjs'
import { Floor } from '../floor.mjs'
import { openAt } from '../place.mjs'
import { endChild, nextFrom, startChild } from '../processes.mjs'
import { inFolder, Noop } from '../stage.mjs'

const ACROSS_PROCESSES_MS = 100
const SAME_PROCESS_P99_MS = 5
/** At most twice as long as the floor. */
const SAME_PROCESS_AT_LEAST = 0.5

/** From the call of `enqueue` to the first line of the handler, on an idle scheduler. */
export async function latency({ folder: parent, scale }) {
  const { samples, acrossSamples } = scale.latency
  return [
    ...(await inFolder(parent, (folder) =>
      inOneProcess({ folder }, () => new Floor(join(folder, 'floor.db')), samples),
    )),
    ...(await inFolder(parent, (folder) => acrossProcesses({ folder }, acrossSamples, ACROSS_PROCESSES_MS))),
  ]
}

export async function inOneProcess(place, openFloor, samples) {
  const noop = new Noop()
  const scheduler = await openAt(place, [noop.type])
  await scheduler.start()
  const floor = await openFloor()
  const oursMs = []
  const referenceMs = []
  const warmUp = Math.ceil(samples / 5)
  for (let sample = 0; sample < samples + warmUp; sample++) {
    const ours = await sampleOurs(scheduler, noop)
    const reference = await sampleFloor(floor)
    if (sample < warmUp) continue
    oursMs.push(ours)
    referenceMs.push(reference)
  }
  await scheduler.close()
  await floor.close()
  const about = { oursMs, referenceMs, referenceName: 'floor, insert and claim' }
  const name = 'enqueue to start, same process'
  return [
    compareTimes({ name: `${name}, p50`, ...about, percent: 50, atLeast: SAME_PROCESS_AT_LEAST }),
    compareTimes({ name: `${name}, p99`, ...about, percent: 99 }),
    withinTime({ name: `${name}, p99`, ms: percentile(oursMs, 99), allowedMs: SAME_PROCESS_P99_MS }),
  ]
}

async function sampleOurs(scheduler, noop) {
  const begun = noop.whenNext()
  const calledAt = performance.now()
  const job = await scheduler.enqueue(noop.type, { n: 1 })
  const ms = (await begun) - calledAt
  await job.settled()
  await sleep(1)
  return ms
}

async function sampleFloor(floor) {
  floor.prepareIds(2)
  const calledAt = performance.now()
  await floor.insert(1, 1)
  const held = await floor.claim(1)
  const ms = performance.now() - calledAt
  await floor.finish(held)
  return ms
}

export async function acrossProcesses(place, samples, allowedMs) {
  // This process only accepts; it knows the type without executing it.
  const type = defineJob({ type: 'noop', run: () => {} })
  const scheduler = await openAt(place, [type])
  const worker = await startChild('worker', JSON.stringify(place))
  const times = []
  // Both processes have just started: the first calls open connections and prepare statements. Starting is a figure of its own.
  const warmUp = Math.ceil(samples / 5)
  for (let sample = 0; sample < samples + warmUp; sample++) {
    const begun = nextFrom(worker)
    const calledAt = process.hrtime.bigint()
    await scheduler.enqueue(type, { n: sample })
    const ms = Number(BigInt(await begun) - calledAt) / 1e6
    if (sample >= warmUp) times.push(ms)
    // Keeps the calls out of step with the worker's looks at the store.
    await sleep(Math.random() * 60)
  }
  await endChild(worker)
  await scheduler.close()
  const ms = percentile(times, 99)
  return [
    withinTime({
      name: 'enqueue to start, from another process, p99',
      ours: `${milliseconds(ms)} (p50 ${milliseconds(percentile(times, 50))})`,
      ms,
      allowedMs,
    }),
  ]
}
