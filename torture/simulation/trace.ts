import { createHash, type Hash } from 'node:crypto'

/** All that happened in a run, in its order, as one number: the same seed must give it again. */
export class Trace {
  readonly #hash: Hash = createHash('sha256')
  readonly #lines: string[] | null
  #count = 0

  /** @param isKept whether the lines can be read afterwards */
  constructor(isKept = false) {
    this.#lines = isKept ? [] : null
  }

  add(line: string): void {
    this.#count++
    this.#hash.update(line).update('\n')
    this.#lines?.push(line)
  }

  /** How many steps there were. */
  get length(): number {
    return this.#count
  }

  get lines(): readonly string[] {
    return this.#lines ?? []
  }

  /** Ends it. */
  digest(): string {
    return this.#hash.digest('hex').slice(0, 16)
  }
}
