import { PawlError } from './errors.ts'

/** What may stand in one field of a cron expression. */
export interface FieldKind {
  readonly name: string
  readonly min: number
  readonly max: number
  /** Words for numbers; the first stands for the least number. */
  readonly words: readonly string[]
}

export const SECOND: FieldKind = { name: 'second', min: 0, max: 59, words: [] }
export const MINUTE: FieldKind = { name: 'minute', min: 0, max: 59, words: [] }
export const HOUR: FieldKind = { name: 'hour', min: 0, max: 23, words: [] }
export const DAY_OF_MONTH: FieldKind = { name: 'day of month', min: 1, max: 31, words: [] }
export const MONTH: FieldKind = {
  name: 'month',
  min: 1,
  max: 12,
  words: ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'],
}
/** Sunday is 0 and also 7, as in crontab(5). */
export const DAY_OF_WEEK: FieldKind = {
  name: 'day of week',
  min: 0,
  max: 7,
  words: ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'],
}

/** The numbers that one item of a list stands for: `*`, `5`, `MON` or `1-5`, each perhaps with a step such as `/2`. */
export function readItem(item: string, kind: FieldKind): number[] {
  const [span = '', stepText, ...rest] = item.split('/')
  if (rest.length > 0) throw refuseItem(item, kind, 'at most one step')
  const { from, to } = readSpan(span, kind, stepText !== undefined)
  const step = stepText === undefined ? 1 : readStep(item, stepText, kind)
  const values: number[] = []
  for (let value = from; value <= to; value += step) values.push(value)
  return values
}

/** `5/15` means `5-59/15`, as in Quartz: a step from one value goes to the end of the field. */
function readSpan(span: string, kind: FieldKind, hasStep: boolean): { from: number; to: number } {
  // As a wildcard the week has seven days: stepping on from Sunday as 0 must not meet Sunday as 7.
  const last = kind === DAY_OF_WEEK ? 6 : kind.max
  if (span === '*') return { from: kind.min, to: last }
  const [fromText = '', toText, ...rest] = span.split('-')
  if (rest.length > 0) throw refuseItem(span, kind, 'a range of two values')
  const from = readValue(fromText, kind)
  if (toText === undefined) return { from, to: hasStep ? Math.max(from, last) : from }
  const end = readValue(toText, kind)
  // `FRI-SUN` ends on the Sunday after, not on the one before.
  const to = kind === DAY_OF_WEEK && end === 0 && from > 0 ? 7 : end
  if (to < from) throw refuseItem(span, kind, 'a range that goes upwards (two ranges can go around the end)')
  return { from, to }
}

function readStep(item: string, stepText: string, kind: FieldKind): number {
  const step = /^\d{1,2}$/.test(stepText) ? Number(stepText) : 0
  const largest = kind.max - kind.min + (kind === DAY_OF_WEEK ? 0 : 1)
  if (step >= 1 && step <= largest) return step
  throw refuseItem(item, kind, `a step from 1 to ${largest}`)
}

/** One number or word. */
export function readValue(text: string, kind: FieldKind): number {
  const word = kind.words.indexOf(text.toUpperCase())
  if (word !== -1) return kind.min + word
  const value = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN
  if (value >= kind.min && value <= kind.max) return value
  const words = kind.words.length === 0 ? '' : ` or ${kind.words[0]} to ${kind.words.at(-1)}`
  throw refuseItem(text, kind, `numbers from ${kind.min} to ${kind.max}${words}`)
}

function refuseItem(item: string, kind: FieldKind, expected: string): PawlError {
  const shown = item.length > 40 ? `${item.slice(0, 39)}…` : item
  return new PawlError(
    'invalid_option',
    `Expected the ${kind.name} of \`cron\` to have ${expected}, got \`${shown}\`.`,
    {
      path: 'cron',
    },
  )
}
