import { Chance } from '../chance.ts'
import { type Counts, countsOf } from '../outside/counts.ts'
import { makeActs, SLOW } from '../outside/make-acts.ts'
import type { Place } from '../outside/place.ts'
import { sharedNow } from '../outside/record.ts'
import { Scene } from '../outside/scene.ts'
import { endWithin, type Script, until } from '../outside/script.ts'
import type { Order } from '../outside/workload.ts'
import type { PostgresServer } from '../servers/server.ts'
import { Actor } from './actor.ts'
import { chooseKinds, drawMisfortune, type Misfortune } from './faults.ts'

export interface PgRoundOptions {
  readonly seed: number
  readonly server: PostgresServer
  readonly schema: string
  /** For how long things go wrong. */
  readonly faultsMs: number
  /** Whether a body computes in the end, for longer than it takes to be taken for dead. */
  readonly computes: boolean
  /** Whether a node sleeps in the end, with an outcome that it has not written, until it has been taken for dead. */
  readonly oversleeps: boolean
  readonly signal: AbortSignal
}

const NODES = 3
const CONCURRENCY = 4
const CLIENT = 'client-1'
const EVERY_MS = 20
const WAVES_IN_5_S = 3
/** It takes 15 s of others who are not disturbed themselves to take a node for dead. */
const TAKEN_FOR_DEAD_WITHIN_MS = 90_000
const BUSY_WITHIN_MS = 60_000
const BUSY_LOOKS = 25
const DRAIN_WITHIN_MS = 120_000
const CLOSE_WITHIN_MS = 60_000
/** Longer than the others wait for a sign of life. */
const COMPUTES_MS = 20_000
const COMPUTING_REQUEST = 900_000_000
const SLEEPING_REQUEST = 910_000_000
/** So many that each of two nodes has ended one. */
const WAKING_REQUESTS = 16

/** Nodes and a client behind proxies, to which all sorts of things happen; then nothing does, and all must come to its end. */
export class PgRound {
  readonly #options: PgRoundOptions
  readonly #chance: Chance
  readonly #happened: Record<string, number> = {}
  readonly #messages: string[] = []
  /** What goes on in the background, and must have ended before the round does. */
  readonly #underWay = new Set<Promise<void>>()
  /** Set while the server is being restarted: who restarts it meanwhile would wait for nothing. */
  #isRestarting = false

  constructor(options: PgRoundOptions) {
    this.#options = options
    this.#chance = new Chance(options.seed)
  }

