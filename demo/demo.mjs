// `npm start`: a quarter of a minute in the life of a scheduler. Give it a folder to keep its database elsewhere.
import { mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openScheduler } from 'pawl'
import { sqlite } from 'pawl/sqlite'
import { epilogue } from './epilogue.mjs'
import { jobs } from './job-types.mjs'
import { LiveView } from './live-view.mjs'
import { Play } from './play.mjs'
import { bold, dim, red, yellow } from './terminal.mjs'

const folder = resolve(process.argv[2] ?? fileURLToPath(new URL('../.pawl-demo', import.meta.url)))
const database = join(folder, 'pawl.db')
const nearby = relative(process.cwd(), database)
const shown = nearby.startsWith('..') ? database : nearby

const view = new LiveView()
let scheduler
let play

let isLeaving = false

/** Whatever happens, no process stays and the cursor comes back. Returns never. */
async function leave(exitCode, lastWord) {
  // What fails from now on does so because we leave.
  if (isLeaving) return new Promise(() => {})
  isLeaving = true
  lastWord?.()
  view.stop()
  play?.stop()
  await scheduler?.close()
  process.exit(exitCode)
}

function interrupted(exitCode) {
  const text = `Interrupted. What was running is aborted; its retries wait in ${shown}.`
  return leave(exitCode, () => view.line(yellow('!'), text))
}

function failed(error) {
  return leave(1, () => view.text(`${red('!')} ${error.stack}`))
}

process.on('SIGINT', () => interrupted(130))
process.on('SIGTERM', () => interrupted(143))
process.on('unhandledRejection', failed)
// Whoever read our output is gone.
process.stdout.on('error', () => leave(0))

/** Begins with an empty database, and touches nothing else in the folder. */
function clear() {
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(folder)) {
    if (name.startsWith('pawl.db')) rmSync(join(folder, name), { recursive: true })
  }
}

try {
  clear()
  scheduler = await openScheduler({
    store: sqlite(database),
    jobs,
    concurrency: 4,
    resources: { model: 1 },
    shutdownTimeoutMs: 0,
    name: 'demo',
    logger: {
      info() {},
      warn() {},
      error: (fields, message) => view.line(red('!'), `${message}: ${fields.error?.message}`),
    },
  })
  view.text(`\n  ${bold('Pawl')}  a job, once accepted, only moves forward.  ${dim(`Database: ${shown}`)}\n`)
  view.start()
  play = new Play(scheduler, view, database)
  await play.perform()
  view.stop()
  view.text(await epilogue(scheduler, shown, (nodeId) => play.nameOf(nodeId)))
  await leave(0)
} catch (error) {
  await failed(error)
}
