import type { Chance } from '../chance.ts'

/** What a body is told to do, as the params of its Job. `n` is the number of the request, by which it is known everywhere. */
export interface Order {
  readonly n: number
  readonly does: 'completes' | 'fails' | 'refuses' | 'skips' | 'falters' | 'spawns'
  /** How long it takes, on the clock of the trace. */
  readonly ms?: number
  /** Makes rows of many sizes, so that some need pages of their own. */
  readonly ballast?: string
}

export interface Request {
  readonly type: 'plain' | 'told' | 'limited'
  readonly order: Order
  readonly delayMs?: number
  readonly priority?: number
  /** By its number: it was asked for before, or stands before it in the same list. */
  readonly parent?: number
}

/** One thing that a client does, and waits for the answer. */
export type Act =
  | { readonly kind: 'one'; readonly request: Request; readonly key?: string; readonly businessKey?: string }
  | { readonly kind: 'many'; readonly requests: readonly Request[] }
  | {
      readonly kind: 'group'
      readonly mode: 'parallel' | 'sequential'
      readonly onFailure: 'stop' | 'continue' | 'skip'
      readonly requests: readonly Request[]
    }
  | { readonly kind: 'cancel'; readonly n: number; readonly mode: 'graceful' | 'abort' }
  | { readonly kind: 'retry'; readonly n: number }
  | { readonly kind: 'edit'; readonly n: number; readonly order: Order }
  | { readonly kind: 'direct'; readonly order: Order }
  | { readonly kind: 'schedule'; readonly n: number }
  | { readonly kind: 'trigger' | 'end-schedule' }
  | { readonly kind: 'webhook' | 'prune' }
  | { readonly kind: 'checkpoint'; readonly mode: 'passive' | 'full' | 'restart' | 'truncate' }

/** What one process does, from opening to its end. */
export interface Session {
  readonly acts: readonly Act[]
  /** How many of them are under way at once. */
  readonly clients: number
  /** `kill`: it dies without a word, and the next one recovers what it left. */
  readonly end: 'close' | 'kill'
}

/** Sessions that come one after the other; those of one list at the same time. */
export type Plan = readonly (readonly Session[])[]

/** The number of the follow-up that the body of a request asks for. */
export const followUpOf = (n: number): number => n + 1_000_000

const KINDS: readonly (readonly [Act['kind'], number])[] = [
  ['one', 40],
  ['many', 12],
  ['group', 8],
  ['cancel', 8],
  ['retry', 6],
  ['edit', 4],
  ['direct', 8],
  ['schedule', 3],
  ['trigger', 3],
  ['end-schedule', 2],
  ['webhook', 2],
  ['prune', 2],
]

/** One of so many traces is long enough for SQLite to move its log into the file by itself. Its images cost more to examine. */
const NATURAL_EVERY = 16

/** Whether checkpoints come only by themselves in the trace of this seed. */
export const isNaturalSeed = (seed: number): boolean => seed % NATURAL_EVERY === NATURAL_EVERY - 1

/** The same plan for the same chance. */
export function makePlan(chance: Chance, isNatural: boolean): Plan {
  const maker = new Maker(chance, isNatural)
  const rounds = isNatural ? 1 : chance.between(2, 4)
  return Array.from({ length: rounds }, (_, round) => {
    const isLast = round === rounds - 1
    const processes = chance.is(0.25) ? 2 : 1
    return Array.from({ length: processes }, (): Session => {
      const acts = maker.acts(isNatural ? 110 : Math.ceil(chance.between(40, 60) / processes))
      const end = isLast || chance.is(0.6) ? 'close' : 'kill'
      return { acts, clients: chance.between(1, 5), end }
    })
  })
}

/** Acts without schedules, which would never come to an end by themselves. Requests are numbered from 1 on. */
export function makeActs(chance: Chance, count: number): Act[] {
  const isEndless = ({ kind }: Act) => kind === 'schedule' || kind === 'trigger' || kind === 'end-schedule'
  return new Maker(chance, false).acts(count).filter((act) => !isEndless(act))
}

class Maker {
  readonly #chance: Chance
  readonly #isNatural: boolean
  #last = 0
  readonly #asked: number[] = []
  readonly #keyed: (Act & { readonly kind: 'one' })[] = []

