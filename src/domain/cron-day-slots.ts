import { type CronFields, firstTimeOfDay, lastTimeOfDay } from './cron-fields.ts'
import { DAY_MS, OFFSET_MAX_MS, offsetPeriods, type Zone } from './zone.ts'

/**
 * The slots of one date in a zone: those at times of day that its clocks show, and those at the end of a gap, which
 * stand in for times of day that the clocks leap over.
 */
export interface DaySlots {
  readonly fields: CronFields
  readonly midnight: number
  readonly passes: readonly Pass[]
  readonly gapEnds: readonly number[]
}

/**
 * Clocks that run evenly from `from` up to, but not including, `to`. What clocks show is written as the instant at which
 * clocks in UTC show the same, here and wherever a name lacks the `At` of a real instant.
 */
interface Pass {
  readonly from: number
  readonly to: number
  readonly offsetMs: number
}

/** Times that the clocks leap over, and the first instant after that. */
interface Gap {
  readonly from: number
  readonly to: number
  readonly endsAt: number
}

/** All slots of a date lie this far, or less, before its midnight in UTC or after it. */
export const SLOTS_BEFORE_MIDNIGHT_MS = OFFSET_MAX_MS
export const SLOTS_AFTER_MIDNIGHT_MS = DAY_MS + OFFSET_MAX_MS

/** The slots of the date with this number (1 January 1970 is 0), which must be one that matches the expression. */
export function slotsOfDay(fields: CronFields, zone: Zone, dayNumber: number): DaySlots {
  const midnight = dayNumber * DAY_MS
  const { passes, gaps } = readDay(zone, midnight, fields.followsElapsedTime)
  const hasSlot = (part: Pass | Gap) => {
    const time = firstTimeOfDay(fields, (part.from - midnight) / 1_000)
    return time !== null && midnight + time * 1_000 < part.to
  }
  // A date that the clocks leap over entirely is not in this calendar. A gap stands for its slots only where the rest
  // of the date exists; and what follows elapsed time loses them, unless it would lose all of that date.
  const isLost = passes.length === 0 || (fields.followsElapsedTime && passes.some(hasSlot))
  const gapEnds = isLost ? [] : gaps.filter(hasSlot).map((gap) => gap.endsAt)
  return { fields, midnight, passes, gapEnds }
}

/** The parts of a date. Times that come twice count in the first pass only, unless they shall count again. */
function readDay(zone: Zone, midnight: number, countsAgain: boolean): { passes: Pass[]; gaps: Gap[] } {
  const passes: Pass[] = []
  const gaps: Gap[] = []
  let latestShown: number | null = null
  const windowFromAt = midnight - SLOTS_BEFORE_MIDNIGHT_MS
  const windowToAt = midnight + SLOTS_AFTER_MIDNIGHT_MS
  for (const { fromAt, toAt, offsetMs } of offsetPeriods(zone, windowFromAt, windowToAt)) {
    const shown = latestShown ?? fromAt + offsetMs
    const gap = { from: Math.max(midnight, shown), to: Math.min(midnight + DAY_MS, fromAt + offsetMs), endsAt: fromAt }
    if (gap.from < gap.to) gaps.push(gap)
    const start = countsAgain ? fromAt + offsetMs : Math.max(shown, fromAt + offsetMs)
    const pass = { from: Math.max(midnight, start), to: Math.min(midnight + DAY_MS, toAt + offsetMs), offsetMs }
    if (pass.from < pass.to) passes.push(pass)
    latestShown = Math.max(shown, toAt + offsetMs)
  }
  return { passes, gaps }
}

/** The first slot of the day strictly after the instant. */
export function firstSlotAfter({ fields, midnight, passes, gapEnds }: DaySlots, afterAt: number): number | null {
  const slots = gapEnds.filter((endsAt) => endsAt > afterAt)
  for (const { from, to, offsetMs } of passes) {
    const earliest = Math.max(from, afterAt + offsetMs + 1)
    const time = earliest < to ? firstTimeOfDay(fields, Math.ceil((earliest - midnight) / 1_000)) : null
    if (time !== null && midnight + time * 1_000 < to) slots.push(midnight + time * 1_000 - offsetMs)
  }
  return slots.length === 0 ? null : Math.min(...slots)
}

/** The last slot of the day at or before the instant. */
export function lastSlotUpTo({ fields, midnight, passes, gapEnds }: DaySlots, upToAt: number): number | null {
  const slots = gapEnds.filter((endsAt) => endsAt <= upToAt)
  for (const { from, to, offsetMs } of passes) {
    const latest = Math.min(to - 1_000, upToAt + offsetMs)
    const time = latest >= from ? lastTimeOfDay(fields, Math.floor((latest - midnight) / 1_000)) : null
    if (time !== null && midnight + time * 1_000 >= from) slots.push(midnight + time * 1_000 - offsetMs)
  }
  return slots.length === 0 ? null : Math.max(...slots)
}
