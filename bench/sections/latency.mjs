import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { defineJob } from 'pawl'
import { compareTimes, line, milliseconds, percentile } from '../figures.mjs'
import { Floor } from '../floor.mjs'
import { inFolder, Noop, openPawl } from '../stage.mjs'

/** What design.md promises for a Job that another process enqueued. */
const ACROSS_PROCESSES_MS = 100

/** From the call of `enqueue` to the first line of the handler, on an idle scheduler. */
export async function latency({ folder, scale }) {
  const { samples, acrossSamples } = scale.latency
  return [
    ...(await inFolder(folder, (own) => inOneProcess(own, samples))),
    ...(await inFolder(folder, (own) => acrossProcesses(own, acrossSamples))),
  ]
}

async function inOneProcess(folder, samples) {
  const noop = new Noop()
  const scheduler = await openPawl(folder, [noop.type])
  await scheduler.start()
  const floor = new Floor(join(folder, 'floor.db'))
  const oursMs = []
  const referenceMs = []
  const warmUp = Math.ceil(samples / 5)
  for (let sample = 0; sample < samples + warmUp; sample++) {
    const ours = await sampleOurs(scheduler, noop)
    const reference = sampleFloor(floor)
    if (sample < warmUp) continue
    oursMs.push(ours)
    referenceMs.push(reference)
  }
  await scheduler.close()
  floor.close()
  const about = { oursMs, referenceMs, referenceName: 'floor, insert and claim' }
  return [
    compareTimes({ name: 'enqueue to start, same process, p50', ...about, percent: 50 }),
    compareTimes({ name: 'enqueue to start, same process, p99', ...about, percent: 99 }),
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

function sampleFloor(floor) {
  floor.prepareIds(2)
  const calledAt = performance.now()
  floor.insert(1, 1)
  const held = floor.claim(1)
  const ms = performance.now() - calledAt
  floor.finish(held)
  return ms
}

async function acrossProcesses(folder, samples) {
  // This process only accepts; it knows the type without executing it.
  const type = defineJob({ type: 'noop', run: () => {} })
  const scheduler = await openPawl(folder, [type])
  const worker = fork(new URL('../children/worker.mjs', import.meta.url), [folder])
  await once(worker, 'message')
  const ms = []
  for (let sample = 0; sample < samples; sample++) {
    const begun = once(worker, 'message')
    const calledAt = process.hrtime.bigint()
    await scheduler.enqueue(type, { n: sample })
    const [begunAt] = await begun
    ms.push(Number(BigInt(begunAt) - calledAt) / 1e6)
    // Keeps the calls out of step with the worker's looks at the file.
    await sleep(Math.random() * 60)
  }
  worker.disconnect()
  await once(worker, 'exit')
  await scheduler.close()
  const p99 = percentile(ms, 99)
  return [
    line({
      name: 'enqueue to start, from another process, p99',
      ours: `${milliseconds(p99)} (p50 ${milliseconds(percentile(ms, 50))})`,
      reference: `${ACROSS_PROCESSES_MS} ms promised`,
      ratio: ACROSS_PROCESSES_MS / p99,
      needs: { kind: 'at-least', value: 1 },
    }),
  ]
}