  constructor(chance: Chance, isNatural: boolean) {
    this.#chance = chance
    this.#isNatural = isNatural
  }

  acts(count: number): Act[] {
    const acts = Array.from({ length: count }, () => this.#act())
    if (this.#isNatural) return acts
    return acts.flatMap((act): Act[] => {
      if (!this.#chance.is(0.08)) return [act]
      const mode = this.#chance.of(['passive', 'passive', 'passive', 'full', 'restart', 'truncate'] as const)
      return [act, { kind: 'checkpoint', mode }]
    })
  }

  #act(): Act {
    const chance = this.#chance
    const kind = this.#kind()
    switch (kind) {
      case 'one':
        return this.#one()
      case 'many':
        return { kind, requests: this.#list(chance.between(2, 8)) }
      case 'group':
        return {
          kind,
          mode: chance.of(['parallel', 'sequential'] as const),
          onFailure: chance.of(['stop', 'continue', 'skip'] as const),
          requests: Array.from({ length: chance.between(2, 5) }, () => this.#request()),
        }
      case 'cancel':
        return { kind, n: this.#earlier(), mode: chance.of(['graceful', 'abort'] as const) }
      case 'retry':
        return { kind, n: this.#earlier() }
      case 'edit':
        return { kind, n: this.#earlier(), order: this.#order() }
      case 'direct':
        return { kind, order: { n: ++this.#last, does: 'completes' } }
      case 'schedule':
        return { kind, n: ++this.#last }
      case 'trigger':
      case 'end-schedule':
      case 'webhook':
      case 'prune':
        return { kind }
      case 'checkpoint':
        return { kind, mode: 'passive' }
    }
  }

  #kind(): Act['kind'] {
    const sum = KINDS.reduce((total, [, weight]) => total + weight, 0)
    let rest = this.#chance.below(sum)
    for (const [kind, weight] of KINDS) {
      if (rest < weight) return kind
      rest -= weight
    }
    return 'one'
  }

  #one(): Act {
    const chance = this.#chance
    if (this.#keyed.length > 0 && chance.is(0.1)) return chance.of(this.#keyed)
    const request = this.#request(this.#asked.length > 0 && chance.is(0.15) ? this.#earlier() : undefined)
    if (chance.is(0.15)) {
      const act = { kind: 'one', request, key: `key-${request.order.n}` } as const
      this.#keyed.push(act)
      return act
    }
    return chance.is(0.1)
      ? { kind: 'one', request, businessKey: `holder-${chance.below(3)}` }
      : { kind: 'one', request }
  }

  /** The first, and some that wait for it. */
  #list(size: number): Request[] {
    const first = this.#request()
    const others = Array.from({ length: size - 1 }, () =>
      this.#request(this.#chance.is(0.5) ? first.order.n : undefined),
    )
    return [first, ...others]
  }

  #earlier(): number {
    return this.#asked.length === 0 ? 0 : this.#chance.of(this.#asked.slice(-30))
  }

  #request(parent?: number): Request {
    const chance = this.#chance
    const order = this.#order()
    this.#asked.push(order.n)
    return {
      type: chance.of(['plain', 'plain', 'plain', 'told', 'limited'] as const),
      order,
      ...(chance.is(0.1) ? { delayMs: chance.between(100, 4_000) } : {}),
      ...(chance.is(0.1) ? { priority: chance.between(-2, 2) } : {}),
      ...(parent === undefined ? {} : { parent }),
    }
  }

  #order(): Order {
    const chance = this.#chance
    const fate = chance.next()
    const does =
      fate < 0.7
        ? 'completes'
        : fate < 0.78
          ? 'falters'
          : fate < 0.84
            ? 'refuses'
            : fate < 0.88
              ? 'fails'
              : fate < 0.94
                ? 'skips'
                : 'spawns'
    const ballast = this.#isNatural ? chance.between(0, 16_000) : chance.is(0.08) ? chance.between(500, 9_000) : 0
    return {
      n: ++this.#last,
      does,
      ...(chance.is(0.3) ? { ms: chance.between(1, 400) } : {}),
      ...(ballast > 0 ? { ballast: 'x'.repeat(ballast) } : {}),
    }
  }
}
