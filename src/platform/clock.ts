/** A timer that has been set. */
export interface Timer {
  cancel(): void
}

/** Time is an argument: everything that asks for it, or waits, does so through this port. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number
  /**
   * Calls `wake` once, after the delay. A `poll` only looks again at what may have changed: a virtual clock that leaps
   * over a month need not stop for each of them.
   */
  after(delayMs: number, wake: () => void, kind?: 'poll'): Timer
}

/** Longer delays overflow in Node and would fire at once. */
const TIMEOUT_MAX_MS = 2_147_483_647

export const systemClock: Clock = {
  now: () => Date.now(),
  after(delayMs, wake) {
    let handle: NodeJS.Timeout
    const arm = (restMs: number): void => {
      handle =
        restMs > TIMEOUT_MAX_MS
          ? setTimeout(() => arm(restMs - TIMEOUT_MAX_MS), TIMEOUT_MAX_MS)
          : setTimeout(wake, Math.max(0, restMs))
    }
    arm(delayMs)
    return { cancel: () => clearTimeout(handle) }
  },
}

/** A clock of the caller's in whole milliseconds, whatever it tells: stores keep no others. */
export function wholeClock(clock: Clock): Clock {
  return { now: () => Math.floor(clock.now()), after: (delayMs, wake, kind) => clock.after(delayMs, wake, kind) }
}

/** Resolves after the delay. */
export function delay(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(delayMs, resolve)
  })
}
