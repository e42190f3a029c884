// `npm start`: `pawl serve` with the configuration of the demo, something to see, and what to try next.
//   npm start -- --port 5000          another port (or PORT=5000 npm start)
//   npm start -- --folder /tmp/demo   another folder for the database
import { mkdirSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createClient } from 'pawl/client'
import { processIo } from '../dist/cli/io.js'
import { escapeLine } from '../dist/cli/output/escape.js'
import { runCli } from '../dist/cli/run-cli.js'
import { startReceiver } from './receiver.mjs'
import { seed } from './seed.mjs'
import { tryNext } from './try-next.mjs'

const { values } = parseArgs({ options: { port: { type: 'string' }, folder: { type: 'string' } } })
const port = values.port ?? process.env.PORT ?? '4747'
const folder = resolve(values.folder ?? fileURLToPath(new URL('../.pawl-demo', import.meta.url)))
const apiKey = process.env.PAWL_API_KEY || undefined
const config = fileURLToPath(new URL('./pawl.config.mjs', import.meta.url))

mkdirSync(folder, { recursive: true })

const io = processIo()
if (process.env.npm_lifecycle_event === 'start') endWithShell()
let isPortTaken = false
const stderr = listening(io.stderr, (text) => {
  isPortTaken ||= text.includes('is in use already')
})
let becomeReady
const ready = new Promise((resolve) => {
  becomeReady = resolve
})
const stdout = listening(io.stdout, (text) => {
  const url = /^Pawl is ready at (\S+)/m.exec(text)?.[1]
  if (url !== undefined) becomeReady(url)
})

const store = `sqlite:${shown(join(folder, 'pawl.db'))}`
const ended = runCli(['serve', '--config', config, '--store', store, '--port', port], { ...io, stdout, stderr })
const url = await Promise.race([ready, ended.then(() => null)])
if (url === null) {
  if (isPortTaken) {
    console.error('Choose another port: PORT=4750 npm start, or npm start -- --port 4750')
  }
} else {
  try {
    const receiver = await startReceiver(tellMessage)
    const client = createClient({ server: url, apiKey })
    console.log(tryNext({ url, needsKey: apiKey !== undefined }, await seed(client, receiver)))
    console.log('What the webhook receives:')
  } catch (error) {
    console.error(`The demo could not be set up: ${error.message}`)
    if (error.status === 401 || error.status === 403) {
      console.error(`Give an admin key of this demo as PAWL_API_KEY, or begin anew: remove the folder ${shown(folder)}`)
    }
  }
}
process.exit(await ended)

/** npm hands signals to its shell, and the shell to nobody: when the shell is gone, somebody wanted us to end. */
function endWithShell() {
  const shell = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === shell && !io.interrupted.aborted) return
    clearInterval(timer)
    // After a Ctrl-C, which reaches all of us, this would be the second signal.
    if (!io.interrupted.aborted) process.kill(process.pid, 'SIGTERM')
  }, 200)
}

function shown(path) {
  return relative(process.cwd(), path)
}

function tellMessage({ job, event }) {
  const name = job.name === null ? '' : ` "${job.name}"`
  console.log(
    escapeLine(`  ${event}: ${job.job_type}${name} ${job.outcome ?? job.status} after ${attempts(job.attempt)}`),
  )
}

function attempts(count) {
  return count === 1 ? '1 attempt' : `${count} attempts`
}

/** The same output, and somebody who reads along. */
function listening(output, heard) {
  return {
    get isTTY() {
      return output.isTTY
    },
    get columns() {
      return output.columns
    },
    get rows() {
      return output.rows
    },
    write(text) {
      output.write(text)
      heard(text)
    },
  }
}
