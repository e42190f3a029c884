// plainjob on a SQLite file, through node:sqlite in the shape of better-sqlite3, which has to be compiled: so both Pawl and
// it use one and the same SQLite, and that is as fast.
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { importPeer, options, versionOfPeer } from './answering.mjs'
import { serve } from './serving.mjs'

const { defineQueue, defineWorker, JobStatus } = await importPeer('plainjob')
const silent = { error: console.error, warn: console.error, info: () => {}, debug: () => {} }
const path = join(options.files, `${options.store}.db`)
const connection = connect(path)
const queue = defineQueue({ connection, logger: silent })
// It sets NORMAL itself.
connection.pragma(`synchronous = ${options.synchronous}`)

function connect(filename) {
  const database = new DatabaseSync(filename)
  return {
    driver: 'better-sqlite3',
    filename,
    pragma: (text) => database.exec(`pragma ${text}`),
    exec: (text) => database.exec(text),
    prepare: (text) => database.prepare(text),
    transaction: transactionsOf(database),
    close: () => database.close(),
  }
}

function transactionsOf(database) {
  const [begin, commit, rollback] = ['begin', 'commit', 'rollback'].map((verb) => database.prepare(verb))
  const beginImmediate = database.prepare('begin immediate')
  const within =
    (begun, work) =>
    (...values) => {
      begun.run()
      try {
        const result = work(...values)
        commit.run()
        return result
      } catch (error) {
        rollback.run()
        throw error
      }
    }
  return (work) => Object.assign(within(begin, work), { immediate: within(beginImmediate, work) })
}

const jobs = {
  enqueue: async (n) => queue.add('noop', { n }),
  enqueueList: async (ns) =>
    queue.addMany(
      'noop',
      ns.map((n) => ({ n })),
    ),
}

async function work({ workers }, body) {
  const started = Array.from({ length: workers }, () =>
    defineWorker('noop', () => body(), { queue, logger: silent, pollIntervall: 1 }),
  )
  const ended = started.map((worker) => worker.start())
  return async () => {
    await Promise.all(started.map((worker) => worker.stop()))
    await Promise.all(ended)
  }
}

const remaining = () =>
  queue.countJobs({ status: JobStatus.Pending }) + queue.countJobs({ status: JobStatus.Processing })

await serve({ version: versionOfPeer('plainjob'), producer: () => jobs, work, remaining })
