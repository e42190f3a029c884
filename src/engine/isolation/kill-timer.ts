import { systemClock, type Timer } from '../../platform/clock.ts'

/**
 * Gives a thread or child some time to end by itself, and kills it when that is over. Threads and processes live in real
 * time, whatever clock the scheduler was given, so this takes the system's.
 */
export class KillTimer {
  readonly #graceMs: number
  readonly #kill: () => void
  #timer: Timer | null = null
  #hasFired = false

  constructor(graceMs: number, kill: () => void) {
    this.#graceMs = graceMs
    this.#kill = kill
  }

  /** The grace begins. Beginning it again does not prolong it. */
  arm(): void {
    this.#timer ??= systemClock.after(this.#graceMs, () => {
      this.#hasFired = true
      this.#kill()
    })
  }

  /** It has ended. */
  disarm(): void {
    this.#timer?.cancel()
  }

  get hasFired(): boolean {
    return this.#hasFired
  }
}
