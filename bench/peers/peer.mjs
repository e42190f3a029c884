import { fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findNode24, installInto } from '../../scripts/node24.mjs'

// Peers are no dependencies of the project: they are fetched from npm when somebody compares, and need a newer Node.
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/pawl-peers', import.meta.url))

/**
 * Starts another scheduler in a process of its own, to be measured beside ours. `spec` is what npm calls it, such as
 * `pg-boss@12.30.0`. Throws if it cannot be fetched.
 */
export async function startPeer(spec, options) {
  const [name] = spec.split('@')
  const folder = join(CACHE, spec)
  const node = findNode24()
  if (node === null) throw new Error('Peers need Node 24, which could not be installed: npm said why.')
  if (!existsSync(join(folder, 'node_modules', name))) {
    console.error(`Installing ${spec} from npm into node_modules/.cache/pawl-peers (once).`)
    const ignoringEngines = ['--engine-strict=false', '--force', '--ignore-scripts']
    if (!installInto(folder, [spec], {}, ignoringEngines))
      throw new Error(`${spec} could not be installed: npm said why.`)
  }
  const script = fileURLToPath(new URL(`./${name}.mjs`, import.meta.url))
  const child = fork(script, [JSON.stringify({ folder, ...options })], { execPath: node, execArgv: [] })
  const peer = new Peer(child)
  peer.version = await peer.ask('version')
  return peer
}

class Peer {
  version = ''
  #child

  constructor(child) {
    this.#child = child
  }

  /** Does one thing that the peer's script knows, and returns what came of it. */
  ask(what, ...values) {
    return new Promise((resolve, reject) => {
      const gone = (code) => reject(new Error(`The process of a peer ended with ${code}.`))
      this.#child.once('exit', gone)
      this.#child.once('message', ({ answer, error }) => {
        this.#child.off('exit', gone)
        if (error === undefined) resolve(answer)
        else reject(new Error(error))
      })
      this.#child.send({ what, values })
    })
  }

  async stop() {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.disconnect()
    await ended
  }
}
