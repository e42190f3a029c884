import { PawlError } from 'pawl'
import type { Liveness, Store, StoreSignal, StoreSource } from 'pawl/store'
import type { Chance } from '../chance.ts'
import type { Faults } from './conditions.ts'
import type { SimulatedProcess } from './simulated-process.ts'
import type { SimulatedTime } from './time.ts'
import type { Trace } from './trace.ts'

export interface Surroundings {
  readonly time: SimulatedTime
  readonly chance: Chance
  readonly trace: Trace
  /** The one store that all processes share. */
  readonly store: Store
  readonly liveness: { of(process: SimulatedProcess): Liveness }
  readonly claimsAtOnce: number
  /** What may go wrong right now. */
  readonly faults: () => Faults
  /** Looks at each claim as it is carried out. */
  readonly watchClaim: (request: ClaimRequest, claim: () => Promise<Claimed>) => Promise<Claimed>
  /** Requests that will be carried out, though nobody waits for them any more. */
  readonly onTheWay: Set<unknown>
  /** What has happened, by its name, for the summary. */
  readonly count: (what: string) => void
}

type ClaimRequest = Parameters<Store['claimJobs']>[0]
type Claimed = Awaited<ReturnType<Store['claimJobs']>>

type Answer = { readonly value: unknown } | { readonly error: unknown }

/** Another process is told of changes after this long, if at all. */
const TOLD_WITHIN_MS = 100

/** A request or an answer takes up to so long, and rarely much longer. */
const SLOW_MS = 200
const VERY_SLOW_MS = 12_000

/** What was given up is carried out within this time, if at all. */
const LATE_MS = 30_000

/**
 * The store as one process sees it: somewhere else. What it asks may get lost or take long, so may the answer, and the process may
 * die or be stopped in between. What is carried out is carried out by the real store.
 */
export class FarStore implements StoreSource {
  readonly #process: SimulatedProcess
  readonly #around: Surroundings
  readonly #listeners = new Set<(signal: StoreSignal) => void>()
  /** Calls that are being carried out. What is committed meanwhile counts as this process's own. */
  #calls = 0
  #isToBeTold = false

  constructor(process: SimulatedProcess, around: Surroundings) {
    this.#process = process
    this.#around = around
    around.store.subscribe((signal) => this.#hear(signal))
  }

  async open(): Promise<Store> {
    return this.#view(this.#around.store)
  }

  inspect(): never {
    throw new Error('Nobody looks at a simulated store from outside.')
  }

  #view(store: Store): Store {
    const liveness = this.#around.liveness.of(this.#process)
    const methods = new Map<PropertyKey, unknown>()
    return new Proxy(store, {
      get: (target, name) => {
        if (name === 'liveness') return liveness
        if (name === 'claimsAtOnce') return this.#around.claimsAtOnce
        if (name === 'subscribe') return (listener: (signal: StoreSignal) => void) => this.#subscribe(listener)
        if (name === 'close') return async () => {}
        if (name === 'audited') return (note: never) => this.#view(store.audited(note))
        const member: unknown = Reflect.get(target, name)
        if (typeof member !== 'function') return member
        if (!methods.has(name)) {
          const method = member as (...values: unknown[]) => Promise<unknown>
          methods.set(name, (...values: unknown[]) =>
            this.#call(String(name), values, () => method.apply(store, values)),
          )
        }
        return methods.get(name)
      },
    })
  }

