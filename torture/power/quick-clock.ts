import type { Clock } from 'pawl'

/** A clock that goes faster than others, the same for all processes that know when it was set. */
export interface QuickTime {
  /** Epoch milliseconds that it showed when it was set. */
  readonly epochAt: number
  /** When that was, in milliseconds of the clock that all processes of a machine share. */
  readonly setAt: number
  readonly speed: number
}

export function sharedNow(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Retries, schedules and deliveries come as often in a second as they otherwise would in many. */
export class QuickClock implements Clock {
  readonly #time: QuickTime
  #heldAt: number | null = null

  constructor(time: QuickTime) {
    this.#time = time
  }

  now(): number {
    const { epochAt, setAt, speed } = this.#time
    return this.#heldAt ?? Math.floor(epochAt + (sharedNow() - setAt) * speed)
  }

  after(delayMs: number, wake: () => void): { cancel(): void } {
    const timer = setTimeout(wake, Math.min(delayMs / this.#time.speed, 2_147_483_647))
    return { cancel: () => clearTimeout(timer) }
  }

  /** Does something at this instant, however long the machine takes for it. */
  hold<T>(instant: number, work: () => T): T {
    this.#heldAt = instant
    try {
      return work()
    } finally {
      this.#heldAt = null
    }
  }
}
