/** Values that are dear to make, kept up to a number. The one made first goes first. */
export class BoundedCache<Key, Value> {
  readonly #values = new Map<Key, Value>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#values.size
  }

  /** What is kept under the key, or what `make` returns now. When `make` throws, nothing is kept. */
  get(key: Key, make: () => Value): Value {
    const kept = this.#values.get(key)
    if (kept !== undefined) return kept
    const made = make()
    if (this.#values.size >= this.#max) {
      for (const oldest of this.#values.keys()) {
        this.#values.delete(oldest)
        break
      }
    }
    this.#values.set(key, made)
    return made
  }
}
