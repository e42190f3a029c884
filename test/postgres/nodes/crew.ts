import { expect, vi } from 'vitest'
import { sharedNow } from '../../../torture/outside/record.ts'
import type { Exit, Script } from '../../recovery/processes.ts'
import { LONG_PATIENCE, type NodeOptions, type Stage } from './stage.ts'

interface Member {
  readonly name: string
  readonly node: Script
}

/** Nodes of which one is killed now and then, and another one started in its place. */
export class Crew {
  readonly #stage: Stage
  readonly #options: NodeOptions
  readonly #all: Member[] = []
  readonly #alive = new Map<string, Member>()
  #started = 0

  constructor(stage: Stage, options: NodeOptions) {
    this.#stage = stage
    this.#options = options
  }

  async start(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.#startOne()))
  }

  async #startOne(): Promise<void> {
    const name = `node-${++this.#started}`
    const member = { name, node: await this.#stage.startNode(name, this.#options) }
    this.#all.push(member)
    this.#alive.set(name, member)
  }

  /** Kills a node in the middle of its work, without any warning, and starts a new one. `choose` says which. */
  async replaceOne(choose: (names: readonly string[]) => string): Promise<void> {
    const names = await vi.waitFor(async () => {
      const rows = await this.#stage.select<{ name: string }>(SELECT_BUSY)
      const busy = rows.map(({ name }) => name).filter((name) => this.#alive.has(name))
      expect(busy).not.toEqual([])
      return busy
    }, LONG_PATIENCE)
    const { name, node } = this.#alive.get(choose(names)) as Member
    this.#alive.delete(name)
    const at = sharedNow()
    node.kill('SIGKILL')
    await node.exited
    await this.#stage.recorder.write({ is: 'killed', node: name, at })
    await this.#startOne()
  }

  /** Of those that live. */
  get names(): string[] {
    return [...this.#alive.keys()]
  }

  /** Asks all to end in good order. */
  async close(): Promise<Exit[]> {
    const nodes = [...this.#alive.values()].map(({ node }) => node)
    for (const node of nodes) node.kill('SIGTERM')
    return await Promise.all(nodes.map((node) => node.exited))
  }

  /** What any of them told with this key. */
  told(key: string): unknown[] {
    return this.#all.flatMap(({ node }) => node.told.flatMap((what) => (what[key] === undefined ? [] : [what[key]])))
  }
}

const SELECT_BUSY = `
select distinct n.name
from pawl.occupancies o
join pawl.nodes n using (node_seq)
order by n.name`
