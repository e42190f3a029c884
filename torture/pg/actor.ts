import type { Place } from '../outside/place.ts'
import type { Scene } from '../outside/scene.ts'
import type { Script } from '../outside/script.ts'
import { type Proxy, startProxy } from '../servers/proxy.ts'

/** One process after the other in the same role, each by way of the same proxy: a node, or a client. */
export class Actor {
  readonly role: string
  readonly proxy: Proxy
  readonly #start: (life: number, place: Place) => Script
  readonly #place: Place
  #script: Script
  #life = 1
  /** Processes that could not start, because the server was not to be reached. */
  refusedStarts = 0

  private constructor(role: string, proxy: Proxy, schema: string, start: (life: number, place: Place) => Script) {
    this.role = role
    this.proxy = proxy
    this.#place = { kind: 'postgres', url: proxy.url, schema }
    this.#start = start
    this.#script = start(this.#life, this.#place)
  }

  static async start(
    role: string,
    { url, schema }: Extract<Place, { kind: 'postgres' }>,
    start: (life: number, place: Place) => Script,
  ): Promise<Actor> {
    return new Actor(role, await startProxy({ url }), schema, start)
  }

  get script(): Script {
    return this.#script
  }

  /** Of the process that has this role now. */
  get name(): string {
    return this.#script.name
  }

  /** Whether the work of this role is done, so that nobody needs to come in its place. */
  get isDone(): boolean {
    return this.#script.told.some((what) => 'done' in what)
  }

  async kill(scene: Scene): Promise<void> {
    await scene.kill(this.#script)
  }

  /** Somebody else comes in its place, unless it works. A process that ended by itself after its start is told. */
  async replaceIfGone(): Promise<string | null> {
    const script = this.#script
    if (!script.hasExited || this.isDone) return null
    const exit = await script.exited
    const hasStarted = script.told.some((what) => 'started' in what || 'begun' in what)
    this.#script = this.#start(++this.#life, this.#place)
    if (exit === 'SIGKILL') return null
    if (!hasStarted) this.refusedStarts++
    return hasStarted ? `I15: ${script.name} ended by itself (${exit}): ${script.complaint}` : null
  }
}
