import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { latestCronSlots, nextCronSlot } from '../../src/domain/cron.ts'
import { findTransitions, oracleSlots, type Scan, scanClocks, type Transition } from './cron-oracle.ts'
import { aimedAt, EXPRESSIONS, expressions } from './cron-oracle-expressions.ts'

// `PAWL_CRON_ORACLE=full` leaves out what makes the short form short:
// - Zones whose clocks change at the same instant, from the same offset to the same offset, show the same days around
//   it. The short form scans them once, compares all expressions in one of them, and the aimed ones in every one.
// - The short form reads the clocks every minute in the quarter of an hour of the change, else every 15 minutes.
// - The short form looks for changes every three days (no offset lasts less than six), the full form every hour.
// - Of an expression with many slots the short form compares the 20 before the change and the 20 after.
const isFull = process.env['PAWL_CRON_ORACLE'] === 'full'
const SLOTS_COMPARED_MAX = isFull ? 4_000 : 40
const TIMEOUT_MS = isFull ? 3_600_000 : 300_000

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** Every date that a change touches lies within this distance of it. */
const COMPARED = 25 * HOUR

const ZONES = Intl.supportedValuesOf('timeZone')

describe('cron slots are what a scan of the clocks says', () => {
  test(
    'around every change of the clocks in every zone from 2020 to 2030',
    () => {
      const transitions = ZONES.flatMap((zone) =>
        findTransitions(zone, Date.UTC(2020, 0, 1), Date.UTC(2031, 0, 1), isFull ? HOUR : 3 * DAY),
      )
      const differences: string[] = []
      for (const [first, ...others] of groupAlike(transitions)) {
        const scan = scanAround(first)
        for (const expression of EXPRESSIONS) differences.push(...compare(expression, [first], scan))
        for (const expression of aimedAt(first)) differences.push(...compare(expression, [first, ...others], scan))
      }
      expect(new Set(EXPRESSIONS).size).toBeGreaterThanOrEqual(50)
      expect(transitions.length).toBeGreaterThan(2_500)
      expect(differences).toEqual([])
    },
    TIMEOUT_MS,
  )

  test('on a day without changes in every zone', () => {
    const at = Date.UTC(2025, 5, 15)
    const differences = ZONES.flatMap((zone) => {
      const quiet = { zone, at, beforeMs: 0, afterMs: 0 }
      const scan = scanAround(quiet)
      return ['30 2 * * *', '0 0,12 * * SUN', '*/45 * * * *'].flatMap((text) => compare(text, [quiet], scan))
    })
    expect(differences).toEqual([])
  })

  test.each([
    ['Australia/Lord_Howe', 2026, 'half an hour'],
    ['Antarctica/Troll', 2026, 'two hours'],
    ['America/Nuuk', 2024, 'the last hour of a date'],
    ['Africa/Cairo', 2026, 'the first hour of a date'],
    ['America/Havana', 2026, 'from one to midnight'],
    ['America/St_Johns', 2010, 'at one minute past midnight'],
    ['America/Toronto', 1919, 'from 23:30 over midnight'],
    ['Antarctica/Casey', 2020, 'by three hours'],
    ['Asia/Pyongyang', 2018, 'by half an hour, for good'],
    ['Pacific/Apia', 2011, 'over a whole date'],
    ['Pacific/Kwajalein', 1993, 'over a whole date'],
    ['Pacific/Kwajalein', 1969, 'back by 23 hours'],
    ['America/Juneau', 1983, 'back by two hours'],
    ['Europe/London', 1968, 'and then not again for years'],
    ['Africa/El_Aaiun', 2026, 'for a month of fasting'],
  ])('in %s in %i, where the clocks are changed %s', (zone, year) => {
    const transitions = findTransitions(zone, Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1))
    const differences = transitions.flatMap((transition) => {
      const scan = scanAround(transition)
      const texts = [...EXPRESSIONS, ...aimedAt(transition)]
      return texts.flatMap((expression) => compare(expression, [transition], scan))
    })
    expect(transitions.length).toBeGreaterThan(0)
    expect(differences).toEqual([])
  })

  test(
    'for any expression',
    () => {
      const names = [
        'Europe/Berlin',
        'America/Nuuk',
        'Africa/Cairo',
        'Australia/Lord_Howe',
        'Pacific/Apia',
        'Asia/Gaza',
      ]
      const transitions = names.flatMap((zone) => findTransitions(zone, Date.UTC(1975, 0, 1), Date.UTC(2038, 0, 1)))
      fc.assert(
        fc.property(fc.constantFrom(...transitions), expressions(), (transition, expression) => {
          expect(compare(expression, [transition], scanAround(transition))).toEqual([])
        }),
        { numRuns: isFull ? 10_000 : 500 },
      )
    },
    TIMEOUT_MS,
  )
})

/** Changes that the full form keeps apart by zone, and the short form only by when and how they happen. */
function groupAlike(transitions: readonly Transition[]): [Transition, ...Transition[]][] {
  const groups = new Map<string, [Transition, ...Transition[]]>()
  for (const transition of transitions) {
    const { zone, at, beforeMs, afterMs } = transition
    const key = [at, beforeMs, afterMs, isFull ? zone : ''].join(' ')
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [transition])
    else group.push(transition)
  }
  return [...groups.values()]
}

function scanAround({ zone, at, beforeMs, afterMs }: Transition): Scan {
  const reach = 27 * HOUR + Math.ceil(Math.abs(afterMs - beforeMs) / HOUR) * HOUR
  return scanClocks(zone, at - reach, at + reach, isFull ? MINUTE : 15 * MINUTE)
}

/** Where our answers, forwards or backwards, are not those of the scan. */
function compare(expression: string, transitions: readonly Transition[], scan: Scan): string[] {
  const at = transitions[0]?.at ?? 0
  const reach = isEverySecond(expression) ? MINUTE : COMPARED
  const { expected, fromAt, toAt } = chooseSlots(oracleSlots(expression, scan, at - reach, at + reach), at, reach)
  return transitions.flatMap(({ zone }) => {
    const cron = { expression, timezone: zone }
    const forwards = walk(cron, fromAt, toAt)
    const backwards = latestCronSlots(cron, fromAt, toAt, expected.length + 1)
    if (String(forwards) === String(expected) && String(backwards) === String(expected)) return []
    const answers = `expected ${show(expected)}\nforwards ${show(forwards)}\nbackwards ${show(backwards)}`
    return [`${expression} in ${zone}\n${answers}`]
  })
}

/** The slots to compare, and the time they are all the slots of. */
function chooseSlots(all: number[], at: number, reach: number): { expected: number[]; fromAt: number; toAt: number } {
  if (all.length <= SLOTS_COMPARED_MAX) return { expected: all, fromAt: at - reach, toAt: at + reach }
  const before = all.filter((slot) => slot < at).slice(-SLOTS_COMPARED_MAX / 2)
  const after = all.filter((slot) => slot >= at).slice(0, SLOTS_COMPARED_MAX / 2)
  const expected = [...before, ...after]
  return { expected, fromAt: (expected[0] ?? at) - 1, toAt: expected.at(-1) ?? at }
}

function isEverySecond(expression: string): boolean {
  return expression === '* * * * * *'
}

function walk(cron: { expression: string; timezone: string }, fromAt: number, toAt: number): number[] {
  const slots: number[] = []
  for (let at = nextCronSlot(cron, fromAt); at !== null && at <= toAt; at = nextCronSlot(cron, at)) slots.push(at)
  return slots
}

function show(slots: readonly number[]): string {
  return slots.map((slot) => new Date(slot).toISOString()).join(' ')
}
