import { Chance } from '../chance.ts'
import { type Counts, countsOf } from '../outside/counts.ts'
import { makeActs, SMALL } from '../outside/make-acts.ts'
import { Scene } from '../outside/scene.ts'
import { endWithin, type Script, until } from '../outside/script.ts'
import type { Act } from '../outside/workload.ts'
import { type Fate, fateOfClient, fateOfNode } from './fates.ts'
import type { KillPlace } from './kill-place.ts'

export interface KillRoundOptions {
  readonly seed: number
  readonly kills: number
  readonly places: KillPlace
  readonly signal: AbortSignal
  readonly killed: () => void
}

const CONCURRENCY = 4
const EVERY_MS = 20
/** One that does not come to the point at which it is to die is killed all the same. */
const LIFE_MAX_MS = 2_500
/** Long enough for a lost lease on PostgreSQL, and for messages that were refused once. */
const DRAIN_WITHIN_MS = 90_000
const START_WITHIN_MS = 60_000
const CLOSE_WITHIN_MS = 40_000

/** Processes on one store are killed and replaced, over and over; then the last ones must bring everything to its end. */
export class KillRound {
  readonly #options: KillRoundOptions
  readonly #chance: Chance
  readonly #over = new AbortController()
  #kills = 0
  #alive = 0
  #names = 0

  constructor(options: KillRoundOptions) {
    this.#options = options
    this.#chance = new Chance(options.seed)
  }

  async run(): Promise<{ readonly messages: readonly string[]; readonly counts: Counts }> {
    const { places, kills, seed, signal } = this.#options
    const chance = this.#chance
    const nodes = chance.between(2, 4)
    const clients = Array.from({ length: chance.between(1, 2) }, (_, index) => `client-${index + 1}`)
    const waves = Math.ceil(kills / 5 / clients.length)
    const lists: Record<string, Act[]> = {}
    for (const [index, by] of clients.entries()) lists[by] = makeActs(waves, chance.fork(), SMALL, index * 1_000_000)
    const place = places.take()
    const options = { place, chance: chance.fork(), seed, lists, concurrency: CONCURRENCY, networkFails: false, signal }
    const scene = await Scene.open(options)
    let isSound = true
    try {
      const settingUp = await this.#killThem(scene, nodes, clients)
      signal.throwIfAborted()
      const { messages, counts } = await this.#bringToItsEnd(scene, clients, settingUp)
      isSound = messages.length === 0 || signal.aborted
      return { messages: isSound ? [] : [...messages, scene.whereabouts], counts }
    } catch (error) {
      if (signal.aborted) return { messages: [], counts: {} }
      isSound = false
      return { messages: [String(error), scene.whereabouts], counts: {} }
    } finally {
      this.#over.abort()
      // What was found is kept for whoever wants to understand it.
      await scene.close({ keepsFolder: !isSound })
      if (isSound) await places.giveBack(place)
    }
  }

  /** Answers with the setting up, which may need those who are not killed any more. */
  async #killThem(scene: Scene, nodes: number, clients: readonly string[]): Promise<{ readonly end: Promise<void> }> {
    const lives = Array.from({ length: nodes }, () => this.#livesOfNodes(scene, this.#chance.fork()))
    const end = scene.setUp()
    await Promise.race([end, ...lives])
    lives.push(...clients.map((by) => this.#livesOfClients(scene, by, this.#chance.fork())))
    await Promise.all(lives)
    return { end }
  }

  async #livesOfNodes(scene: Scene, chance: Chance): Promise<void> {
    while (!this.#isOver) {
      const fate = fateOfNode(chance)
      const dieAt = fate.kind === 'point' ? fate.dieAt : null
      await this.#live(scene, scene.startNode(`node-${++this.#names}`, { dieAt }), fate, 'started')
    }
  }

  async #livesOfClients(scene: Scene, by: string, chance: Chance): Promise<void> {
    for (let life = 1; !this.#isOver; life++) {
      const fate = fateOfClient(chance)
      const dieAt = fate.kind === 'point' ? fate.dieAt : null
      const client = scene.startClient(by, life, { everyMs: EVERY_MS, dieAt })
      await this.#live(scene, client, fate, 'begun')
      if (client.told.some((what) => 'done' in what)) return
    }
  }

  get #isOver(): boolean {
    return this.#over.signal.aborted || this.#options.signal.aborted
  }

  /** Until its fate comes true, or all is over. */
  async #live(scene: Scene, script: Script, fate: Fate, start: string): Promise<void> {
    this.#alive++
    await this.#meetFate(scene, script, fate, start).finally(() => this.#alive--)
    const exit = await script.exited
    // It may have been done in the moment in which it was to be killed.
    if (exit === 0) return
    if (exit !== 'SIGKILL') throw new Error(`${script.name} ended by itself (${exit}): ${script.complaint}`)
    this.#kills++
    this.#options.killed()
    // All that live now are killed together at the end.
    if (this.#kills + this.#alive >= this.#options.kills) this.#over.abort()
  }

  async #meetFate(scene: Scene, script: Script, fate: Fate, start: string): Promise<void> {
    if (fate.kind !== 'from-birth') {
      const hasStarted = () =>
        script.hasExited || this.#isOver || script.told.some((what) => start in what) ? true : null
      await until(hasStarted, START_WITHIN_MS, `${script.name} to start: ${script.complaint}`)
    }
    await this.#pass(fate.kind === 'point' ? LIFE_MAX_MS : fate.afterMs, script)
    if (!script.hasExited) await scene.kill(script)
  }

  async #pass(ms: number, script: Script): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    let end = () => {}
    const over = this.#over.signal
    const passed = new Promise<void>((resolve) => {
      end = resolve
      timer = setTimeout(resolve, ms)
      over.addEventListener('abort', end, { once: true })
      if (this.#isOver) resolve()
    })
    await Promise.race([passed, script.exited])
    clearTimeout(timer)
    over.removeEventListener('abort', end)
  }

  /** Nobody is killed any more: two new nodes, and clients who do what is left on their lists. */
  async #bringToItsEnd(scene: Scene, clients: readonly string[], settingUp: { readonly end: Promise<void> }) {
    const { signal } = this.#options
    const nodes = [1, 2].map((index) => scene.startNode(`last-${index}`))
    await settingUp.end
    const asking = clients.map((by) => scene.startClient(by, 1_000_000, { everyMs: 0 }))
    const exits = await Promise.all(asking.map(({ exited }) => exited))
    for (const [index, exit] of exits.entries()) {
      if (exit !== 0 && !signal.aborted)
        throw new Error(`${asking[index]?.name} failed (${exit}): ${asking[index]?.complaint}`)
    }
    await scene.calm()
    const left = await scene.drain(DRAIN_WITHIN_MS)
    for (const node of nodes) node.kill('SIGTERM')
    const closed = await Promise.all(nodes.map(async (node) => [node, await endWithin(node, CLOSE_WITHIN_MS)] as const))
    const unclosed = closed
      .filter(([, exit]) => exit !== 0)
      .map(([node, exit]) => `${node.name} ended with ${exit}: ${node.complaint}`)
    const { violations, recorded, history } = await scene.examine()
    const complaints = [...new Set(scene.told('error'))].map((error) => `A node complained: ${String(error)}.`)
    const died = scene.told('died').map(String)
    const counts = {
      rounds: 1,
      ...countsOf({ recorded, history }),
      'deaths at fault points': died.length,
      'deaths in recovery': died.filter((point) => point.startsWith('recovery:')).length,
    }
    return { messages: [...left, ...unclosed, ...violations, ...complaints], counts }
  }
}
