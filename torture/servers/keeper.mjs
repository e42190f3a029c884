// Sees to it that nothing is left of a PostgreSQL server for tests, however the process ends that started it: it waits until
// its standard input ends, which also a killed process cannot prevent, then stops the server and removes its folder.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

const folder = process.argv[2]

// Whoever interrupts the test run interrupts us too. We are needed exactly then.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})

process.stdin.resume()
process.stdin.once('close', () => void cleanUp())

async function cleanUp() {
  for (let tries = 0; serverPid() !== null && tries < 500; tries++) {
    kill(serverPid(), tries < 200 ? 'SIGQUIT' : 'SIGKILL')
    await wait(20)
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 20 })
  process.exit()
}

/** Null: it does not run. */
function serverPid() {
  try {
    const pid = Number.parseInt(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8'), 10)
    process.kill(pid, 0)
    return pid
  } catch {
    return null
  }
}

function kill(pid, signal) {
  try {
    process.kill(pid, signal)
  } catch {
    // It ended by itself.
  }
}
