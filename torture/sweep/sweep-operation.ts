import { inspect, isDeepStrictEqual } from 'node:util'
import type { Store } from 'pawl/store'
import type { FaultPoint } from 'pawl/testing'
import { breakAt, breaksOff, loseAnswerOf, mend } from './breaks.ts'
import type { Place, SweptDatabase, Tables } from './database.ts'
import { HOUR, NOW } from './fixtures.ts'
import { watchCalls } from './methods.ts'
import { type Operation, Stage } from './stage.ts'

/** `every`: at every statement. `fewer`: at the first eight, then at fewer and fewer, where each try takes longer. */
export type Pace = 'every' | 'fewer'

export interface Swept {
  /** How often it was broken off, and nothing of it was to be found. */
  readonly breakOffs: number
  /** How often its answer was lost after it had been committed. */
  readonly lostAnswers: number
  /** What was wrong, a sentence each. */
  readonly faults: readonly string[]
}

/** No operation has so many statements: one that has goes round in circles. */
const STATEMENTS_MAX = 20_000

const EVENT_TABLES = ['pawl_events', 'sqlite_sequence']

/** Later than anything that an operation does. */
const AFTERWARDS = NOW + 4 * HOUR

/**
 * Breaks an operation off before its first statement, before its second, and so on until it passes whole. Before the second is
 * after the first; and right before the commit is after the last. Then the answer to its commit is lost.
 */
export async function sweepOperation(
  operation: Operation,
  place: Place,
  { pace = 'every', called = new Set<string>() }: { readonly pace?: Pace; readonly called?: Set<string> } = {},
): Promise<Swept> {
  const sweep = new Sweep(operation, place, pace, called)
  try {
    await sweep.breakEverywhere()
  } catch (error) {
    sweep.faults.push(`failed: ${inspect(error)}`)
  } finally {
    mend()
    await sweep.close()
  }
  return sweep
}

interface Scene {
  readonly database: SweptDatabase
  readonly stage: Stage
  readonly operate: () => Promise<unknown>
}

class Sweep implements Swept {
  readonly faults: string[] = []
  breakOffs = 0
  lostAnswers = 0
  readonly #operation: Operation
  readonly #place: Place
  readonly #pace: Pace
  readonly #called: Set<string>
  readonly #ends: (() => Promise<void>)[] = []
  #isOperating = false

  constructor(operation: Operation, place: Place, pace: Pace, called: Set<string>) {
    this.#operation = operation
    this.#place = place
    this.#pace = pace
    this.#called = called
  }

  async breakEverywhere(): Promise<void> {
    const scene = await this.#prepareAnew()
    const before = await scene.database.tables()
    if (this.#operation.commits !== 'caller') {
      const isBroken = await this.#breaks(scene, 'store:before-commit', 1)
      if (!isBroken) this.#fault('was not to be broken off before its commit')
      this.#same(before, await scene.database.tables(), 'broken off before its commit, it had left something')
    }
    const { statements, copy } = await this.#breakAtStatements(scene)
    if (statements < 2) this.#fault('has no statement at which it can be broken off')
    const after = await scene.database.tables()
    if (isDeepStrictEqual(before, after)) this.#fault('was done whole, and nothing has changed')
    await this.#holds(scene.stage.store, 'when it was done')
    await this.#reopen(scene, copy ?? scene.database, after)
    if (this.#place.kind === 'postgres' && this.#pace === 'every') await this.#loseEachAnswer(after)
  }

  async close(): Promise<void> {
    for (const end of this.#ends.splice(0).toReversed()) await end()
  }

  async #prepare(): Promise<Scene> {
    const database = await this.#place.create()
    this.#ends.push(() => database.remove())
    const stage = await Stage.on(database, await this.#open(database))
    const operation = await this.#operation.prepare(stage)
    const operate = async () => {
      this.#isOperating = true
      try {
        return await operation()
      } finally {
        this.#isOperating = false
      }
    }
    return { database, stage, operate }
  }

  async #open(database: SweptDatabase): Promise<Store> {
    const store = await database.open()
    this.#ends.push(() => store.close())
    return watchCalls(store, this.#called, () => this.#isOperating)
  }

  /** True: it was broken off, and is to be tried again. */
  async #breaks({ database, operate }: Scene, at: FaultPoint, nth: number, onPass = () => {}): Promise<boolean> {
    breakAt(database.kind, at, nth, (point) => point === 'store:after-commit' && onPass())
    const isBroken = await breaksOff(operate)
    if (!isBroken) return false
    this.breakOffs++
    if (await database.hasChanged()) this.#fault(`broken off at ${at} ${nth}, it had changed something`)
    return true
  }

  /** Until it passes whole. Where that is possible, with a copy of what a crash right after its commit would have left. */
  async #breakAtStatements(scene: Scene): Promise<{ statements: number; copy: SweptDatabase | null }> {
    const copies: SweptDatabase[] = []
    const take = () => copies.push(...[scene.database.copyNow()].filter((copy) => copy !== null))
    let nth = 1
    while (await this.#breaks(scene, 'store:statement', nth, take)) {
      nth = this.#pace === 'every' || nth < 8 ? nth + 1 : Math.ceil(nth * 1.5)
      if (nth > STATEMENTS_MAX) throw new Error(`has more than ${STATEMENTS_MAX} statements`)
    }
    this.#ends.push(...copies.map((copy) => () => copy.remove()))
    return { statements: nth, copy: copies.at(-1) ?? null }
  }

