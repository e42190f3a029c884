import { EventTail, type EventTailParts } from './event-tail.ts'

export interface FollowedTail {
  readonly tail: EventTail
  readonly leave: () => void
}

/** One tail for all who follow: it begins with the first of them and ends with the last. */
export class SharedTail {
  readonly #parts: EventTailParts
  #tail: EventTail | null = null
  #begun: Promise<void> = Promise.resolve()
  #followers = 0

  constructor(parts: EventTailParts) {
    this.#parts = parts
  }

  async follow(): Promise<FollowedTail> {
    if (this.#tail === null) {
      this.#tail = new EventTail(this.#parts)
      this.#begun = this.#tail.begin()
    }
    const tail = this.#tail
    this.#followers++
    const leave = onceOnly(() => this.#leave())
    try {
      await this.#begun
    } catch (error) {
      leave()
      throw error
    }
    return { tail, leave }
  }

  #leave(): void {
    this.#followers--
    if (this.#followers > 0) return
    this.#tail?.end()
    this.#tail = null
  }
}

function onceOnly(work: () => void): () => void {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    work()
  }
}
