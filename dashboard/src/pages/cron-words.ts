import { durationWords } from '../parts/duration-words.ts'

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
const DAY_NAMES = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
const MONTH_NAMES = MONTHS.map((month) => month.slice(0, 3).toUpperCase())

const MACROS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

/** What a schedule says, for somebody who does not read cron. */
export function timingWords(schedule: { readonly cron: string | null; readonly every_ms: number | null }): string {
  if (schedule.every_ms !== null) return `Every ${durationWords(schedule.every_ms).replace(/^1 (?=\D+$)/, '')}`
  return cronWords(schedule.cron ?? '')
}

export function cronWords(expression: string): string {
  const fields = (MACROS[expression.trim().toLowerCase()] ?? expression).trim().split(/\s+/)
  if (fields.length !== 5 && fields.length !== 6) return expression
  const [second, minute, hour, day, month, weekday] = (fields.length === 6 ? fields : ['0', ...fields]) as [
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  const text = [
    timeWords(second, minute, hour),
    dayWords(day, weekday),
    month === '*' ? '' : `in ${list(month, monthName)}`,
  ]
  const words = text.filter(Boolean).join(', ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function timeWords(second: string, minute: string, hour: string): string {
  const isNumber = (text: string) => /^\d+$/.test(text)
  const seconds = second === '0' || second === '00' ? '' : second
  if (isNumber(minute) && hour.split(',').every(isNumber)) {
    const at = hour.split(',').map((one) => `${two(one)}:${two(minute)}${isNumber(seconds) ? `:${two(seconds)}` : ''}`)
    return `at ${joined(at)}`
  }
  const parts: string[] = []
  if (seconds !== '') parts.push(unitWords(seconds, 'second'))
  if (minute === '*' && seconds === '') parts.push('every minute')
  else if (minute === '0' && hour === '*') parts.push('every hour, on the hour')
  else if (minute !== '*') parts.push(unitWords(minute, 'minute'))
  if (hour !== '*') parts.push(unitWords(hour, 'hour'))
  return parts.join(', ')
}

function unitWords(field: string, unit: string): string {
  const step = /^(?:\*|(\d+)-(\d+))\/(\d+)$/.exec(field)
  if (step) {
    const [, from, to, by] = step
    const every = by === '1' ? `every ${unit}` : `every ${by} ${unit}s`
    return from === undefined ? every : `${every} from ${from} to ${to}`
  }
  const range = /^(\d+)-(\d+)$/.exec(field)
  if (range)
    return `${unit === 'hour' ? 'between' : `${unit}s`} ${unit === 'hour' ? `${two(range[1] as string)}:00 and ${two(range[2] as string)}:59` : `${range[1]} to ${range[2]}`}`
  if (field === '*') return `every ${unit}`
  if (unit === 'minute') return `${joined(field.split(','))} minutes past`
  return `at ${unit} ${joined(field.split(','))}`
}

function dayWords(day: string, weekday: string): string {
  const isAnyDay = day === '*' || day === '?'
  const isAnyWeekday = weekday === '*' || weekday === '?'
  if (isAnyDay && isAnyWeekday) return 'every day'
  const days = isAnyDay
    ? ''
    : day === 'L'
      ? 'on the last day of the month'
      : day.startsWith('*/')
        ? `every ${day.slice(2)} days`
        : `on day ${list(day, (one) => one)} of the month`
  const weekdays = isAnyWeekday ? '' : weekdayWords(weekday)
  return [days, weekdays].filter(Boolean).join(' or ')
}

function weekdayWords(field: string): string {
  const plain = field.toUpperCase()
  if (plain === '1-5' || plain === 'MON-FRI') return 'on weekdays'
  if (plain === '0,6' || plain === '6,0' || plain === '6-7' || plain === 'SAT,SUN') return 'on weekends'
  return `on ${list(field, dayName)}`
}

function dayName(text: string): string {
  const nth = /^(\w+)#(\d)$/.exec(text)
  if (nth) return `${dayName(nth[1] as string)} number ${nth[2]} of the month`
  return DAYS[Number(text)] ?? DAYS[DAY_NAMES.indexOf(text.toUpperCase())] ?? text
}

function monthName(text: string): string {
  return MONTHS[Number(text) - 1] ?? MONTHS[MONTH_NAMES.indexOf(text.toUpperCase())] ?? text
}

function list(field: string, nameOf: (text: string) => string): string {
  return joined(
    field.split(',').map((part) => {
      const range = /^([^-/]+)-([^-/]+)$/.exec(part)
      return range ? `${nameOf(range[1] as string)} to ${nameOf(range[2] as string)}` : nameOf(part)
    }),
  )
}

function joined(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

function two(text: string): string {
  return text.padStart(2, '0')
}
