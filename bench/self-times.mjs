import { Session } from 'node:inspector/promises'

const TOP = 40

/** Does the work while the profiler of V8 looks on, and prints which functions took how much of it. */
export async function printSelfTimesOf(jobs, work) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 200 })
  await session.post('Profiler.start')
  await work()
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  printSelfTimes(profile, jobs)
}

function printSelfTimes({ nodes, samples, timeDeltas }, jobs) {
  const frames = new Map(nodes.map((node) => [node.id, frameOf(node.callFrame)]))
  const times = new Map()
  let total = 0
  samples.forEach((id, index) => {
    const frame = frames.get(id)
    times.set(frame, (times.get(frame) ?? 0) + timeDeltas[index])
    total += timeDeltas[index]
  })
  for (const [frame, time] of top(times)) {
    console.log(
      `${((time / total) * 100).toFixed(1).padStart(5)} %  ${(time / jobs).toFixed(2).padStart(6)} µs/job  ${frame}`,
    )
  }
}

function frameOf({ functionName, url, lineNumber }) {
  const place = url.replace(/^.*\/(dist|bench|node_modules)\//, '$1/')
  return `${functionName || '(anonymous)'}${place === '' ? '' : `  ${place}:${lineNumber + 1}`}`
}

export function top(times) {
  return [...times].toSorted((a, b) => b[1] - a[1]).slice(0, TOP)
}
