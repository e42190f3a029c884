import type { Schedule } from '../domain/schedule.ts'
import type { Clock, Timer } from '../platform/clock.ts'
import { SoonestTimer } from '../platform/soonest-timer.ts'
import type { StoreSignal } from '../store/events.ts'
import type { ScheduleStore } from '../store/schedules.ts'
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

/** A lost sign, a computer that slept and a clock that was set must not stop the schedules: so often they are looked at. */
const LOOK_AT_LEAST_EVERY_MS = 5_000

/** Other processes may commit without end, and most of what they write is no schedule. */
const LOOK_AFTER_CHANGE_MS = 250

const LOOK_AFTER_FAILURE_MS = 500

/** Clocks of several processes differ by a little; only more than this means that the clock was set back. */
const CLOCK_TOLERANCE_MS = 1_000

/**
 * Makes the Jobs of slots that have come. Every started node does it, and none leads: the store lets one of them win each
 * slot. Between slots it sleeps, however many schedules there are.
 */
export class ScheduleTrigger implements NodePart {
  readonly during = 'claiming'
  readonly #parts: ScheduleTriggerParts & SchedulePageParts
  #isRunning = false
  #isWoken = false
  #isFailing = false
  #looking: Promise<void> | null = null
  #slotTimer: Timer | null = null
  readonly #poll: SoonestTimer

  constructor(parts: ScheduleTriggerParts) {
    this.#parts = { ...parts, postponements: new Postponements() }
    this.#poll = new SoonestTimer(parts.clock, () => this.#wake())
  }

  /** Nothing of it is under way. */
  get isQuiet(): boolean {
    return this.#looking === null
  }

  start(): void {
    this.#isRunning = true
    this.#wake()
  }

  async stop(): Promise<void> {
    this.#isRunning = false
    this.#cancelTimers()
    await this.#looking
  }

  hear(signal: StoreSignal): void {
    if (!this.#isRunning) return
    if (signal.kind === 'stirred' && signal.what.has('schedules')) this.#wake()
    else if (signal.kind === 'changed-elsewhere') this.#poll.within(LOOK_AFTER_CHANGE_MS)
  }

  #wake(): void {
    if (!this.#isRunning) return
    this.#isWoken = true
    this.#looking ??= this.#lookWhileWoken()
  }

  async #lookWhileWoken(): Promise<void> {
    const { clock } = this.#parts
    let nextLookAt: number | null = null
    while (this.#isWoken && this.#isRunning) {
      this.#isWoken = false
      this.#cancelTimers()
      nextLookAt = await this.#look()
      // A slot came while we looked.
      if (nextLookAt !== null && nextLookAt <= clock.now()) this.#isWoken = true
    }
    this.#looking = null
    if (!this.#isRunning) return
    if (nextLookAt !== null) this.#slotTimer = clock.after(nextLookAt - clock.now(), () => this.#wake())
    this.#poll.within(LOOK_AT_LEAST_EVERY_MS)
  }

  /** Returns when to look again, if there is a reason. */
  async #look(): Promise<number | null> {
    try {
      const nextSlotAt = await this.#fireAllDue()
      this.#isFailing = false
      return nextSlotAt
    } catch (error) {
      if (!this.#isFailing) this.#parts.logger.error({ error }, 'Schedules cannot be fired; trying again')
      this.#isFailing = true
      return this.#parts.clock.now() + LOOK_AFTER_FAILURE_MS
    }
  }

  /** Page by page. Returns when the next slot comes, or a postponed one is to be tried again. */
  async #fireAllDue(): Promise<number | null> {
    const { store, clock } = this.#parts
    while (this.#isRunning) {
      const now = clock.now()
      const planned = await store.findSchedulesPlannedAfter(now + CLOCK_TOLERANCE_MS, PAGE)
      if (planned.length > 0) {
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
    for (let index = 0; index < due.length && this.#isRunning; index += PAGE) {
      await fireSchedules(this.#parts, due.slice(index, index + PAGE), this.#parts.clock.now(), 'postpone')
    }
  }

  #cancelTimers(): void {
    this.#slotTimer?.cancel()
    this.#poll.cancel()
    this.#slotTimer = null
  }
}
