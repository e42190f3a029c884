import type { Chance } from '../chance.ts'
import {
  type Act,
  type Call,
  type Deed,
  followUpOf,
  type GroupRules,
  type Order,
  RETRY,
  type Request,
} from './workload.ts'

/** How much of what is asked for. Each is a part of all, from 0 to 1. */
export interface Mixture {
  /** Requests of a wave. */
  readonly waveSize: number
  /** Under a limit, or of the type that receivers are told of, instead of `free`. */
  readonly limited: number
  readonly told: number
  /** Calls with a key of their own, out of a wave's. */
  readonly keyed: number
  readonly deeds: number
  /** Bodies that take any time, and how long the longest do. */
  readonly lasting: number
  readonly msMax: number
  /** The same under a limit, where everybody waits for them. */
  readonly limitedMsMax: number
}

export const LARGE: Mixture = {
  waveSize: 1_000,
  limited: 0.05,
  told: 0,
  keyed: 15,
  deeds: 0,
  lasting: 0.2,
  msMax: 200,
  limitedMsMax: 3,
}

export const SMALL: Mixture = {
  waveSize: 120,
  limited: 0.25,
  told: 0.08,
  keyed: 15,
  deeds: 24,
  lasting: 0.6,
  msMax: 150,
  limitedMsMax: 15,
}

/** Bodies that may still execute when their node is cut off. */
export const SLOW: Mixture = { ...SMALL, lasting: 0.7, msMax: 1_000, limitedMsMax: 60 }

/** Always the same acts for the same chance. Requests are numbered from `from` on. */
export function makeActs(count: number, chance: Chance, mixture: Mixture, from = 0): Act[] {
  const maker = new Maker(chance, mixture, from)
  return Array.from({ length: count }, () => maker.wave()).flat()
}

const ON_FAILURE = ['stop', 'continue', 'skip'] as const
const LIMITED = ['press', 'oven', 'press-and-oven', 'lathe', 'pair'] as const
const BUSINESS_KEYS = 3

class Maker {
  readonly #chance: Chance
  readonly #mixture: Mixture
  #last: number
  /** Some that were asked for in earlier waves, with keys and without. */
  #earlier: Request[] = []

  constructor(chance: Chance, mixture: Mixture, from: number) {
    this.#chance = chance
    this.#mixture = mixture
    this.#last = from
  }

