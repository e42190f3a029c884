import { type DayTest, readDays } from './cron-days.ts'
import { type FieldKind, HOUR, MINUTE, MONTH, readItem, SECOND } from './cron-items.ts'
import { invalid } from './options.ts'

/** A cron expression, read. The parts of the time of day are sorted. */
export interface CronFields {
  readonly seconds: readonly number[]
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly months: ReadonlySet<number>
  readonly isOnDay: DayTest
  /**
   * What happens when the clocks change. True when the minute or the hour has a wildcard, a step or a range: then the
   * slots follow real elapsed time. Otherwise every value is a fixed time of day, which happens once on its day.
   */
  readonly followsElapsedTime: boolean
}

/** Room for a list of every value in each of the six fields. */
const CRON_LENGTH_MAX = 1_000

const MACROS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

/** Reads an expression, or throws an error of the option `cron` that says which field is wrong. */
export function readCronFields(expression: unknown): CronFields {
  const texts = splitExpression(expression)
  if (texts.length === 5) texts.unshift('0')
  const [second = '', minute = '', hour = '', dayOfMonth = '', month = '', dayOfWeek = ''] = texts
  return {
    seconds: readList(second, SECOND),
    minutes: readList(minute, MINUTE),
    hours: readList(hour, HOUR),
    isOnDay: readDays(dayOfMonth, dayOfWeek),
    months: new Set(readList(month, MONTH)),
    followsElapsedTime: /[*/-]/.test(minute) || /[*/-]/.test(hour),
  }
}

function splitExpression(expression: unknown): string[] {
  const expected = "a cron expression of 5 fields, of 6 with seconds first, or a macro such as '@daily'"
  if (typeof expression !== 'string') throw invalid('cron', expected, expression)
  if (expression.length > CRON_LENGTH_MAX) {
    throw invalid('cron', `a cron expression of at most ${CRON_LENGTH_MAX} characters`, expression)
  }
  const text = expression.trim()
  if (text.startsWith('@')) {
    const names = Object.keys(MACROS)
    const name = names.find((macro) => macro === text.toLowerCase())
    if (name === undefined) throw invalid('cron', `one of ${names.join(', ')}`, expression)
    return (MACROS[name] ?? '').split(' ')
  }
  const texts = text.split(/\s+/)
  if (texts.length !== 5 && texts.length !== 6) throw invalid('cron', expected, expression)
  return texts
}

function readList(text: string, kind: FieldKind): number[] {
  const values = new Set(text.split(',').flatMap((item) => readItem(item, kind)))
  return [...values].sort((a, b) => a - b)
}

/** The first time of day, in seconds since midnight, that is not before `earliest`. */
export function firstTimeOfDay({ hours, minutes, seconds }: CronFields, earliest: number): number | null {
  for (const hour of hours) {
    if (hour * 3_600 + 3_599 < earliest) continue
    for (const minute of minutes) {
      const time = hour * 3_600 + minute * 60
      if (time + 59 < earliest) continue
      const second = seconds.find((value) => time + value >= earliest)
      if (second !== undefined) return time + second
    }
  }
  return null
}

/** The last time of day, in seconds since midnight, that is not after `latest`. */
export function lastTimeOfDay({ hours, minutes, seconds }: CronFields, latest: number): number | null {
  for (const hour of hours.toReversed()) {
    if (hour * 3_600 > latest) continue
    for (const minute of minutes.toReversed()) {
      const time = hour * 3_600 + minute * 60
      if (time > latest) continue
      const second = seconds.findLast((value) => time + value <= latest)
      if (second !== undefined) return time + second
    }
  }
  return null
}
