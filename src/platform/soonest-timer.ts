import type { Clock, Timer } from './clock.ts'

/** One timer for a look that may be asked for often. One that is due sooner is never put off: reasons may come without end. */
export class SoonestTimer {
  readonly #clock: Clock
  readonly #wake: () => void
  #timer: Timer | null = null
  #dueAt = 0

  constructor(clock: Clock, wake: () => void) {
    this.#clock = clock
    this.#wake = wake
  }

  /** Wakes within this time. It is a poll: a virtual clock may leap over it. */
  within(delayMs: number): void {
    const dueAt = this.#clock.now() + delayMs
    if (this.#timer !== null && this.#dueAt <= dueAt) return
    this.#timer?.cancel()
    this.#dueAt = dueAt
    this.#timer = this.#clock.after(
      delayMs,
      () => {
        this.#timer = null
        this.#wake()
      },
      'poll',
    )
  }

  cancel(): void {
    this.#timer?.cancel()
    this.#timer = null
  }
}
