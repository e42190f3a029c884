import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { startPeer } from './peer.mjs'
import { REDIS_MISSING, withServers } from './servers.mjs'
import { FAMILIES } from './systems.mjs'

/** All systems that can be measured here, with the servers that they need, for the time of the work. */
export function withFleet(parent, work) {
  return withServers(parent, (servers) => work(new Fleet(servers)))
}

class Fleet {
  /** By the id of a system: what was measured to be its best, see tuning.mjs. */
  chosen = {}
  /** By the id of a system: its version and that of its Node. */
  about = {}
  servers

  constructor(servers) {
    this.servers = servers
  }

  /** Null: it can be measured. Else why not. */
  whyLeftOut({ redis }) {
    return redis !== undefined && this.servers.redis === null ? REDIS_MISSING : null
  }

  /** Those of a family that can be measured, ours first. */
  present(family) {
    return FAMILIES[family].filter((system) => this.whyLeftOut(system) === null)
  }

  /** What a system's script needs to know. Each `store` is empty at first and belongs to this system alone. */
  optionsFor(system, store) {
    const { folder, sockets, url } = this.servers
    const files = join(folder, system.id)
    mkdirSync(files, { recursive: true })
    const name = `${store}_${system.id.replaceAll('-', '_')}`
    return { store: name, files, url, socket: sockets[system.redis] ?? null, synchronous: system.synchronous ?? null }
  }

  /** The processes of a family, each with an empty store, for the time of the work. By the id of the system. */
  withCrew(family, store, work) {
    return this.#withPeers(
      this.present(family).map((system) => ({ key: system.id, system, store })),
      work,
    )
  }

  /** Processes of one system, each with an empty store of its own, for the time of the work. By the name of the store. */
  withStores(system, stores, work) {
    return this.#withPeers(
      stores.map((store) => ({ key: store, system, store })),
      work,
    )
  }

  async #withPeers(wanted, work) {
    const peers = {}
    try {
      const starting = wanted.map(async ({ key, system, store }) => {
        peers[key] = await startPeer(system, this.optionsFor(system, store))
        this.about[system.id] = peers[key].about
      })
      const refused = (await Promise.allSettled(starting)).find(({ status }) => status === 'rejected')
      if (refused !== undefined) throw refused.reason
      // In the order in which they are wanted, not in that in which they were ready.
      return await work(Object.fromEntries(wanted.map(({ key }) => [key, peers[key]])))
    } finally {
      await Promise.all(Object.values(peers).map((peer) => peer.stop()))
    }
  }
}
