/** Numbers that look random and are the same again for the same seed (splitmix32, then sfc32). */
export class Chance {
  #a: number
  #b: number
  #c: number
  #counter = 1

  constructor(seed: number) {
    let state = (seed ^ Math.floor(seed / 0x1_0000_0000)) | 0
    const mix = () => {
      state = (state + 0x9e3779b9) | 0
      let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
      mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
      return (mixed ^ (mixed >>> 15)) | 0
    }
    this.#a = mix()
    this.#b = mix()
    this.#c = mix()
    for (let round = 0; round < 8; round++) this.next()
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0
    return (sum >>> 0) / 0x1_0000_0000
  }

  /** A whole number from 0 up to, not including, `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  is(probability: number): boolean {
    return this.next() < probability
  }

  of<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item
  }

  /** The items in another order. */
  shuffled<Item>(items: readonly Item[]): Item[] {
    const rest = [...items]
    const taken: Item[] = []
    while (rest.length > 0) taken.push(...rest.splice(this.below(rest.length), 1))
    return taken
  }

  /** Another source, which is not disturbed by what is drawn here from now on. */
  fork(): Chance {
    return new Chance(this.below(0x1_0000_0000))
  }
}