  /** So many new requests, some that repeat a key, and deeds among them. */
  wave(): Act[] {
    const { waveSize } = this.#mixture
    const end = this.#last + waveSize
    const part = (size: number) => Math.max(2, Math.round((waveSize * size) / 1_000))
    const calls: Call[] = [
      { kind: 'group', ...this.#rules('parallel'), requests: this.#some(part(30)) },
      { kind: 'group', ...this.#rules('sequential'), requests: this.#some(part(8)) },
      this.#fan(part(29)),
      this.#diamonds(part(5)),
      this.#lateChildren(part(30)),
      ...this.#singles(part(20)),
      ...this.#withBusinessKeys(),
    ]
    const rest = Math.max(0, end - this.#last)
    for (let left = rest; left > 0; left -= 40) calls.push({ kind: 'many', requests: this.#some(Math.min(40, left)) })
    const requests = calls.flatMap((call) => call.requests)
    this.#earlier = [...requests.filter(() => this.#chance.is(0.2)), ...this.#earlier].slice(0, 500)
    // Deeds come behind what they are about, some at once and some later.
    return [...this.#chance.shuffled(calls), ...this.#deeds(calls)]
  }

  #rules(mode: GroupRules['mode']): GroupRules {
    return { mode, onFailure: this.#chance.of(ON_FAILURE) }
  }

  /** One parent, and many who wait for it. */
  #fan(size: number): Call {
    const parent = this.#request()
    const children = Array.from({ length: size }, () => this.#request([parent.order.n]))
    return { kind: 'many', requests: [parent, ...children] }
  }

  #diamonds(count: number): Call {
    const requests = Array.from({ length: count }, () => {
      const top = this.#request()
      const [left, right] = [this.#request([top.order.n]), this.#request([top.order.n])]
      return [top, left, right, this.#request([left.order.n, right.order.n])]
    })
    return { kind: 'many', requests: requests.flat() }
  }

  /** Children of Jobs that may have ended meanwhile, or not. */
  #lateChildren(count: number): Call {
    const parents = () => [...new Set([this.#chance.of(this.#earlier), this.#chance.of(this.#earlier)])]
    const requests = Array.from({ length: this.#earlier.length === 0 ? 0 : count }, () =>
      this.#request(parents().map(({ order }) => order.n)),
    )
    return { kind: 'many', requests: requests.length === 0 ? [this.#request()] : requests }
  }

  /** Each by itself and all at once, some of them twice under the same key, and some that were accepted long ago. */
  #singles(count: number): Call[] {
    const keyed = Array.from({ length: this.#mixture.keyed }, () => {
      const request = this.#request()
      return { ...request, options: { ...request.options, idempotencyKey: `key-${request.order.n}` } }
    })
    const again = this.#earlier.filter(({ options }) => options.idempotencyKey !== undefined).slice(0, 5)
    const all = [...this.#some(count), ...keyed, ...keyed.slice(0, 5), ...again]
    return all.map((request) => ({ kind: 'one', requests: [request] }))
  }

  /** Most of them will be refused, as long as another one lives. */
  #withBusinessKeys(): Call[] {
    if (this.#mixture.deeds === 0) return []
    return Array.from({ length: 6 }, () => {
      const { order, ...request } = this.#request()
      const businessKey = `holder-${this.#chance.below(BUSINESS_KEYS)}`
      const lasting = { ...order, ms: 10 + this.#chance.below(60) }
      return { kind: 'one', requests: [{ ...request, order: lasting, options: { ...request.options, businessKey } }] }
    })
  }

  #deeds(calls: readonly Call[]): Deed[] {
    const alone = calls.filter(({ kind }) => kind !== 'group').flatMap(({ requests }) => requests)
    const failing = alone.filter(({ order }) => order.does === 'fails' || order.does === 'refuses')
    const all = calls.flatMap(({ requests }) => requests)
    return Array.from({ length: this.#mixture.deeds }, (): Deed => {
      const fate = this.#chance.next()
      if (fate < 0.4) {
        const mode = this.#chance.is(0.5) ? 'abort' : 'graceful'
        return { kind: 'cancel', n: this.#chance.of(all).order.n, mode }
      }
      if (fate < 0.6) return { kind: 'retry', n: this.#chance.of(failing.length > 0 ? failing : alone).order.n }
      return this.#direct()
    })
  }

  #direct(): Deed {
    const chance = this.#chance
    const type = chance.is(0.5) ? 'free' : chance.of(LIMITED)
    const about = { n: ++this.#last, ms: chance.below(30), direct: true } as const
    const fate = chance.next()
    return {
      kind: 'direct',
      type,
      order: { ...about, does: fate < 0.7 ? 'completes' : fate < 0.85 ? 'refuses' : 'skips' },
    }
  }

  #some(count: number): Request[] {
    return Array.from({ length: count }, () => this.#request())
  }

  #request(parents: readonly number[] = []): Request {
    const chance = this.#chance
    const type = this.#type()
    const isDelayed = chance.is(0.05)
    const options = {
      ...(chance.is(0.1) ? { priority: chance.below(5) - 2 } : {}),
      ...(isDelayed ? { delayMs: 500 + chance.below(this.#mixture.deeds > 0 ? 1_500 : 3_000) } : {}),
      ...(parents.length > 0 ? { onParentFailure: chance.of(['cancel', 'cancel', 'run'] as const) } : {}),
    }
    return { type, order: this.#order(type), options, parents }
  }

  #type(): string {
    const { limited, told } = this.#mixture
    const kind = this.#chance.next()
    return kind < limited ? this.#chance.of(LIMITED) : kind < limited + told ? 'told' : 'free'
  }

  #order(type: string): Order {
    const chance = this.#chance
    const n = ++this.#last
    const isLimited = type !== 'free' && type !== 'told'
    const { lasting, msMax, limitedMsMax } = this.#mixture
    const ms = chance.is(lasting) ? 1 + chance.below(isLimited ? limitedMsMax : chance.is(0.25) ? msMax : 5) : 0
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
