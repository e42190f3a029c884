import type { CronFields } from './cron-fields.ts'
import { DAY_MS, SLOT_MAX_AT } from './zone.ts'

/**
 * How far the calendar is searched for a day that matches. The rarest day that exists is a fifth weekday of February,
 * once in 28 years and after 40 where a leap year is left out; so what is not found here never comes.
 */
const SEARCH_DAYS_MAX = 50 * 366

/** Days are counted from 1 January 1970, up to this many in each direction. */
const DAY_NUMBER_MAX = SLOT_MAX_AT / DAY_MS - 2

/** The first day from `fromDay` to `toDay` that the expression has slots on. */
export function nextMatchingDay(fields: CronFields, fromDay: number, toDay = Number.POSITIVE_INFINITY): number | null {
  const lastDay = Math.min(toDay, fromDay + SEARCH_DAYS_MAX, DAY_NUMBER_MAX)
  for (let day = Math.max(fromDay, -DAY_NUMBER_MAX); day <= lastDay; ) {
    const look = lookAt(fields, day)
    if (look.matches) return day
    day = look.isMonthOut ? look.monthEndsOn + 1 : day + 1
  }
  return null
}

/** The last day from `toDay` to `fromDay`, backwards, that the expression has slots on. */
export function previousMatchingDay(fields: CronFields, fromDay: number, toDay: number): number | null {
  const lastDay = Math.max(toDay, fromDay - SEARCH_DAYS_MAX, -DAY_NUMBER_MAX)
  for (let day = Math.min(fromDay, DAY_NUMBER_MAX); day >= lastDay; ) {
    const look = lookAt(fields, day)
    if (look.matches) return day
    day = look.isMonthOut ? look.monthStartsOn - 1 : day - 1
  }
  return null
}

function lookAt(fields: CronFields, dayNumber: number) {
  const date = new Date(dayNumber * DAY_MS)
  const month = date.getUTCMonth() + 1
  const dayOfMonth = date.getUTCDate()
  const daysInMonth =
    month === 2 ? (isLeapYear(date.getUTCFullYear()) ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31
  const isMonthOut = !fields.months.has(month)
  return {
    isMonthOut,
    matches: !isMonthOut && fields.isOnDay({ dayOfMonth, daysInMonth, weekday: date.getUTCDay() }),
    monthStartsOn: dayNumber - dayOfMonth + 1,
    monthEndsOn: dayNumber - dayOfMonth + daysInMonth,
  }
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}
