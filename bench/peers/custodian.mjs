// Keeps a folder and the Redis servers in it, and sees to it that nothing is left of them however the bench ends: when the
// bench is gone, also killed, the channel to it closes, and this process stops the servers and removes the folder.
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const folder = mkdtempSync(join(process.argv[2], 'pawl-peers-'))
const servers = []

// Whoever interrupts the bench interrupts us too. We are needed exactly then.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})
process.on('disconnect', () => void cleanUp())
process.on('message', (appendfsync) => {
  startRedis(appendfsync).then(
    (socket) => process.send({ socket }),
    (error) => process.send({ error: error.message }),
  )
})
process.send({ folder, redis: redisVersion() })

/** Null: none is installed. */
function redisVersion() {
  const { status, stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  return status === 0 ? (/v=([\d.]+)/.exec(stdout)?.[1] ?? 'of unknown version') : null
}

async function startRedis(appendfsync) {
  const own = join(folder, `redis-${appendfsync}`)
  mkdirSync(own)
  const socket = join(own, 'socket')
  const settings = {
    port: 0,
    unixsocket: socket,
    dir: own,
    save: '',
    appendonly: 'yes',
    appendfsync,
    loglevel: 'warning',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  // In a process group of its own: an interrupted bench ends it when its clients have ended, not before.
  const server = spawn('redis-server', args, { cwd: own, detached: true, stdio: ['ignore', 'ignore', 'inherit'] })
  servers.push(server)
  for (let tries = 0; tries < 500; tries++) {
    if (await answers(socket)) return socket
    if (server.exitCode !== null) break
    await sleep(20)
  }
  throw new Error(`redis-server with appendfsync ${appendfsync} did not start.`)
}

/** It listens only when it has read its data. */
function answers(socket) {
  return new Promise((resolve) => {
    const connection = connect(socket)
    connection.once('connect', () => resolve(true))
    connection.once('error', () => resolve(false))
    connection.once('connect', () => connection.destroy())
  })
}

async function cleanUp() {
  for (const server of servers) {
    if (server.exitCode !== null || server.signalCode !== null) continue
    const ended = new Promise((resolve) => server.once('exit', resolve))
    server.kill('SIGKILL')
    await ended
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 20 })
  process.exit(0)
}
