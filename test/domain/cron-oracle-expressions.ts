import fc from 'fast-check'
import type { Transition } from './cron-oracle.ts'

/** Kinds of expression, with times of day at which clocks are changed somewhere. */
export const EXPRESSIONS: readonly string[] = [
  // Fixed times.
  '30 2 * * *',
  '0 2 * * *',
  '0 3 * * *',
  '59 1 * * *',
  '30 1 * * *',
  '15 0 * * *',
  '0 0 * * *',
  '30 23 * * *',
  '45 22 * * *',
  '0 12 * * *',
  '30 30 2 * * *',
  '59 59 23 * * *',
  '*/20 30 1 * * *',
  '* 0 0 * * *',
  '@daily',
  '@weekly',
  '@monthly',
  // Lists of fixed times.
  '0 2,3 * * *',
  '0,30 2 * * *',
  '0,15,30,45 0,1,2,3,4 * * *',
  '30 0,1,2,3,22,23 * * *',
  '5,55 1,23 * * *',
  '0,30 0,30 2,3 * * *',
  '0 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23 * * *',
  // Wildcards.
  '* * * * *',
  '* * * * * *',
  '30 * * * *',
  '0,20,40 * * * *',
  '@hourly',
  '* 2 * * *',
  '* 0 * * *',
  '* 23 * * *',
  '30 */10 * * * *',
  // Steps.
  '*/15 * * * *',
  '*/30 * * * *',
  '*/45 * * * *',
  '*/7 * * * *',
  '0 */2 * * *',
  '0 */3 * * *',
  '30 1/2 * * *',
  '5/20 2 * * *',
  '*/15 1 * * *',
  '*/15 2 * * *',
  '*/20 0,23 * * *',
  '*/10 */2 * * *',
  // Ranges, also mixed with values.
  '0 0-6 * * *',
  '30 1-3 * * *',
  '0 2-2 * * *',
  '10-20 2 * * *',
  '0-59 2 * * *',
  '0-29/10 1-3 * * *',
  '0 0,2-3,23 * * *',
  '15-45/15,50 0,1,2 * * *',
  // Days.
  '30 2 * * 0',
  '30 2 * * SUN',
  '30 23 * * SAT',
  '0 0 * * 7',
  '*/15 2 * * SUN',
  '30 1 * MAR,OCT *',
  '0 2 * * MON-FRI',
  '30 0 * * FRI-SUN',
  '30 2 29 * *',
  '0 2 29 3 *',
  '30 2 */2 * *',
  '30 2 13 * SUN',
  '30 2 */2 * SUN',
  '30 1 ? * SUN#L',
  '30 2 ? * SUN#2',
  '15 0 * * 5L',
  '30 2 L * ?',
  '30 2 LW * *',
  '0 3 30W * *',
  '30 0 1,15,L * *',
  '0 0 1 1 *',
]

/** Expressions aimed at one change of the clocks: at its first and last minute, its middle, and around it. */
export function aimedAt({ at, beforeMs, afterMs }: Transition): string[] {
  const start = at + Math.min(beforeMs, afterMs)
  const end = at + Math.max(beforeMs, afterMs)
  const fixed = [start - 60_000, start, (start + end) / 2, end - 60_000, end].map((time) => {
    const { minute, hour } = partsOf(time)
    return `${minute} ${hour} * * *`
  })
  const { minute, hour, day, month, weekday } = partsOf(start)
  return [
    ...fixed,
    `${minute} ${hour} ${day} ${month} *`,
    `${minute},59 ${hour},${partsOf(end).hour} ${day} * ${weekday}`,
    `*/20 ${hour} * * *`,
    `* ${hour} ${day} ${month} *`,
    `${minute} ${hour}-${hour} * * ${weekday}`,
  ]
}

function partsOf(time: number) {
  const date = new Date(time)
  return {
    minute: date.getUTCMinutes(),
    hour: date.getUTCHours(),
    day: date.getUTCDate(),
    month: date.getUTCMonth() + 1,
    weekday: date.getUTCDay(),
  }
}

/** Any expression, mostly at the hours at which clocks are changed. */
export function expressions(): fc.Arbitrary<string> {
  const minute = fc.oneof(fc.constantFrom('*', '0', '30', '*/15', '0,30'), list(0, 59))
  const hour = fc.oneof(fc.constantFrom('*', '0', '1', '2', '3', '23', '1,2', '0-3', '22-23', '*/2'), list(0, 23))
  const day = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('*', '?') },
    list(1, 31),
    fc.constantFrom('L', 'LW', '15W', '1W'),
  )
  const month = fc.oneof({ weight: 3, arbitrary: fc.constant('*') }, list(1, 12), fc.constant('MAR,OCT'))
  const weekday = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('*', '?') },
    list(0, 6),
    fc.constantFrom('SUN', 'SAT-SUN', 'SUN#L'),
  )
  return fc.tuple(minute, hour, day, month, weekday).map((fields) => fields.join(' '))
}

function list(min: number, max: number): fc.Arbitrary<string> {
  const value = fc.integer({ min, max })
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
  const step = fc
    .tuple(fc.oneof(fc.constant('*'), range), fc.integer({ min: 1, max: 7 }))
    .map(([span, by]) => `${span}/${by}`)
  const item = fc.oneof(value.map(String), range, step)
  return fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join(','))
}
