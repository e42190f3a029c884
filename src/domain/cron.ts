import { BoundedCache } from './cron-cache.ts'
import { nextMatchingDay, previousMatchingDay } from './cron-calendar.ts'
import {
  firstSlotAfter,
  lastSlotUpTo,
  SLOTS_AFTER_MIDNIGHT_MS,
  SLOTS_BEFORE_MIDNIGHT_MS,
  slotsOfDay,
} from './cron-day-slots.ts'
import { type CronFields, readCronFields } from './cron-fields.ts'
import { assert } from './errors.ts'
import { DAY_MS, isShownAgain, type Zone, zoneNamed } from './zone.ts'

/**
 * A cron expression and the zone whose clocks it means. Both are text, so a Cron can be stored and read back; one that
 * is not valid, or no longer is, makes every function here throw what `parseCron` throws.
 */
export interface Cron {
  readonly expression: string
  readonly timezone: string
}

/**
 * Why a slot is not simply at its time of day. `dst-gap`: the clocks leap over that time, and this is the first instant
 * after. `dst-overlap`: they come to that time twice, and this is the first pass.
 */
export type SlotNote = 'dst-gap' | 'dst-overlap'

const EXPRESSIONS_KEPT_MAX = 2_000

const expressions = new BoundedCache<string, CronFields>(EXPRESSIONS_KEPT_MAX)

/**
 * Accepts five fields (minute, hour, day of month, month, day of week), six with the second first, and the macros
 * `@yearly`, `@annually`, `@monthly`, `@weekly`, `@daily`, `@midnight` and `@hourly`.
 *
 * A field is a list of numbers, names (`JAN`, `MON`), ranges (`9-17`) and `*`, where ranges and `*` may have a step
 * (`9-17/2`) and `5/15` means `5-59/15`. Sunday is 0 and 7. A day of month can be `L` (the last), `15W` (from Monday to
 * Friday, the day nearest to the 15th) or `LW`; a day of week `FRI#2` (the second of the month) or `FRIL` (the last);
 * both can be `?`, which is `*`. When neither day field starts with `*`, it is enough that a date matches one of them.
 */
export function parseCron(expression: unknown, timezone: unknown): Cron {
  const zone = zoneNamed(timezone)
  const text = typeof expression === 'string' ? expression.trim() : expression
  fieldsOf(text)
  return { expression: text as string, timezone: zone.name }
}

function fieldsOf(expression: unknown): CronFields {
  if (typeof expression !== 'string') return readCronFields(expression)
  return expressions.get(expression, () => readCronFields(expression))
}

/** The first slot strictly after the instant, or null when there never is one, as for 30 February. */
export function nextCronSlot(cron: Cron, afterAt: number): number | null {
  assert(Number.isFinite(afterAt), `asked for the slot after ${afterAt}`)
  const fields = fieldsOf(cron.expression)
  const zone = zoneNamed(cron.timezone)
  let earliest: number | null = null
  let day = nextMatchingDay(fields, firstDayReaching(afterAt))
  while (day !== null) {
    const slot = firstSlotAfter(slotsOfDay(fields, zone, day), afterAt)
    if (slot !== null && (earliest === null || slot < earliest)) earliest = slot
    // Clocks that are put back over midnight mix two dates, so a later date can have an earlier slot.
    day = nextMatchingDay(fields, day + 1, earliest === null ? undefined : lastDayReaching(earliest))
  }
  return earliest
}

/**
 * The latest `count` slots at or before `atOrBefore` and strictly after `afterAt`, oldest first. The cost depends on
 * the count, not on how far the two are apart.
 */
export function latestCronSlots(cron: Cron, afterAt: number, atOrBefore: number, count: number): number[] {
  const fields = fieldsOf(cron.expression)
  const zone = zoneNamed(cron.timezone)
  const slots: number[] = []
  while (slots.length < count) {
    const slot = lastCronSlot(fields, zone, afterAt, (slots.at(-1) ?? atOrBefore + 1) - 1)
    if (slot === null) break
    slots.push(slot)
  }
  return slots.reverse()
}

function lastCronSlot(fields: CronFields, zone: Zone, afterAt: number, upToAt: number): number | null {
  let latest = afterAt
  let day = previousMatchingDay(fields, lastDayReaching(upToAt), firstDayReaching(latest))
  while (day !== null) {
    const slot = lastSlotUpTo(slotsOfDay(fields, zone, day), upToAt)
    if (slot !== null && slot > latest) latest = slot
    day = previousMatchingDay(fields, day - 1, firstDayReaching(latest))
  }
  return latest > afterAt ? latest : null
}

/** The first date that can have slots at or after the instant, whatever the zone. */
function firstDayReaching(at: number): number {
  return Math.floor((at - SLOTS_AFTER_MIDNIGHT_MS) / DAY_MS)
}

/** The last date that can have slots at or before the instant, whatever the zone. */
function lastDayReaching(at: number): number {
  return Math.floor((at + SLOTS_BEFORE_MIDNIGHT_MS) / DAY_MS)
}

/** What people should know about a slot of this expression. */
export function cronSlotNote(cron: Cron, slotAt: number): SlotNote | null {
  const fields = fieldsOf(cron.expression)
  const zone = zoneNamed(cron.timezone)
  const lastDay = lastDayReaching(slotAt)
  let day = nextMatchingDay(fields, firstDayReaching(slotAt), lastDay)
  while (day !== null) {
    if (slotsOfDay(fields, zone, day).gapEnds.includes(slotAt)) return 'dst-gap'
    day = nextMatchingDay(fields, day + 1, lastDay)
  }
  return !fields.followsElapsedTime && isShownAgain(zone, slotAt) ? 'dst-overlap' : null
}
