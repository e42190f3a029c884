import { PawlError } from '../../src/domain/errors.ts'
import type { Life, Liveness } from '../../src/store/nodes.ts'
import type { Store, StoreSource } from '../../src/store/store.ts'
import { type Gate, newGate } from '../lifecycle/stage.ts'

type Standing = ReturnType<Life['standing']>

/** The methods whose answers are awaited. */
type Call = Exclude<
  keyof Store,
  'description' | 'claimsAtOnce' | 'liveness' | 'now' | 'logDirectory' | 'subscribe' | 'audited'
>

const AT_ONCE: ReadonlySet<PropertyKey> = new Set(['subscribe', 'audited', 'enqueueJobsWithin'])

/**
 * A real store behind a way that can be cut or slow, as that to a server can. Calls and answers are held where the test says
 * so; everything else goes through.
 */
export class FarSource implements StoreSource {
  /** How sure others can be of the nodes that live through this way. */
  standing: Standing = 'sound'
  /** Nodes that are taken for dead by whoever asks through this way. */
  readonly dead = new Set<string>()
  /** Asked for each node that is not in `dead`. */
  isAlive: (nodeId: string) => boolean = () => true
  /** What the store's clock shows; null: it has none. */
  now: (() => number) | null = null
  /** How many claims of one node may be under way; null: as many as the store says. */
  claimsAtOnce: number | null = null
  /** How often each method was called. */
  readonly counts = new Map<string, number>()
  readonly #source: StoreSource
  readonly #calls = new Map<string, Gate>()
  readonly #answers = new Map<string, Gate>()
  readonly #lost = new Set<string>()
  #isCut = false

  constructor(source: StoreSource) {
    this.#source = source
  }

  async open(): Promise<Store> {
    const store = await this.#source.open()
    const liveness = this.#farLiveness(store.liveness)
    return new Proxy(store, {
      get: (target, name) => {
        if (name === 'liveness') return liveness
        if (name === 'now') return this.now
        if (name === 'claimsAtOnce') return this.claimsAtOnce ?? target.claimsAtOnce
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        const call = (...values: unknown[]): unknown => Reflect.apply(member, target, values)
        if (AT_ONCE.has(name) || name === 'close') return call
        return (...values: unknown[]) => this.#call(String(name), () => call(...values))
      },
    })
  }

  inspect() {
    return this.#source.inspect()
  }

  /** Every call fails until it is mended. */
  cut(): void {
    this.#isCut = true
  }

  mend(): void {
    this.#isCut = false
  }

  /** Calls of this method reach the store only when they are let go. A later hold is for later calls. */
  holdCalls(method: Call): { letGo(): void } {
    return hold(this.#calls, method)
  }

  /** The store has done what it was asked for, but its answer comes only when it is let go. */
  holdAnswers(method: Call): { letGo(): void } {
    return hold(this.#answers, method)
  }

  /** The next call of this method is done, but its answer is lost on the way. */
  loseNextAnswer(method: Call): void {
    this.#lost.add(method)
  }

  async #call(method: string, call: () => unknown): Promise<unknown> {
    this.counts.set(method, (this.counts.get(method) ?? 0) + 1)
    if (this.#isCut) throw unavailable()
    await this.#calls.get(method)?.passed
    if (this.#isCut) throw unavailable()
    const answer = await call()
    if (this.#lost.delete(method)) throw unavailable()
    await this.#answers.get(method)?.passed
    return answer
  }

  #farLiveness(near: Liveness): Liveness {
    const reach = async <T>(call: () => Promise<T>): Promise<T> => {
      if (this.#isCut) throw unavailable()
      return call()
    }
    return {
      begin: (nodeId) =>
        reach(async () => {
          const life = await near.begin(nodeId)
          return {
            beat: () => reach(() => life.beat()),
            standing: () => this.standing,
            end: async () => {
              await life.end()
              if (this.#isCut) throw unavailable()
            },
          }
        }),
      lastProofs: (nodeIds) => reach(() => near.lastProofs(nodeIds)),
      isAlive: (nodeId) => reach(async () => !this.dead.has(nodeId) && this.isAlive(nodeId) && near.isAlive(nodeId)),
      bury: (nodeId) => reach(() => near.bury(nodeId)),
      sweep: (known) => reach(() => near.sweep(known)),
    }
  }
}

export function unavailable(): PawlError {
  return new PawlError('database_unavailable', 'The database cannot be reached (the way to it was cut).')
}

function hold(gates: Map<string, Gate>, method: string): { letGo(): void } {
  const gate = newGate()
  gates.set(method, gate)
  return {
    letGo() {
      if (gates.get(method) === gate) gates.delete(method)
      gate.open()
    },
  }
}
