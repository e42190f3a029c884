import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNode24, installInto } from '../../scripts/node24.mjs'

// Peers are no dependencies of the project: they are fetched from npm when somebody compares, and need a newer Node.
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/pawl-peers', import.meta.url))

/**
 * Starts a scheduler in a process of its own, to be measured beside others. `packages` are what npm calls them, such as
 * `pg-boss@12.35.0`, the scheduler first; none for Pawl itself. Throws if they cannot be fetched.
 */
export async function startPeer(system, options) {
  const peer = new Peer(forkSystem(system, options))
  peer.about = await peer.ask('about')
  return peer
}

/** From the start of its process to the first line of its first job, in milliseconds. */
export async function timeFirstJob(system, options) {
  const startedAt = process.hrtime.bigint()
  const peer = new Peer(forkSystem(system, { ...options, tellsFirstJob: true }))
  const begunAt = await peer.next()
  await peer.stop()
  return Number(BigInt(begunAt) - startedAt) / 1e6
}

function forkSystem({ script, packages }, options) {
  const path = fileURLToPath(new URL(`./${script}.mjs`, import.meta.url))
  const folder = packages.length === 0 ? null : installPeer(packages)
  return fork(path, [JSON.stringify({ ...options, folder })], { execPath: nodeForPeers(), execArgv: [] })
}

let node24 = null

function nodeForPeers() {
  node24 ??= findNode24()
  if (node24 === null) throw new Error('Peers need Node 24, which could not be installed: npm said why.')
  return node24
}

/** Returns the folder that they are in. */
function installPeer(packages) {
  const [spec] = packages
  const folder = join(CACHE, spec)
  if (existsSync(join(folder, 'node_modules', spec.split('@')[0]))) return folder
  console.error(`Installing ${spec} from npm into node_modules/.cache/pawl-peers (once).`)
  const ignoringEngines = ['--engine-strict=false', '--force', '--ignore-scripts']
  if (!installInto(folder, packages, {}, ignoringEngines))
    throw new Error(`${spec} could not be installed: npm said why.`)
  return folder
}

class Peer {
  about = null
  #child

  constructor(child) {
    this.#child = child
  }

  /** Does one thing that the peer's script knows, and returns what came of it. */
  ask(what, ...values) {
    const answered = this.next()
    this.#child.send({ what, values })
    return answered
  }

  /** The next thing that it says. */
  next() {
    return new Promise((resolve, reject) => {
      const gone = (code) => reject(new Error(`The process of a peer ended with ${code}.`))
      this.#child.once('exit', gone)
      this.#child.once('message', ({ answer, error }) => {
        this.#child.off('exit', gone)
        if (error === undefined) resolve(answer)
        else reject(new Error(error))
      })
    })
  }

  async stop() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    if (this.#child.connected) this.#child.disconnect()
    await ended
  }
}