  async run(): Promise<{ readonly messages: readonly string[]; readonly counts: Counts; readonly faults: number }> {
    const { server, schema, seed, faultsMs, signal } = this.#options
    const chance = this.#chance
    const place = { kind: 'postgres', url: server.url, schema } as const
    // In coarse steps, so that a round that is shown again, a moment shorter or longer, is asked for the same.
    const waves = Math.ceil(faultsMs / 5_000) * WAVES_IN_5_S
    const lists = { [CLIENT]: makeActs(waves, chance.fork(), SLOW) }
    const options = { place, chance: chance.fork(), seed, lists, concurrency: CONCURRENCY, networkFails: true, signal }
    const scene = await Scene.open(options)
    const actors: Actor[] = []
    let isSound = true
    try {
      for (let index = 1; index <= NODES; index++) {
        const start = (life: number, by: Place) => scene.startNode(`node-${index}.${life}`, { place: by })
        actors.push(await Actor.start(`node-${index}`, place, start))
      }
      await scene.setUp()
      actors.push(
        await Actor.start(CLIENT, place, (life, by) =>
          scene.startClient(CLIENT, life, { everyMs: EVERY_MS, place: by }),
        ),
      )
      await this.#misbehave(scene, actors)
      signal.throwIfAborted()
      const counts = await this.#bringToItsEnd(scene, actors)
      isSound = this.#messages.length === 0 || signal.aborted
      if (!isSound) this.#messages.push(scene.whereabouts)
      const faults = Object.values(this.#happened).reduce((sum, count) => sum + count, 0)
      return { messages: isSound ? [] : this.#messages, counts: { ...counts, ...this.#happened }, faults }
    } catch (error) {
      if (signal.aborted) return { messages: [], counts: {}, faults: 0 }
      isSound = false
      const messages = [...this.#messages, String(error), scene.whereabouts]
      return { messages, counts: this.#happened, faults: 1 }
    } finally {
      await scene.close({ keepsFolder: !isSound })
      for (const { proxy } of actors) await proxy.close()
    }
  }

  async #misbehave(scene: Scene, actors: readonly Actor[]): Promise<void> {
    const { faultsMs, signal } = this.#options
    const chance = this.#chance
    const kinds = chooseKinds(chance)
    // It is taken for dead in the middle of all this, and comes back when the others have gone on without it.
    const zombie = await this.#stopOneAtWork(scene, actors.slice(0, NODES))
    this.#background(this.#comeBack(scene, zombie))
    const deadline = performance.now() + faultsMs
    while (performance.now() < deadline && !signal.aborted) {
      await wait(chance.between(50, 900), signal)
      const actor = chance.of(actors)
      const misfortune = drawMisfortune(chance, kinds)
      // The one that is stopped suffers nothing else, or it would be replaced.
      if (actor.script === zombie && misfortune.kind !== 'server-restarted') continue
      this.#background(this.#suffer(scene, actor, misfortune, actors))
      for (const one of actors) this.#complain(await one.replaceIfGone())
    }
    // What has a certain duration ends by itself; the stopped one goes on when the others have taken it for dead.
    for (const { proxy } of actors) proxy.heal()
    await Promise.all(this.#underWay)
    for (const { proxy } of actors) proxy.heal()
  }

  #background(work: Promise<void>): void {
    const told = work.catch((error: unknown) => this.#complain(String(error)))
    const tracked = told.finally(() => this.#underWay.delete(tracked))
    this.#underWay.add(tracked)
  }

  #complain(message: string | null): void {
    if (message !== null) this.#messages.push(message)
  }

  #count(what: string): void {
    this.#happened[what] = (this.#happened[what] ?? 0) + 1
  }

  async #suffer(scene: Scene, actor: Actor, misfortune: Misfortune, all: readonly Actor[] = []): Promise<void> {
    const { proxy, script } = actor
    const { signal, server } = this.#options
    const concerned = misfortune.kind === 'server-restarted' ? all : [actor]
    const at = sharedNow()
    if (misfortune.kind !== 'killed')
      await scene.recorder.write(
        ...concerned.map(({ name: node }) => ({ is: 'fault', node, at, what: misfortune.kind }) as const),
      )
    switch (misfortune.kind) {
      case 'cut':
        proxy.cut()
        this.#count('connections cut')
        return
      case 'delayed':
        proxy.delay(misfortune.byMs)
        this.#count('delays')
        await wait(misfortune.forMs, signal)
        return proxy.delay(0)
      case 'frozen':
        proxy.freeze()
        this.#count('half-open connections')
        await wait(misfortune.forMs, signal)
        return proxy.heal()
      case 'silent':
        proxy.silence()
        this.#count('connections silent for good')
        await wait(misfortune.forMs, signal)
        return proxy.heal()
      case 'deaf':
        proxy.dropReplies()
        this.#count('answers dropped')
        await wait(misfortune.forMs, signal)
        return proxy.heal()
      case 'refused':
        proxy.refuse()
        this.#count('connections refused')
        await wait(misfortune.forMs, signal)
        return proxy.heal()
      case 'reply-lost':
        // Not all come to pass: nobody may send such a statement until another misfortune takes its place.
        void proxy.loseReplyTo(misfortune.fits).then(() => this.#count('replies lost after commit'))
        return
      case 'stopped':
        script.kill('SIGSTOP')
        this.#count('processes stopped for a moment')
        await wait(misfortune.forMs, signal)
        return script.kill('SIGCONT')
      case 'killed':
        // In the middle of something, if it does anything at all.
        for (let looks = 0; looks < BUSY_LOOKS && !script.hasExited && !scene.isBusy(script.name); looks++)
          await wait(20, signal)
        if (script.hasExited) return
        await actor.kill(scene)
        return this.#count('kills')
      case 'server-restarted':
        if (this.#isRestarting) return
        this.#isRestarting = true
        await server.restart(misfortune.mode)
        this.#isRestarting = false
        return this.#count(`restarts of the server (${misfortune.mode})`)
    }
  }

  /** Stops a node in the middle of a Job. */
  async #stopOneAtWork(scene: Scene, nodes: readonly Actor[]): Promise<Script> {
    const { signal } = this.#options
    const chance = this.#chance.fork()
    const stopOne = async () => {
      signal.throwIfAborted()
      const busy = chance.shuffled(nodes).find(({ name }) => scene.isBusy(name))
      if (busy === undefined) return null
      const { script } = busy
      const at = sharedNow()
      script.kill('SIGSTOP')
      // A signal needs a moment to arrive, and the Job may have ended before.
      await wait(10, signal)
      if (!scene.isBusy(script.name)) {
        script.kill('SIGCONT')
        return null
      }
      await scene.recorder.write({ is: 'fault', node: script.name, at, what: 'zombie' })
      return script
    }
    const zombie = await until(stopOne, BUSY_WITHIN_MS, 'a node at work')
    this.#count('zombies')
    return zombie
  }

  /** When the others have taken it for dead, it goes on. */
  async #comeBack(scene: Scene, script: Script): Promise<void> {
    const { name } = script
    const { faultsMs, signal } = this.#options
    const isGone = async () => (signal.aborted || (await scene.isGone(name)) === true ? true : null)
    await until(isGone, faultsMs + TAKEN_FOR_DEAD_WITHIN_MS, `${name}, which is stopped, taken for dead`)
    script.kill('SIGCONT')
  }

  /** Nothing happens any more: whoever is missing is replaced, and the client does what is left on its list. */
  async #bringToItsEnd(scene: Scene, actors: readonly Actor[]): Promise<Counts> {
    const { signal } = this.#options
    for (const actor of actors) this.#complain(await actor.replaceIfGone())
    const client = actors.at(-1) as Actor
    while (!client.isDone && !signal.aborted) {
      await client.script.exited
      this.#complain(await client.replaceIfGone())
    }
    await scene.calm()
    this.#messages.push(...(await scene.drain(DRAIN_WITHIN_MS)))
    await this.#end(actors.slice(0, NODES).map(({ script }) => script))
    if (this.#options.computes) await this.#compute(scene)
    if (this.#options.oversleeps) await this.#oversleep(scene)
    const examined = await scene.examine()
    this.#messages.push(...examined.violations)
    const refused = actors.reduce((sum, { refusedStarts }) => sum + refusedStarts, 0)
    return {
      ...countsOf(examined),
      'late ends refused': scene.told('late').length,
      'nodes registered anew': scene.told('warned').filter((text) => String(text).includes('registers anew')).length,
      'starts refused': refused,
    }
  }

  async #end(nodes: readonly Script[]): Promise<void> {
    for (const node of nodes) node.kill('SIGTERM')
    for (const node of nodes) {
      const exit = await endWithin(node, CLOSE_WITHIN_MS)
      if (exit !== 0) this.#messages.push(`I15: ${node.name} ended with ${String(exit)}: ${node.complaint}`)
    }
  }

  /** Of two nodes to which nothing happens, one computes for long, and the other must not take it for dead. */
  async #compute(scene: Scene): Promise<void> {
    const nodes = [scene.startNode('thinker-1'), scene.startNode('thinker-2')]
    await askFor(scene, { n: COMPUTING_REQUEST, does: 'computes', forMs: COMPUTES_MS })
    this.#messages.push(...(await scene.drain(DRAIN_WITHIN_MS)))
    this.#count('bodies that computed')
    await this.#end(nodes)
  }

  /** Of two nodes to which nothing else happens, one writes an outcome when the other has taken it for dead, and gone on. */
  async #oversleep(scene: Scene): Promise<void> {
    const nodes = [scene.startNode('sleeper-1'), scene.startNode('sleeper-2')]
    // The first outcome of a node takes the long way, wherever there is a shorter one.
    for (let n = 1; n <= WAKING_REQUESTS; n++)
      await askFor(scene, { n: SLEEPING_REQUEST + n, does: 'completes', ms: 50 })
    this.#messages.push(...(await scene.drain(DRAIN_WITHIN_MS)))
    await askFor(scene, { n: SLEEPING_REQUEST, does: 'stops' })
    const hasStopped = ({ told }: Script) => told.some(({ stopped }) => stopped === true)
    const sleeper = await until(() => nodes.find(hasStopped) ?? null, BUSY_WITHIN_MS, 'a node that sleeps')
    await scene.recorder.write({ is: 'fault', node: sleeper.name, at: sharedNow(), what: 'zombie' })
    await this.#comeBack(scene, sleeper)
    this.#messages.push(...(await scene.drain(DRAIN_WITHIN_MS)))
    this.#count('outcomes overslept')
    await this.#end(nodes)
  }
}

function askFor(scene: Scene, order: Order): Promise<void> {
  return scene.ask({ type: 'free', order, options: {}, parents: [] })
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(end, ms)
    function end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
  })
}
