import type { Clock, Timer } from '../platform/clock.ts'

interface PendingTimer {
  at: number
  readonly number: number
  readonly wake: () => void
  readonly isPoll: boolean
}

/**
 * A clock that stands still until it is moved. Timers fire in the order of their instants, as the clock passes them. It shows whole
 * milliseconds, as every clock does: stores keep no others.
 */
export class SettableClock implements Clock {
  #now: number
  #timers: PendingTimer[] = []
  #count = 0

  /** @param now where it begins, epoch milliseconds or a Date */
  constructor(now: number | Date = Date.UTC(2026, 0, 1)) {
    this.#now = wholeMs(now)
  }

  now(): number {
    return this.#now
  }

  after(delayMs: number, wake: () => void, kind?: 'poll'): Timer {
    // Not before the delay has passed.
    const timer = {
      at: this.#now + Math.max(0, Math.ceil(delayMs)),
      number: ++this.#count,
      wake,
      isPoll: kind === 'poll',
    }
    this.#timers.push(timer)
    return {
      cancel: () => {
        this.#timers = this.#timers.filter((pending) => pending !== timer)
      },
    }
  }

  /** When the next timer that is not a poll is due, or null when none is set. */
  nextTimerAt(): number | null {
    return this.#first()?.at ?? null
  }

  /**
   * Moves to this instant and fires the timers on the way, without waiting for what they set off. A test of a scheduler
   * wants `advance` of its test scheduler instead. An earlier instant sets the clock back: nothing fires.
   */
  set(instant: number | Date): void {
    const target = wholeMs(instant)
    if (target < this.#now) return this.#setBack(target)
    for (let timer = this.#first(); timer !== null && timer.at <= target; timer = this.#first()) {
      this.#now = Math.max(this.#now, timer.at)
      this.#fire(timer)
    }
    this.#now = target
    // Polls that came due on the way fire once, here.
    for (const timer of this.#timers.filter(({ isPoll, at }) => isPoll && at <= target)) this.#fire(timer)
  }

  /** No time passes when a clock is set back: what was to come in ten seconds still comes in ten seconds. */
  #setBack(target: number): void {
    const stepMs = this.#now - target
    this.#now = target
    this.#timers = this.#timers.map((timer) => Object.assign(timer, { at: timer.at - stepMs }))
  }

  #fire(timer: PendingTimer): void {
    this.#timers = this.#timers.filter((pending) => pending !== timer)
    timer.wake()
  }

  #first(): PendingTimer | null {
    let first: PendingTimer | null = null
    for (const timer of this.#timers) {
      if (timer.isPoll) continue
      if (first === null || timer.at < first.at || (timer.at === first.at && timer.number < first.number)) first = timer
    }
    return first
  }
}

function wholeMs(instant: number | Date): number {
  return Math.floor(typeof instant === 'number' ? instant : instant.getTime())
}
