/** Lists that are written at once. While so many are under way, what is added is gathered for the next. */
const UNDER_WAY_MAX = 4

/**
 * Gathers what is added in one turn of the event loop and hands it over as one list; each gets its own answer. Lists may
 * overtake each other.
 */
export class Batcher<Item, Answer> {
  readonly #write: (items: readonly Item[]) => Promise<readonly Answer[]>
  #pending: { item: Item; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = []
  #isFlushSet = false
  #underWay = 0
  #drainWaiters: (() => void)[] = []

  constructor(write: (items: readonly Item[]) => Promise<readonly Answer[]>) {
    this.#write = write
  }

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ item, resolve, reject })
      this.#setFlush()
    })
  }

  async drained(): Promise<void> {
    if (this.#pending.length > 0 || this.#underWay > 0) {
      await new Promise<void>((resolve) => this.#drainWaiters.push(resolve))
    }
  }

  #setFlush(): void {
    if (this.#isFlushSet || this.#underWay === UNDER_WAY_MAX) return
    this.#isFlushSet = true
    setImmediate(() => void this.#flush())
  }

  async #flush(): Promise<void> {
    const batch = this.#pending
    this.#pending = []
    this.#isFlushSet = false
    this.#underWay++
    try {
      const answers = await this.#write(batch.map(({ item }) => item))
      batch.forEach(({ resolve }, index) => resolve(answers[index] as Answer))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    this.#underWay--
    if (this.#pending.length > 0) this.#setFlush()
    else if (this.#underWay === 0) for (const resolve of this.#drainWaiters.splice(0)) resolve()
  }
}
