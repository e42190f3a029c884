import type { Clock, Timer } from '../platform/clock.ts'
import type { Logger } from '../platform/logger.ts'
import { SoonestTimer } from '../platform/soonest-timer.ts'

export interface LookoutParts {
  readonly clock: Clock
  readonly logger: Logger
  /** Does what is to be done now. Answers at which instant to look again, if there is a reason. */
  readonly look: () => Promise<number | null>
  /** Told when a look has failed: once, however many fail after it. */
  readonly failure: string
}

/** A lost sign, a computer that slept and a clock that was set must not stop anything: so often it looks. */
const LOOK_AT_LEAST_EVERY_MS = 5_000

/** Other processes may commit without end, and most of what they write is of no concern. */
const LOOK_AFTER_CHANGE_MS = 250

const LOOK_AFTER_FAILURE_MS = 500

/**
 * Looks whether there is something to do: when it is woken, at the instant that the last look named, and every so often in
 * any case. Two looks never overlap: one that is wanted meanwhile follows.
 */
export class Lookout {
  readonly #parts: LookoutParts
  readonly #poll: SoonestTimer
  #isRunning = false
  #isWoken = false
  #isFailing = false
  #looking: Promise<void> | null = null
  #timer: Timer | null = null

  constructor(parts: LookoutParts) {
    this.#parts = parts
    this.#poll = new SoonestTimer(parts.clock, () => this.wake())
  }

  get isRunning(): boolean {
    return this.#isRunning
  }

  /** No look is under way. */
  get isQuiet(): boolean {
    return this.#looking === null
  }

  start(): void {
    this.#isRunning = true
    this.wake()
  }

  /** Looks no more. Resolves when the look that is under way has ended. */
  async stop(): Promise<void> {
    this.#isRunning = false
    this.#cancelTimers()
    await this.#looking
  }

  wake(): void {
    if (!this.#isRunning) return
    this.#isWoken = true
    this.#looking ??= this.#lookWhileWoken()
  }

  /** Something was changed elsewhere. It may be of concern, but rarely is. */
  wakeSoon(): void {
    if (this.#isRunning) this.#poll.within(LOOK_AFTER_CHANGE_MS)
  }

  async #lookWhileWoken(): Promise<void> {
    const { clock } = this.#parts
    let nextLookAt: number | null = null
    while (this.#isWoken && this.#isRunning) {
      this.#isWoken = false
      this.#cancelTimers()
      nextLookAt = await this.#look()
      // The instant came while we looked.
      if (nextLookAt !== null && nextLookAt <= clock.now()) this.#isWoken = true
    }
    this.#looking = null
    if (!this.#isRunning) return
    if (nextLookAt !== null) this.#timer = clock.after(nextLookAt - clock.now(), () => this.wake())
    this.#poll.within(LOOK_AT_LEAST_EVERY_MS)
  }

  async #look(): Promise<number | null> {
    const { clock, logger, look, failure } = this.#parts
    try {
      const nextLookAt = await look()
      this.#isFailing = false
      return nextLookAt
    } catch (error) {
      if (!this.#isFailing && this.#isRunning) logger.error({ error }, failure)
      this.#isFailing = true
      return clock.now() + LOOK_AFTER_FAILURE_MS
    }
  }

  #cancelTimers(): void {
    this.#timer?.cancel()
    this.#poll.cancel()
    this.#timer = null
  }
}
