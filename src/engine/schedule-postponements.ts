import type { Schedule } from '../domain/schedule.ts'

const TRY_AGAIN_AFTER_MS = 5_000

/** Of more than so many, those that do not wait any more are forgotten. */
const KEPT_MAX = 10_000

interface Postponement {
  readonly revision: number
  readonly reason: string
  readonly untilAt: number
}

/**
 * The schedules that are due, but could not be fired for a reason that may pass. Each process has its own: another one may
 * have a schema that answers.
 */
export class Postponements {
  readonly #kept = new Map<string, Postponement>()

  /** `known`: it was postponed for the same reason before, and has not been fired here since. */
  add({ scheduleId, revision }: Schedule, reason: string, now: number): 'new' | 'known' {
    if (this.#kept.size >= KEPT_MAX) this.#forgetPast(now)
    const before = this.#kept.get(scheduleId)
    this.#kept.set(scheduleId, { revision, reason, untilAt: now + TRY_AGAIN_AFTER_MS })
    return before?.reason === reason ? 'known' : 'new'
  }

  forget(scheduleId: string): void {
    this.#kept.delete(scheduleId)
  }

  /** A schedule that was changed since is tried at once. */
  isWaiting({ scheduleId, revision }: Schedule, now: number): boolean {
    const postponement = this.#kept.get(scheduleId)
    return postponement !== undefined && postponement.revision === revision && isAhead(postponement, now)
  }

  /** How many wait, and when the first of them is to be tried again. */
  waiting(now: number): { readonly count: number; readonly firstAt: number | null } {
    let count = 0
    let firstAt: number | null = null
    for (const postponement of this.#kept.values()) {
      if (!isAhead(postponement, now)) continue
      count++
      firstAt = Math.min(firstAt ?? postponement.untilAt, postponement.untilAt)
    }
    return { count, firstAt }
  }

  #forgetPast(now: number): void {
    for (const [scheduleId, postponement] of this.#kept) {
      if (!isAhead(postponement, now)) this.#kept.delete(scheduleId)
    }
  }
}

/** What lies further ahead than any postponement reaches was decided before the clock was set back. */
function isAhead({ untilAt }: Postponement, now: number): boolean {
  return untilAt > now && untilAt <= now + TRY_AGAIN_AFTER_MS
}
