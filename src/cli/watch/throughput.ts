const WINDOW_S = 10

/** How many a second, over the last ten. Counted by the second, so that it costs the same at any speed. */
export class Throughput {
  readonly #counts = new Map<number, number>()
  #since: number | null = null

  count(now: number): void {
    const second = Math.floor(now / 1_000)
    this.#since ??= second
    this.#counts.set(second, (this.#counts.get(second) ?? 0) + 1)
    for (const counted of this.#counts.keys()) if (counted < second - WINDOW_S) this.#counts.delete(counted)
  }

  perSecond(now: number): number {
    const second = Math.floor(now / 1_000)
    let sum = 0
    for (const [counted, count] of this.#counts) if (counted > second - WINDOW_S) sum += count
    const seconds = Math.min(WINDOW_S, second - (this.#since ?? second) + 1)
    return sum / seconds
  }
}