  #subscribe(listener: (signal: StoreSignal) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** One call, there and back, with all that may become of it. */
  async #call(name: string, values: readonly unknown[], carryOut: () => Promise<unknown>): Promise<unknown> {
    const { trace, time, chance } = this.#around
    const process = this.#process
    await this.#travel()
    const faults = this.#around.faults()
    this.#dieWith(faults.crashInCall / 2)
    if (process.isGone) return new Promise(() => {})
    if (process.isCutOff || chance.is(faults.lostRequest)) {
      trace.add(`${time.elapsed} ${process.name} ${name} unheard`)
      this.#around.count('requests lost')
      if (chance.is(faults.lateRequest)) this.#hearLate(name, values, carryOut)
      throw unavailable()
    }
    const answer = await this.#carryOut(name, values, carryOut)
    if ('error' in answer) await this.#travel()
    else await this.#comeBack(name)
    if (process.isGone) return new Promise(() => {})
    if ('error' in answer) throw answer.error
    return answer.value
  }

  async #carryOut(name: string, values: readonly unknown[], carryOut: () => Promise<unknown>): Promise<Answer> {
    const { trace, time, watchClaim } = this.#around
    let answer: Answer
    this.#calls++
    try {
      const claim = carryOut as () => Promise<Claimed>
      const isClaim = name === 'claimJobs'
      answer = { value: await (isClaim ? watchClaim(values[0] as ClaimRequest, claim) : carryOut()) }
    } catch (error) {
      answer = { error }
    } finally {
      this.#calls--
    }
    const told = 'error' in answer ? String(answer.error) : name.includes('Secret') ? 'a secret' : shortOf(answer.value)
    trace.add(`${time.elapsed} ${this.#process.name} ${name} ${told}`)
    return answer
  }

  /** A request that its process has given up lay on the way, and is carried out after all. Nobody hears the answer. */
  #hearLate(name: string, values: readonly unknown[], carryOut: () => Promise<unknown>): void {
    const { time, chance, count, onTheWay } = this.#around
    this.#process.flaws.add('lost-answer')
    onTheWay.add(carryOut)
    time.after(chance.below(LATE_MS), ALWAYS_GOING, () => {
      count('requests heard late')
      void this.#carryOut(name, values, carryOut).then(() => onTheWay.delete(carryOut))
    })
  }

  /** The way back of an answer: it may take long, get lost, or find nobody any more. */
  async #comeBack(name: string): Promise<void> {
    const { chance, trace, time } = this.#around
    const process = this.#process
    const faults = this.#around.faults()
    this.#dieWith(faults.crashInCall / 2)
    if (chance.is(faults.lostReply) || process.isCutOff) {
      trace.add(`${time.elapsed} ${process.name} ${name} unanswered`)
      this.#around.count('answers lost')
      process.flaws.add('lost-answer')
      await this.#travel()
      if (!process.isGone) throw unavailable()
      return
    }
    await this.#travel()
  }

  /** Takes its time, if things are slow. A process that is stopped hears of it when it goes on. */
  async #travel(): Promise<void> {
    const { chance, time } = this.#around
    const { slow } = this.#around.faults()
    if (slow > 0 && chance.is(slow)) {
      const longest = chance.is(0.02) ? VERY_SLOW_MS : SLOW_MS
      await new Promise<void>((resolve) => time.after(chance.below(longest), ALWAYS_GOING, resolve))
    }
    if (this.#process.state !== 'going') await this.#process.going()
  }

  #dieWith(probability: number): void {
    if (probability === 0 || this.#process.isGone || !this.#around.chance.is(probability)) return
    this.#around.trace.add(`${this.#around.time.elapsed} ${this.#process.name} dies in a call`)
    this.#around.count('crashes in a call')
    this.#process.crash()
  }

  #hear(signal: StoreSignal): void {
    if (this.#process.isGone) return
    if (this.#calls > 0) {
      for (const listener of this.#listeners) listener(signal)
      return
    }
    const { chance, time } = this.#around
    if (this.#isToBeTold || chance.is(this.#around.faults().lostSignals)) return
    this.#isToBeTold = true
    time.after(chance.below(TOLD_WITHIN_MS), this.#process, () => {
      this.#isToBeTold = false
      for (const listener of this.#listeners) listener({ kind: 'changed-elsewhere' })
    })
  }
}

/** The network goes on, whoever is stopped. */
const ALWAYS_GOING = { state: 'going' } as const

function unavailable(): PawlError {
  return new PawlError('database_unavailable', 'The store does not answer.')
}

/** What is told of a node that another machine, or another process, would tell otherwise. */
const OF_THE_MACHINE: ReadonlySet<string> = new Set(['host', 'pid'])

/** Enough of an answer to tell two runs apart, and nothing that differs where the same seed is run again. */
function shortOf(value: unknown): string {
  if (value === undefined || value === null || typeof value !== 'object') return String(value)
  if (value instanceof Map || value instanceof Set) return `${value.size} of`
  if (Array.isArray(value)) return `${value.length} ${value.length > 0 ? shortOf(value[0]) : ''}`
  return Object.entries(value)
    .filter(([key]) => !OF_THE_MACHINE.has(key))
    .map(
      ([key, item]) =>
        `${key}=${typeof item === 'object' && item !== null ? (Array.isArray(item) ? item.length : '{}') : String(item)}`,
    )
    .join(' ')
}
