/** Gathers what is added in one turn of the event loop and hands it over as one list; each gets its own answer. */
export class Batcher<Item, Answer> {
  readonly #write: (items: readonly Item[]) => Promise<readonly Answer[]>
  #pending: { item: Item; resolve: (answer: Answer) => void; reject: (error: unknown) => void }[] = []
  #underWay = 0
  #drainWaiters: (() => void)[] = []

  constructor(write: (items: readonly Item[]) => Promise<readonly Answer[]>) {
    this.#write = write
  }

  add(item: Item): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ item, resolve, reject })
      if (this.#pending.length === 1) {
        this.#underWay++
        setImmediate(() => void this.#flush())
      }
    })
  }

  async drained(): Promise<void> {
    if (this.#underWay > 0) await new Promise<void>((resolve) => this.#drainWaiters.push(resolve))
  }

  async #flush(): Promise<void> {
    const batch = this.#pending
    this.#pending = []
    try {
      const answers = await this.#write(batch.map(({ item }) => item))
      batch.forEach(({ resolve }, index) => resolve(answers[index] as Answer))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    this.#underWay--
    if (this.#underWay === 0) for (const resolve of this.#drainWaiters.splice(0)) resolve()
  }
}
