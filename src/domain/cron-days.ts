import { DAY_OF_MONTH, DAY_OF_WEEK, type FieldKind, readItem, readValue } from './cron-items.ts'

/** A date, with what the day fields of an expression ask about it. */
export interface CalendarDay {
  readonly dayOfMonth: number
  /** From 0, Sunday, to 6. */
  readonly weekday: number
  readonly daysInMonth: number
}

export type DayTest = (day: CalendarDay) => boolean

/**
 * Day of month and day of week together, as in crontab(5): a date must match both, but when neither field starts with
 * a wildcard one match is enough. So `0 0 13 * FRI` is every 13th and every Friday.
 */
export function readDays(dayOfMonth: string, dayOfWeek: string): DayTest {
  const onDayOfMonth = readDayField(dayOfMonth, DAY_OF_MONTH, readMonthEnd, (day) => day.dayOfMonth)
  const onWeekday = readDayField(dayOfWeek, DAY_OF_WEEK, readNthWeekday, (day) => day.weekday)
  const isEither = !/^[*?]/.test(dayOfMonth) && !/^[*?]/.test(dayOfWeek)
  return isEither ? (day) => onDayOfMonth(day) || onWeekday(day) : (day) => onDayOfMonth(day) && onWeekday(day)
}

function readDayField(
  text: string,
  kind: FieldKind,
  readSpecial: (item: string) => DayTest | null,
  valueOf: (day: CalendarDay) => number,
): DayTest {
  if (text === '?') return () => true
  const values = new Set<number>()
  const specials: DayTest[] = []
  for (const item of text.split(',')) {
    const special = readSpecial(item)
    if (special !== null) specials.push(special)
    else for (const value of readItem(item, kind)) values.add(kind === DAY_OF_WEEK ? value % 7 : value)
  }
  return (day) => values.has(valueOf(day)) || specials.some((isOn) => isOn(day))
}

/** `L` is the last day of the month, `LW` its last day from Monday to Friday, `15W` the one of these nearest to the 15th. */
function readMonthEnd(item: string): DayTest | null {
  const text = item.toUpperCase()
  if (text === 'L') return (day) => day.dayOfMonth === day.daysInMonth
  if (text === 'LW') return (day) => day.dayOfMonth === nearestWorkday(day, day.daysInMonth)
  if (!text.endsWith('W')) return null
  const wanted = readValue(text.slice(0, -1), DAY_OF_MONTH)
  return (day) => wanted <= day.daysInMonth && day.dayOfMonth === nearestWorkday(day, wanted)
}

/** `FRI#2` is the second Friday of the month, `FRIL` or `FRI#L` the last. */
function readNthWeekday(item: string): DayTest | null {
  const found = /^(.+?)(?:#([1-5])|#?(L))$/i.exec(item)
  if (found === null) return null
  const weekday = readValue(found[1] ?? '', DAY_OF_WEEK) % 7
  if (found[2] === undefined) return (day) => day.weekday === weekday && day.dayOfMonth + 7 > day.daysInMonth
  const nth = Number(found[2])
  return (day) => day.weekday === weekday && Math.ceil(day.dayOfMonth / 7) === nth
}

/** The day from Monday to Friday that is nearest to this day of the month of `day`, and in the same month. */
function nearestWorkday(day: CalendarDay, dayOfMonth: number): number {
  const weekday = (((day.weekday + dayOfMonth - day.dayOfMonth) % 7) + 7) % 7
  if (weekday === 6) return dayOfMonth === 1 ? 3 : dayOfMonth - 1
  if (weekday === 0) return dayOfMonth === day.daysInMonth ? dayOfMonth - 2 : dayOfMonth + 1
  return dayOfMonth
}
