import type { Schedule } from '../domain/schedule.ts'
import type { Clock } from '../platform/clock.ts'
import type { StoreSignal } from '../store/events.ts'
import type { ScheduleStore } from '../store/schedules.ts'
import { Lookout } from './lookout.ts'
import type { NodePart } from './node-part.ts'
import { fireSchedules, type SchedulePageParts } from './schedule-page.ts'
import { Postponements } from './schedule-postponements.ts'

export interface ScheduleTriggerParts extends Omit<SchedulePageParts, 'postponements'> {
  readonly store: Pick<ScheduleStore, 'findDueSchedules' | 'findSchedulesPlannedAfter' | 'nextSlotAt'> &
    SchedulePageParts['store']
  readonly clock: Clock
}

/** Schedules that are read at once. */
const PAGE = 100

/** Clocks of several processes differ by a little; only more than this means that the clock was set back. */
const CLOCK_TOLERANCE_MS = 1_000

/**
 * Makes the Jobs of slots that have come. Every started node does it, and none leads: the store lets one of them win each
 * slot. Between slots it sleeps, however many schedules there are.
 */
export class ScheduleTrigger implements NodePart {
  readonly during = 'claiming'
  readonly #parts: ScheduleTriggerParts & SchedulePageParts
  readonly #lookout: Lookout

  constructor(parts: ScheduleTriggerParts) {
    const { clock, logger } = parts
    this.#parts = { ...parts, postponements: new Postponements() }
    const failure = 'Schedules cannot be fired; trying again'
    this.#lookout = new Lookout({ clock, logger, look: () => this.#fireAllDue(), failure })
  }

  /** Nothing of it is under way. */
  get isQuiet(): boolean {
    return this.#lookout.isQuiet
  }

  start(): void {
    this.#lookout.start()
  }

  stop(): Promise<void> {
    return this.#lookout.stop()
  }

  hear(signal: StoreSignal): void {
    if (signal.kind === 'stirred' && signal.what.has('schedules')) this.#lookout.wake()
    else if (signal.kind === 'changed-elsewhere') this.#lookout.wakeSoon()
  }

  /** Page by page. Returns when the next slot comes, or a postponed one is to be tried again. */
  async #fireAllDue(): Promise<number | null> {
    const { store, clock } = this.#parts
    while (this.#lookout.isRunning) {
      const now = clock.now()
      const planned = await store.findSchedulesPlannedAfter(now + CLOCK_TOLERANCE_MS, PAGE)
      // An answer that took longer shows what others have planned meanwhile, and their clocks are as right as this one.
      const isFresh = clock.now() - now <= CLOCK_TOLERANCE_MS
      if (planned.length > 0 && isFresh) {
        // They are planned anew in any case, or this page would come back at once.
        await fireSchedules(this.#parts, planned, now, 'make')
        continue
      }
      const nextSlotAt = await store.nextSlotAt()
      if (nextSlotAt === null || nextSlotAt > now) return nextSlotAt
      const due = await this.#findNotWaiting(now, now)
      const { firstAt } = this.#parts.postponements.waiting(now)
      if (due.length > 0) await this.#fireInPages(due)
      else if (firstAt !== null) return (await this.#findNotWaiting(now, firstAt))[0]?.nextSlotAt ?? firstAt
    }
    return null
  }

  /** Those whose slot comes up to `until`, but for the postponed ones that wait. As many as wait are read on top. */
  async #findNotWaiting(now: number, until: number): Promise<readonly Schedule[]> {
    const { store, postponements } = this.#parts
    const { count } = postponements.waiting(now)
    // Twice as many: when thousands are postponed one page after the other, each read takes in as many as all before it.
    const found = await store.findDueSchedules(until, PAGE + 2 * count)
    return found.filter((schedule) => !postponements.isWaiting(schedule, now))
  }

  async #fireInPages(due: readonly Schedule[]): Promise<void> {
    for (let index = 0; index < due.length && this.#lookout.isRunning; index += PAGE) {
      await fireSchedules(this.#parts, due.slice(index, index + PAGE), this.#parts.clock.now(), 'postpone')
    }
  }
}
