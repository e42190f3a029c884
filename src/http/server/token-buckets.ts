import type { Clock } from '../../platform/clock.ts'

interface Bucket {
  tokens: number
  at: number
}

/** More than so many at once, and full ones are forgotten: a forgotten bucket is a full one. */
const BUCKETS_MAX = 10_000

/** How often each of many may do something: so many times per second, and so many at once. */
export class TokenBuckets {
  readonly #clock: Clock
  readonly #perSecond: number
  readonly #buckets = new Map<string, Bucket>()

  constructor(clock: Clock, perSecond: number) {
    this.#clock = clock
    this.#perSecond = perSecond
  }

  /** Takes one. 0: it may. Otherwise after how many milliseconds it may. */
  take(name: string): number {
    const bucket = this.#fill(name)
    if (bucket.tokens < 1) return waitMs(bucket, this.#perSecond)
    bucket.tokens--
    return 0
  }

  #fill(name: string): Bucket {
    const now = this.#clock.now()
    const bucket = this.#buckets.get(name)
    if (bucket === undefined) return this.#add(name, now)
    // A clock that was set back gives nothing, and takes nothing away.
    const passedMs = Math.max(0, now - bucket.at)
    bucket.tokens = Math.min(this.#perSecond, bucket.tokens + (passedMs / 1_000) * this.#perSecond)
    bucket.at = now
    return bucket
  }

  #add(name: string, now: number): Bucket {
    if (this.#buckets.size >= BUCKETS_MAX) this.#forgetSome(now)
    const bucket = { tokens: this.#perSecond, at: now }
    this.#buckets.set(name, bucket)
    return bucket
  }

  /** A bucket is full again after a second. If all are in use, the oldest goes. */
  #forgetSome(now: number): void {
    for (const [name, { at }] of this.#buckets) if (now - at >= 1_000) this.#buckets.delete(name)
    for (const name of this.#buckets.keys()) {
      if (this.#buckets.size < BUCKETS_MAX) return
      this.#buckets.delete(name)
    }
  }
}

function waitMs({ tokens }: Bucket, perSecond: number): number {
  return Math.max(1, Math.ceil(((1 - tokens) / perSecond) * 1_000))
}
