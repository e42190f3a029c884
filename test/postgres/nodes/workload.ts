import type { EnqueueOptions } from 'pawl'
import { Chance } from '../../http/fuzz-values.ts'

/** What a body is told to do, as the params of its Job. `n` is the number of the request, by which it is known everywhere. */
export type Order = { readonly n: number; readonly ms?: number } & (
  | { readonly does: 'completes' | 'fails' | 'refuses' | 'skips' }
  /** Its first attempts fail. */
  | { readonly does: 'falters'; readonly times: number }
  /** Its follow-up is accepted together with its outcome. */
  | { readonly does: 'spawns'; readonly follow: { readonly type: string; readonly order: Order } }
  /** With its end, before its outcome is written, its process stops, at the first attempt. */
  | { readonly does: 'stops' }
  /** Until the test lets it go: deaf to its abort, or not. */
  | { readonly does: 'waits' | 'heeds' }
)

/** One Job that somebody asks for. */
export interface Request {
  readonly type: string
  readonly order: Order
  readonly options: Pick<EnqueueOptions, 'priority' | 'delayMs' | 'idempotencyKey' | 'onParentFailure'>
  /** The numbers of the requests it depends on: of the same call, or of an earlier wave. */
  readonly parents: readonly number[]
}

/** What is accepted together. */
export type Call =
  | { readonly kind: 'one'; readonly requests: readonly [Request] }
  | { readonly kind: 'many'; readonly requests: readonly Request[] }
  | ({ readonly kind: 'group'; readonly requests: readonly Request[] } & GroupRules)

export interface GroupRules {
  readonly mode: 'parallel' | 'sequential'
  readonly onFailure: 'stop' | 'continue' | 'skip'
}

/** Calls that are made at the same time. */
export type Wave = readonly Call[]

/** A limit of the whole store, and the types that are under it. */
export interface Limit {
  readonly name: string
  readonly max: number
  readonly types: readonly string[]
}

export const TYPES = [
  { type: 'free' },
  { type: 'press', resources: ['press'] },
  { type: 'oven', resources: ['oven'] },
  { type: 'press-and-oven', resources: ['press', 'oven'] },
  { type: 'lathe', resources: ['lathe'] },
  { type: 'pair', concurrency: 2 },
] as const

export const RESOURCES = { press: 1, oven: 1, lathe: 3 }

export const LIMITS: readonly Limit[] = [
  { name: 'press', max: 1, types: ['press', 'press-and-oven'] },
  { name: 'oven', max: 1, types: ['oven', 'press-and-oven'] },
  { name: 'lathe', max: 3, types: ['lathe'] },
  { name: 'pair', max: 2, types: ['pair'] },
]

/** After a crash all are tried again, however often: nobody is to fail because a node was killed. */
export const RETRY = {
  maxRetries: 2,
  maxCrashRetries: 100,
  backoff: { kind: 'fixed', delayMs: 300 },
} as const

export const WAVE_SIZE = 1_000

/** The number of the follow-up of request `n`. */
export const followUpOf = (n: number): number => 1_000_000 + n

/** Always the same requests for the same seed. */
export function makeWaves(count: number, seed: number): Wave[] {
  const maker = new Maker(new Chance(seed))
  return Array.from({ length: count }, () => maker.wave())
}

class Maker {
  readonly #chance: Chance
  #last = 0
  /** Some that were asked for in earlier waves, with keys and without. */
  #earlier: Request[] = []

  constructor(chance: Chance) {
    this.#chance = chance
  }

  /** WAVE_SIZE new requests, and some that repeat a key. */
  wave(): Wave {
    const end = this.#last + WAVE_SIZE
    const calls: Call[] = [...this.#groups(), this.#fan(), this.#diamonds(), this.#lateChildren(), ...this.#singles()]
    calls.push({ kind: 'many', requests: this.#some(end - this.#last) })
    const requests = calls.flatMap((call) => call.requests)
    this.#earlier = [...requests.filter(() => this.#chance.is(0.2)), ...this.#earlier].slice(0, 500)
    return calls
  }

  #groups(): Call[] {
    const rules = (mode: GroupRules['mode']) => ({ mode, onFailure: this.#chance.of(ON_FAILURE) })
    return [
      { kind: 'group', ...rules('parallel'), requests: this.#some(30) },
      { kind: 'group', ...rules('sequential'), requests: this.#some(8) },
    ]
  }

  /** One parent, and many who wait for it. */
  #fan(): Call {
    const parent = this.#request()
    const children = Array.from({ length: 29 }, () => this.#request([parent.order.n]))
    return { kind: 'many', requests: [parent, ...children] }
  }

  #diamonds(): Call {
    const requests = Array.from({ length: 5 }, () => {
      const top = this.#request()
      const [left, right] = [this.#request([top.order.n]), this.#request([top.order.n])]
      return [top, left, right, this.#request([left.order.n, right.order.n])]
    })
    return { kind: 'many', requests: requests.flat() }
  }

  /** Children of Jobs that may have ended meanwhile, or not. */
  #lateChildren(): Call {
    const parents = () => [...new Set([this.#chance.of(this.#earlier), this.#chance.of(this.#earlier)])]
    const requests = Array.from({ length: this.#earlier.length === 0 ? 0 : 30 }, () =>
      this.#request(parents().map(({ order }) => order.n)),
    )
    return { kind: 'many', requests }
  }

  /** Each by itself and all at once, some of them twice under the same key, and some that were accepted long ago. */
  #singles(): Call[] {
    const keyed = Array.from({ length: 10 }, () => {
      const request = this.#request()
      return { ...request, options: { ...request.options, idempotencyKey: `key-${request.order.n}` } }
    })
    const again = this.#earlier.filter(({ options }) => options.idempotencyKey !== undefined).slice(0, 5)
    const all = [...this.#some(20), ...keyed, ...keyed.slice(0, 5), ...again]
    return all.map((request) => ({ kind: 'one', requests: [request] }))
  }

  #some(count: number): Request[] {
    return Array.from({ length: count }, () => this.#request())
  }

  #request(parents: readonly number[] = []): Request {
    const chance = this.#chance
    const type = chance.is(0.95) ? 'free' : chance.of(TYPES).type
    const isDelayed = chance.is(0.05)
    const options = {
      ...(chance.is(0.1) ? { priority: chance.below(5) - 2 } : {}),
      ...(isDelayed ? { delayMs: 500 + chance.below(3_000) } : {}),
      ...(parents.length > 0 ? { onParentFailure: chance.of(['cancel', 'cancel', 'run'] as const) } : {}),
    }
    return { type, order: this.#order(type), options, parents }
  }

  #order(type: string): Order {
    const chance = this.#chance
    const n = ++this.#last
    // Bodies under a limit are short: everybody waits for them.
    const ms = chance.is(0.8) ? 0 : 1 + chance.below(type !== 'free' ? 3 : chance.is(0.25) ? 200 : 5)
    const fate = chance.next()
    if (fate < 0.05) return { n, ms, does: 'falters', times: 1 + chance.below(RETRY.maxRetries) }
    if (fate < 0.065) return { n, ms, does: 'fails' }
    if (fate < 0.08) return { n, ms, does: 'refuses' }
    if (fate < 0.1) return { n, ms, does: 'skips' }
    if (fate < 0.12) {
      const order: Order = { n: followUpOf(n), does: 'completes' }
      return { n, ms, does: 'spawns', follow: { type: 'free', order } }
    }
    return { n, ms, does: 'completes' }
  }
}

const ON_FAILURE = ['stop', 'continue', 'skip'] as const
