import { afterGrace } from '../../platform/process-grace.ts'

/** Gives a thread or child some time to end by itself, and kills it when that is over. */
export class KillTimer {
  readonly #graceMs: number
  readonly #kill: () => void
  #disarm: (() => void) | null = null
  #hasFired = false

  constructor(graceMs: number, kill: () => void) {
    this.#graceMs = graceMs
    this.#kill = kill
  }

  /** The grace begins. Beginning it again does not prolong it. */
  arm(): void {
    this.#disarm ??= afterGrace(this.#graceMs, () => {
      this.#hasFired = true
      this.#kill()
    })
  }

  /** It has ended. */
  disarm(): void {
    this.#disarm?.()
  }

  get hasFired(): boolean {
    return this.#hasFired
  }
}
