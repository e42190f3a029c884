// `node bench/profile.mjs [drain|enqueue] [jobs]`: where the time goes, by function and by SQL statement. Build first.
import { Session } from 'node:inspector/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkpoint, openPlain } from './driver.mjs'
import { enqueueConcurrently } from './sections/enqueue.mjs'
import { drainPortion, fill, inFolder, Noop, openPawl } from './stage.mjs'

const TOP = 40

const [what = 'drain', jobsText = '50000'] = process.argv.slice(2)
const jobs = Number(jobsText)
const works = { drain: prepareDrain, enqueue: prepareEnqueue }
if (!(what in works) || !Number.isInteger(jobs)) {
  console.error('Usage: node bench/profile.mjs [drain|enqueue] [jobs]')
  process.exit(2)
}

await inFolder(tmpdir(), profileFunctions)
await inFolder(tmpdir(), profileStatements)

async function prepareDrain(folder, options) {
  const noop = new Noop()
  const filling = await openPawl(folder, [noop.type])
  await fill(filling, noop.type, jobs * 1.5)
  await filling.close()
  checkpoint(join(folder, 'pawl.db'))
  const scheduler = await openPawl(folder, [noop.type], { concurrency: 100, ...options })
  await drainPortion(scheduler, noop, jobs / 4)
  return { scheduler, run: () => drainPortion(scheduler, noop, jobs) }
}

async function prepareEnqueue(folder, options) {
  const { type } = new Noop()
  const scheduler = await openPawl(folder, [type], options)
  await enqueueConcurrently(scheduler, type, jobs / 4)
  return { scheduler, run: () => enqueueConcurrently(scheduler, type, jobs) }
}

async function profileFunctions(folder) {
  const { scheduler, run } = await works[what](folder)
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 200 })
  await session.post('Profiler.start')
  const startedAt = performance.now()
  await run()
  const ms = performance.now() - startedAt
  const { profile } = await session.post('Profiler.stop')
  session.disconnect()
  await scheduler.close()
  console.log(`${what} of ${jobs} jobs: ${((ms / jobs) * 1_000).toFixed(1)} µs per job. Self time by function:\n`)
  printSelfTimes(profile)
}

function printSelfTimes({ nodes, samples, timeDeltas }) {
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

async function profileStatements(folder) {
  const times = new Map()
  const { scheduler, run } = await works[what](folder, { driver: timedDriver(times) })
  times.clear()
  const startedAt = performance.now()
  await run()
  const ms = performance.now() - startedAt
  const inSql = [...times.values()].reduce((sum, entry) => sum + entry.ms, 0)
  console.log(
    `\nBy SQL statement (${((inSql / jobs) * 1_000).toFixed(1)} of ${((ms / jobs) * 1_000).toFixed(1)} µs per job, with the cost of measuring):\n`,
  )
  const perStatement = new Map([...times].map(([sql, entry]) => [sql, entry.ms]))
  for (const [sql, spent] of top(perStatement)) {
    const { calls } = times.get(sql)
    const numbers = [
      `${((spent / jobs) * 1_000).toFixed(2).padStart(6)} µs/job`,
      `${((spent / calls) * 1_000).toFixed(2).padStart(8)} µs each`,
      `${String(calls).padStart(7)} calls`,
    ]
    console.log(`${numbers.join('  ')}  ${sql.trim().replaceAll(/\s+/g, ' ').slice(0, 100)}`)
  }
  await scheduler.close()
}

/** A driver that measures each call and hands it on to the usual one. */
function timedDriver(times) {
  const timed = (key, work) => {
    const startedAt = performance.now()
    try {
      return work()
    } finally {
      const entry = times.get(key) ?? { ms: 0, calls: 0 }
      entry.ms += performance.now() - startedAt
      entry.calls++
      times.set(key, entry)
    }
  }
  return class TimedDatabase {
    #database

    constructor(path) {
      this.#database = openPlain(path)
    }

    exec(sql) {
      return timed(sql, () => this.#database.exec(sql))
    }

    prepare(sql) {
      const statement = this.#database.prepare(sql)
      return {
        run: (...values) => timed(sql, () => statement.run(...values)),
        get: (...values) => timed(sql, () => statement.get(...values)),
        all: (...values) => timed(sql, () => statement.all(...values)),
      }
    }

    close() {
      this.#database.close()
    }
  }
}

function top(times) {
  return [...times].toSorted((a, b) => b[1] - a[1]).slice(0, TOP)
}
