// `node bench/profile.mjs [drain|enqueue] [jobs] [at once]`: where the time goes, by function and by SQL statement. Build first.
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkpoint, openPlain } from './driver.mjs'
import { enqueueConcurrently } from './sections/enqueue.mjs'
import { printSelfTimesOf, top } from './self-times.mjs'
import { drainPortion, fill, inFolder, Noop, openPawl } from './stage.mjs'

const [what = 'drain', jobsText = '50000', atOnceText = '100'] = process.argv.slice(2)
const jobs = Number(jobsText)
const atOnce = Number(atOnceText)
const works = { drain: prepareDrain, enqueue: prepareEnqueue }
if (!(what in works) || !Number.isInteger(jobs) || !Number.isInteger(atOnce)) {
  console.error('Usage: node bench/profile.mjs [drain|enqueue] [jobs] [at once]')
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
  const scheduler = await openPawl(folder, [noop.type], { concurrency: atOnce, ...options })
  await drainPortion(scheduler, noop, jobs / 4)
  return { scheduler, run: () => drainPortion(scheduler, noop, jobs) }
}

async function prepareEnqueue(folder, options) {
  const { type } = new Noop()
  const scheduler = await openPawl(folder, [type], options)
  await enqueueConcurrently(scheduler, type, jobs / 4, atOnce)
  return { scheduler, run: () => enqueueConcurrently(scheduler, type, jobs, atOnce) }
}

async function profileFunctions(folder) {
  const { scheduler, run } = await works[what](folder)
  console.log(`${what} of ${jobs} jobs. Self time by function:\n`)
  const startedAt = performance.now()
  await printSelfTimesOf(jobs, run)
  const ms = performance.now() - startedAt
  await scheduler.close()
  console.log(`\n${((ms / jobs) * 1_000).toFixed(1)} µs per job, with the cost of measuring.`)
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
