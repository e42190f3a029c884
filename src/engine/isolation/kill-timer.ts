import { systemClock, type Timer } from '../../platform/clock.ts'
import type { InterruptCause } from './body.ts'

/** Soon others may start such a body anew, so it gets no more than this, whatever its type says. */
const DISCONNECTED_GRACE_MAX_MS = 2_000

/**
 * Gives a thread or child some time to end by itself, and kills it when that is over. Threads and processes live in real
 * time, whatever clock the scheduler was given, so this takes the system's.
 */
export class KillTimer {
  #graceMs: number
  readonly #kill: () => void
  #timer: Timer | null = null
  #hasFired = false

  constructor(graceMs: number, kill: () => void) {
    this.#graceMs = graceMs
    this.#kill = kill
  }

  /** The grace begins. Beginning it again does not prolong it. */
  arm(cause: InterruptCause | null): void {
    if (this.#timer !== null) return
    if (cause === 'disconnected') this.#graceMs = Math.min(this.#graceMs, DISCONNECTED_GRACE_MAX_MS)
    this.#timer = systemClock.after(this.#graceMs, () => {
      this.#hasFired = true
      this.#kill()
    })
  }

  /** It has ended. */
  disarm(): void {
    this.#timer?.cancel()
  }

  get graceMs(): number {
    return this.#graceMs
  }

  get hasFired(): boolean {
    return this.#hasFired
  }
}
