import type { Clock, Scheduler, Timer } from 'pawl'
import type { SimulatedTime, Sleeper } from './time.ts'

/** Why a node may have lost what it executed, or may have been taken for dead. */
export type Flaw = 'crashed' | 'stopped' | 'cut-off' | 'lost-answer' | 'closed'

/** One process of the simulation: it goes on, is stopped for a while, or is gone. */
export class SimulatedProcess implements Sleeper {
  readonly name: string
  readonly flaws = new Set<Flaw>()
  /** Its only clock. */
  readonly clock: Clock
  scheduler: Scheduler | null = null
  /** It was told to end, in good order. */
  isClosing = false
  /** When it was gone, and when it was first stopped or cut off. Null: never. */
  goneAt: number | null = null
  disturbedAt: number | null = null
  readonly #time: SimulatedTime
  #state: Sleeper['state'] = 'going'
  #isCutOff = false
  #waiting: (() => void)[] = []

  constructor(name: string, time: SimulatedTime) {
    this.name = name
    this.#time = time
    this.clock = {
      now: () => time.now(),
      after: (delayMs: number, wake: () => void, kind?: 'poll'): Timer => time.after(delayMs, this, wake, kind),
    }
  }

  get state(): Sleeper['state'] {
    return this.#state
  }

  /** It does not reach the store. */
  get isCutOff(): boolean {
    return this.#isCutOff
  }

  get isGone(): boolean {
    return this.#state === 'gone'
  }

  /** From one moment to the next it is gone, with all that it held in memory. */
  crash(): void {
    if (this.#state === 'gone') return
    this.#state = 'gone'
    this.goneAt = this.#time.elapsed
    this.flaws.add('crashed')
    this.#waiting = []
  }

  stop(): void {
    if (this.#state !== 'going') return
    this.#state = 'stopped'
    this.flaws.add('stopped')
    this.disturbedAt ??= this.#time.elapsed
  }

  goOn(): void {
    if (this.#state !== 'stopped') return
    this.#state = 'going'
    for (const wake of this.#waiting.splice(0)) wake()
  }

  cutOff(isCutOff: boolean): void {
    this.#isCutOff = isCutOff
    if (!isCutOff) return
    this.flaws.add('cut-off')
    this.disturbedAt ??= this.#time.elapsed
  }

  /** Resolves at once while it goes on; when it goes on again, if it is stopped; never, if it is gone. */
  async going(): Promise<void> {
    while (this.#state !== 'going') {
      await new Promise<void>((resolve) => {
        if (this.#state === 'stopped') this.#waiting.push(resolve)
      })
    }
  }

  /** Waits, unless the signal says otherwise. */
  wait(delayMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = this.#time.after(delayMs, this, resolve)
      signal?.addEventListener('abort', () => {
        timer.cancel()
        reject(signal.reason)
      })
    })
  }
}
