// Time that passes only when it is told to, for everything in this process.

/** Somebody whose timers fire only while he goes on. */
export interface Sleeper {
  /** `gone`: his timers never fire. `stopped`: they fire when he goes on. */
  readonly state: 'going' | 'stopped' | 'gone'
}

interface Alarm {
  readonly at: number
  readonly number: number
  readonly sleeper: Sleeper
  readonly wake: () => void
  isCancelled: boolean
}

const BEGINNING = Date.UTC(2026, 0, 5, 9)

/** How often timers may lead to timers at the same instant before something is going round in circles. */
const TURNS_MAX = 100_000

/**
 * The only clock of a simulation. While it is in force, nothing in this process can wait for real time: an immediate comes when
 * the simulation lets it, and a timeout is an error, because a run that waits for real time could not be repeated.
 */
export class SimulatedTime {
  #elapsed = 0
  #offset = 0
  #pollsSlowedBy = 1
  #count = 0
  #alarms: Alarm[] = []
  #immediates: (() => void)[] = []
  #real: { readonly immediate: typeof setImmediate; readonly timeout: typeof setTimeout } | null = null

  /** Milliseconds that really passed since the beginning. It never goes back. */
  get elapsed(): number {
    return this.#elapsed
  }

  /** What the clock on the wall says, which somebody may have set. */
  now(): number {
    return BEGINNING + this.#elapsed + this.#offset
  }

  /** Sets the clock on the wall. Nobody waits longer or shorter for that. */
  setWall(stepMs: number): void {
    this.#offset += stepMs
  }

  /** From now on, who only looks again at what may have changed does so less often. */
  slowDownPolls(factor: number): void {
    this.#pollsSlowedBy = factor
  }

  after(delayMs: number, sleeper: Sleeper, wake: () => void, kind?: 'poll'): { cancel(): void } {
    const factor = kind === 'poll' ? this.#pollsSlowedBy : 1
    const at = this.#elapsed + Math.max(0, Math.round(delayMs)) * factor
    const alarm: Alarm = { at, number: ++this.#count, sleeper, wake, isCancelled: false }
    this.#insert(alarm)
    return {
      cancel() {
        alarm.isCancelled = true
      },
    }
  }

  /** Puts the simulated immediates into force, until `end`. */
  begin(): void {
    this.#real = { immediate: globalThis.setImmediate, timeout: globalThis.setTimeout }
    const immediate = (callback: (...values: unknown[]) => void, ...values: unknown[]) => {
      this.#immediates.push(() => callback(...values))
      return {}
    }
    const timeout = () => {
      throw new Error('Something waits for real time within a simulation.')
    }
    globalThis.setImmediate = immediate as unknown as typeof setImmediate
    globalThis.setTimeout = timeout as unknown as typeof setTimeout
  }

  end(): void {
    if (this.#real === null) return
    globalThis.setImmediate = this.#real.immediate
    globalThis.setTimeout = this.#real.timeout
    this.#real = null
    this.#alarms = []
    this.#immediates = []
  }

  /** Lets everything happen that happens without time passing. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      await this.#drainPromises()
      if (this.#immediates.length === 0) return
      for (const callback of this.#immediates.splice(0)) callback()
    }
    throw new Error('Something goes round in circles without time passing.')
  }

  /** Lets time pass up to this moment, and everything happen on the way. */
  async runUntil(elapsed: number): Promise<void> {
    await this.settle()
    for (let next = this.#nextDue(elapsed); next !== null; next = this.#nextDue(elapsed)) {
      this.#elapsed = Math.max(this.#elapsed, next.at)
      next.wake()
      await this.settle()
    }
    this.#elapsed = Math.max(this.#elapsed, elapsed)
  }

  /** All promises that can be settled are when a real turn of the event loop is over. */
  #drainPromises(): Promise<void> {
    const immediate = this.#real?.immediate ?? setImmediate
    return new Promise((resolve) => {
      immediate(resolve)
    })
  }

  /** The first alarm up to this moment whose sleeper goes on. Those of the stopped keep their places. */
  #nextDue(elapsed: number): Alarm | null {
    for (let index = 0; index < this.#alarms.length; index++) {
      const alarm = this.#alarms[index] as Alarm
      if (alarm.at > elapsed) return null
      if (alarm.isCancelled || alarm.sleeper.state === 'gone') {
        this.#alarms.splice(index--, 1)
        continue
      }
      if (alarm.sleeper.state === 'stopped') continue
      this.#alarms.splice(index, 1)
      return alarm
    }
    return null
  }

  /** Kept in the order of their moments, then of their setting. */
  #insert(alarm: Alarm): void {
    let [low, high] = [0, this.#alarms.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#alarms[middle] as Alarm).at <= alarm.at) low = middle + 1
      else high = middle
    }
    this.#alarms.splice(low, 0, alarm)
  }
}
