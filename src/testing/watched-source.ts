import type { Store, StoreSource, StoreState } from '../store/store.ts'

/** A store whose calls are counted while they are under way: with a server, each takes its time. */
export class WatchedSource implements StoreSource {
  readonly #source: StoreSource
  #calls = 0
  #lastCallAt = 0

  constructor(source: StoreSource) {
    this.#source = source
  }

  /** How many calls are under way. */
  get calls(): number {
    return this.#calls
  }

  /** When the last of them began or ended, in milliseconds of real time. */
  get lastCallAt(): number {
    return this.#lastCallAt
  }

  async open(): Promise<Store> {
    return this.#watch(await this.#source.open())
  }

  inspect(): Promise<StoreState> {
    return this.#source.inspect()
  }

  #watch<Watched extends object>(watched: Watched): Watched {
    const methods = new Map<PropertyKey, unknown>()
    return new Proxy(watched, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name)
        if (name === 'liveness') return this.#watch(member as object)
        if (typeof member !== 'function') return member
        if (!methods.has(name)) {
          methods.set(name, (...values: unknown[]) => this.#note(name, Reflect.apply(member, target, values)))
        }
        return methods.get(name)
      },
    })
  }

  #note(method: PropertyKey, answer: unknown): unknown {
    // The same store once more, which notes who asked.
    if (method === 'audited') return this.#watch(answer as object)
    if (!(answer instanceof Promise)) return answer
    this.#calls++
    this.#lastCallAt = performance.now()
    const end = () => {
      this.#calls--
      this.#lastCallAt = performance.now()
    }
    answer.then(end, end)
    return answer
  }
}