  /** A process that died right after the commit: another one opens what is there, and is asked for the same again. */
  async #reopen({ stage, operate }: Scene, left: SweptDatabase, after: Tables): Promise<void> {
    this.lostAnswers++
    this.#same(after, await left.tables(), 'right after its commit, not all of it was there')
    stage.database = left
    stage.store = await this.#open(left)
    await this.#again({ database: left, stage, operate })
  }

  /** On a server the answer to any statement may be lost. Then all of it is there, or nothing. */
  async #loseEachAnswer(after: Tables): Promise<void> {
    let scene = await this.#prepareAnew()
    for (let nth = 1; nth < STATEMENTS_MAX; nth++) {
      loseAnswerOf(nth)
      const isBroken = await breaksOff(scene.operate)
      const hasChanged = await scene.database.hasChanged()
      if (isBroken && !hasChanged) this.breakOffs++
      if (!hasChanged) continue
      if (!isBroken) return
      this.lostAnswers++
      const sizes = sizesOf(await scene.database.tables())
      this.#same(sizesOf(after), sizes, `after the lost answer ${nth}, not all of it was there`)
      scene.stage.store = await this.#open(scene.database)
      await this.#holds(scene.stage.store, `after the lost answer ${nth}`)
      await this.#again(scene)
      scene = await this.#prepareAnew()
    }
  }

  async #prepareAnew(): Promise<Scene> {
    const scene = await this.#prepare()
    await scene.database.hasChanged()
    return scene
  }

  /** Whoever got no answer asks once more. */
  async #again({ database, stage, operate }: Scene): Promise<void> {
    const { again = 'nothing' } = this.#operation
    const read = async () => (again === 'told' ? withoutEvents(await database.tables()) : database.tables())
    const before = await read()
    const error: unknown = await operate().then(
      () => null,
      (thrown: unknown) => thrown,
    )
    if ((error !== null) !== (again === 'refused')) {
      this.#fault(`asked once more, it ${error === null ? 'was not refused' : `threw ${inspect(error)}`}`)
    }
    if (again !== 'more') this.#same(before, await read(), 'asked once more, it changed something')
    await this.#holds(stage.store, 'after it was asked once more')
  }

  /** No invariant is contradicted by what is stored. */
  async #holds(store: Store, when: string): Promise<void> {
    for (const { invariant, findings } of await store.checkInvariants(AFTERWARDS)) {
      for (const { severity, message, rows } of findings) {
        if (severity === 'fault') this.#fault(`${when}, ${invariant}: ${message} (${rows.join(', ')})`)
      }
    }
  }

  #same(expected: unknown, found: unknown, message: string): void {
    if (!isDeepStrictEqual(expected, found)) this.#fault(`${message}: ${difference(expected, found)}`)
  }

  #fault(message: string): void {
    this.faults.push(message)
  }
}

function withoutEvents(tables: Tables): Tables {
  return Object.fromEntries(Object.entries(tables).filter(([name]) => !EVENT_TABLES.includes(name)))
}

/** How many rows there are: numbers that are drawn from sequences differ from try to try. */
function sizesOf(tables: Tables): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(tables).map(([name, rows]) => [name, rows.length]))
}

/** The first table in which they differ, as far as it is worth reading. */
function difference(expected: unknown, found: unknown): string {
  const [one, other] = [expected, found] as [Record<string, unknown>, Record<string, unknown>]
  const name = Object.keys({ ...one, ...other }).find((key) => !isDeepStrictEqual(one[key], other[key])) ?? ''
  const shown = (value: unknown) => JSON.stringify(value)?.slice(0, 600)
  return `${name} was ${shown(one[name])}, is ${shown(other[name])}`
}
