import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { latestCronSlots, nextCronSlot, parseCron } from '../../src/domain/cron.ts'
import { BoundedCache } from '../../src/domain/cron-cache.ts'
import { localTime, zoneNamed } from '../../src/domain/zone.ts'
import { expressions } from './cron-oracle-expressions.ts'

/** The next slots after an instant, as clocks in the zone show them. */
function slotsAfter(from: string, expression: string, timezone: string, count: number): string[] {
  const cron = parseCron(expression, timezone)
  const slots: string[] = []
  let at = nextCronSlot(cron, Date.parse(from))
  while (at !== null && slots.length < count) {
    slots.push(localTime(zoneNamed(timezone), at))
    at = nextCronSlot(cron, at)
  }
  return slots
}

/** The dates of the next slots in UTC. */
function datesAfter(from: string, expression: string, count: number): string[] {
  return slotsAfter(from, expression, 'UTC', count).map((slot) => slot.slice(0, 10))
}

describe('an expression', () => {
  // Thursday, 1 January 2026.
  const FROM = '2026-01-01T00:00:00Z'

  test.each([
    ['*/20 * * * *', ['00:20:00', '00:40:00', '01:00:00']],
    ['5/25 8 * * *', ['08:05:00', '08:30:00', '08:55:00']],
    ['10-20/5,50 8 * * *', ['08:10:00', '08:15:00', '08:20:00', '08:50:00']],
    ['0 30,7 9 * * *', ['09:07:00', '09:30:00']],
    ['*/30 59 23 * * *', ['23:59:00', '23:59:30']],
    ['  0   12\t* *   * ', ['12:00:00']],
    ['@hourly', ['01:00:00', '02:00:00']],
  ])('%s has the times %j', (expression, times) => {
    const slots = slotsAfter(FROM, expression, 'UTC', times.length)
    expect(slots).toEqual(times.map((time) => `2026-01-01T${time}+00:00`))
  })

  test.each([
    ['0 0 * * MON-FRI', ['2026-01-02', '2026-01-05', '2026-01-06']],
    ['0 0 * * fri-sun', ['2026-01-02', '2026-01-03', '2026-01-04', '2026-01-09']],
    ['0 0 * * 0', ['2026-01-04', '2026-01-11']],
    ['0 0 * * 7', ['2026-01-04', '2026-01-11']],
    ['0 0 * * 5-7', ['2026-01-02', '2026-01-03', '2026-01-04', '2026-01-09']],
    ['0 0 * * */3', ['2026-01-03', '2026-01-04', '2026-01-07']],
    ['0 0 * * 1/3', ['2026-01-05', '2026-01-08', '2026-01-12']],
    ['0 0 31 * *', ['2026-01-31', '2026-03-31', '2026-05-31']],
    ['0 0 29 2 *', ['2028-02-29', '2032-02-29']],
    ['0 0 1 JAN,jul ?', ['2026-07-01', '2027-01-01']],
    ['0 0 1 */5 *', ['2026-06-01', '2026-11-01', '2027-01-01']],
    ['@yearly', ['2027-01-01', '2028-01-01']],
    ['@annually', ['2027-01-01']],
    ['@monthly', ['2026-02-01', '2026-03-01']],
    ['@weekly', ['2026-01-04', '2026-01-11']],
    ['@daily', ['2026-01-02', '2026-01-03']],
    ['@MIDNIGHT', ['2026-01-02', '2026-01-03']],
  ])('%s has the dates %j', (expression, dates) => {
    expect(datesAfter(FROM, expression, dates.length)).toEqual(dates)
  })

  test.each([
    ['0 0 L * *', ['2026-01-31', '2026-02-28', '2026-03-31']],
    ['0 0 LW * *', ['2026-01-30', '2026-02-27', '2026-03-31']],
    ['0 0 1W * *', ['2026-02-02', '2026-03-02', '2026-04-01']],
    ['0 0 31W * *', ['2026-01-30', '2026-03-31', '2026-05-29']],
    ['0 0 1W AUG *', ['2026-08-03', '2027-08-02']],
    ['0 0 * * FRI#2', ['2026-01-09', '2026-02-13']],
    ['0 0 ? * 5L', ['2026-01-30', '2026-02-27']],
    ['0 0 ? * FRI#L', ['2026-01-30', '2026-02-27']],
    ['0 0 * JUL FRIL', ['2026-07-31', '2027-07-30']],
    ['0 0 15,L * *', ['2026-01-15', '2026-01-31', '2026-02-15', '2026-02-28']],
    ['0 0 ? 2 SUN#5', ['2032-02-29', '2060-02-29', '2088-02-29', '2128-02-29']],
  ])('%s follows the month: %j', (expression, dates) => {
    expect(datesAfter(FROM, expression, dates.length)).toEqual(dates)
  })

  test('knows which years are leap years', () => {
    expect(datesAfter('2099-01-01T00:00:00Z', '0 0 L FEB *', 2)).toEqual(['2099-02-28', '2100-02-28'])
    expect(datesAfter('1999-01-01T00:00:00Z', '0 0 L FEB *', 2)).toEqual(['1999-02-28', '2000-02-29'])
  })

  test('with both day fields restricted has the dates of each, with a wildcard in one those of both', () => {
    expect(datesAfter(FROM, '0 0 13 * FRI', 3)).toEqual(['2026-01-02', '2026-01-09', '2026-01-13'])
    expect(datesAfter(FROM, '0 0 13 * *', 2)).toEqual(['2026-01-13', '2026-02-13'])
    expect(datesAfter(FROM, '0 0 ? * FRI', 2)).toEqual(['2026-01-02', '2026-01-09'])
    expect(datesAfter(FROM, '0 0 */2 * FRI', 3)).toEqual(['2026-01-09', '2026-01-23', '2026-02-13'])
  })

  test.each(['0 0 30 2 *', '0 0 31 4,6,9,11 *', '0 0 31W 2 *'])('%s never has a slot', (expression) => {
    expect(slotsAfter(FROM, expression, 'Europe/Berlin', 1)).toEqual([])
    expect(latestCronSlots(parseCron(expression, 'UTC'), 0, Date.parse(FROM), 10)).toEqual([])
  })

  test('is kept as it was written, without the space around it', () => {
    expect(parseCron(' @Daily ', 'europe/berlin')).toEqual({ expression: '@Daily', timezone: 'europe/berlin' })
  })
})

describe('when the clocks are put forward', () => {
  const FROM = '2026-03-28T12:00:00Z' // Berlin: 02:00 becomes 03:00 on 29 March.

  test.each([
    ['30 2 * * *', ['2026-03-29T03:00:00+02:00', '2026-03-30T02:30:00+02:00']],
    ['0,30 2 * * *', ['2026-03-29T03:00:00+02:00', '2026-03-30T02:00:00+02:00']],
    ['0 2,3 * * *', ['2026-03-29T03:00:00+02:00', '2026-03-30T02:00:00+02:00']],
    ['15 2,3 * * *', ['2026-03-29T03:00:00+02:00', '2026-03-29T03:15:00+02:00']],
    ['*/20 15 2 * * *', ['2026-03-29T03:00:00+02:00', '2026-03-30T02:15:00+02:00']],
  ])('the fixed times %s that do not exist fire once right after', (expression, slots) => {
    expect(slotsAfter(FROM, expression, 'Europe/Berlin', 2)).toEqual(slots)
  })

  test('an expression that follows elapsed time goes on without the times that do not exist', () => {
    expect(slotsAfter('2026-03-29T00:30:00Z', '*/30 * * * *', 'Europe/Berlin', 2)).toEqual([
      '2026-03-29T03:00:00+02:00',
      '2026-03-29T03:30:00+02:00',
    ])
    expect(slotsAfter(FROM, '15 1-3 * * *', 'Europe/Berlin', 3)).toEqual([
      '2026-03-29T01:15:00+01:00',
      '2026-03-29T03:15:00+02:00',
      '2026-03-30T01:15:00+02:00',
    ])
  })

  test('an expression that would lose all slots of the day has one right after', () => {
    expect(slotsAfter(FROM, '*/15 2 * * *', 'Europe/Berlin', 2)).toEqual([
      '2026-03-29T03:00:00+02:00',
      '2026-03-30T02:00:00+02:00',
    ])
  })

  test('a time in a gap at the end of the day fires as the next day begins, and counts as the day before', () => {
    const from = '2024-03-30T12:00:00Z' // Nuuk: Saturday, 30 March, 23:00 becomes Sunday, 00:00.
    expect(slotsAfter(from, '30 23 * * SAT', 'America/Nuuk', 2)).toEqual([
      '2024-03-31T00:00:00-01:00',
      '2024-04-06T23:30:00-01:00',
    ])
    expect(slotsAfter(from, '30 23 * * SUN', 'America/Nuuk', 1)).toEqual(['2024-03-31T23:30:00-01:00'])
  })

  test('a gap at midnight moves the slot to its end', () => {
    expect(slotsAfter('2026-04-23T12:00:00Z', '@daily', 'Africa/Cairo', 2)).toEqual([
      '2026-04-24T01:00:00+03:00',
      '2026-04-25T00:00:00+03:00',
    ])
  })

  // Samoa had no 30 December 2011, Kwajalein no 21 August 1993.
  test.each(['0 12 * * *', '0 12-12 * * *'])('a date that the zone leaves out has no slots: %s', (expression) => {
    expect(slotsAfter('2011-12-29T00:00:00Z', expression, 'Pacific/Apia', 3)).toEqual([
      '2011-12-29T12:00:00-10:00',
      '2011-12-31T12:00:00+14:00',
      '2012-01-01T12:00:00+14:00',
    ])
    expect(slotsAfter('1993-08-20T00:00:00Z', '0 12 21 8 *', 'Pacific/Kwajalein', 1)).toEqual([
      '1994-08-21T12:00:00+12:00',
    ])
  })
})

describe('when the clocks are put back', () => {
  const FROM = '2026-10-24T22:30:00Z' // Berlin: 03:00 becomes 02:00 on 25 October.

  test('a fixed time that comes twice fires at the first pass', () => {
    expect(slotsAfter(FROM, '30 2 * * *', 'Europe/Berlin', 2)).toEqual([
      '2026-10-25T02:30:00+02:00',
      '2026-10-26T02:30:00+01:00',
    ])
    expect(slotsAfter(FROM, '0,30 2,3 * * *', 'Europe/Berlin', 3)).toEqual([
      '2026-10-25T02:00:00+02:00',
      '2026-10-25T02:30:00+02:00',
      '2026-10-25T03:00:00+01:00',
    ])
  })

  test.each(['*/30 * * * *', '0,30 1-3 * * *', '*/30 0,1,2,3,4 * * *'])('%s fires in both passes', (expression) => {
    expect(slotsAfter('2026-10-24T23:30:00Z', expression, 'Europe/Berlin', 5)).toEqual([
      '2026-10-25T02:00:00+02:00',
      '2026-10-25T02:30:00+02:00',
      '2026-10-25T02:00:00+01:00',
      '2026-10-25T02:30:00+01:00',
      '2026-10-25T03:00:00+01:00',
    ])
  })

  test('over midnight, the slots of two dates come in the order of real time', () => {
    // St. John's: Sunday, 7 November 2010, 00:01 becomes Saturday, 23:01.
    expect(slotsAfter('2010-11-07T01:59:00Z', '0,30 0,23 * * *', 'America/St_Johns', 3)).toEqual([
      '2010-11-06T23:30:00-02:30',
      '2010-11-07T00:00:00-02:30',
      '2010-11-07T00:30:00-03:30',
    ])
    expect(slotsAfter('2010-11-07T01:59:00Z', '*/30 0,23 * * *', 'America/St_Johns', 4)).toEqual([
      '2010-11-06T23:30:00-02:30',
      '2010-11-07T00:00:00-02:30',
      '2010-11-06T23:30:00-03:30',
      '2010-11-07T00:00:00-03:30',
    ])
  })
})

describe('what is refused', () => {
  test.each<[unknown]>([
    [''],
    ['   '],
    [undefined],
    [null],
    [5],
    [['* * * * *']],
    ['*'],
    ['* * * *'],
    ['* * * * * * *'],
    ['*/0 * * * *'],
    ['*/-1 * * * *'],
    ['*/61 * * * *'],
    ['*/ * * * *'],
    ['/5 * * * *'],
    ['1/2/3 * * * *'],
    ['60 * * * *'],
    ['60 0 * * * *'],
    ['* 24 * * *'],
    ['* * 0 * *'],
    ['* * 32 * *'],
    ['* * * 13 *'],
    ['* * * 0 *'],
    ['* * * * 8'],
    ['* * * * */8'],
    ['-1 * * * *'],
    ['5-1 * * * *'],
    ['1-2-3 * * * *'],
    ['1, * * * *'],
    [',1 * * * *'],
    ['1.5 * * * *'],
    ['1e1 * * * *'],
    ['0x5 * * * *'],
    ['٣ * * * *'],
    ['? * * * *'],
    ['MON * * * *'],
    ['* * * MON *'],
    ['* * * * JAN'],
    ['* * * * MONDAY'],
    ['* * * * MON#6'],
    ['* * * * MON#0'],
    ['* * * * L'],
    ['* * W * *'],
    ['* * 32W * *'],
    ['* * L-3 * *'],
    ['@reboot'],
    ['@every 5m'],
    ['@constructor'],
    ['constructor * * * *'],
    [`${'1,'.repeat(5_000)}1 * * * *`],
    [`${'0-59,'.repeat(2_000)}1 * * * *`],
    ['*'.repeat(1_000_000)],
    [`* * * * ${' '.repeat(1_000_000)}*`],
  ])('is the expression %j', (expression) => {
    expect(() => parseCron(expression, 'UTC')).toThrowError(
      expect.objectContaining({ name: 'PawlError', code: 'invalid_option', path: 'cron' }),
    )
    expect(fastestMs(() => refusalOf(expression, 'UTC'))).toBeLessThan(20)
  })

  test.each<[unknown]>([
    [''],
    [undefined],
    [null],
    [0],
    ['Mars/Olympus'],
    ['Europe/Berlin '],
    ['../etc/localtime'],
    ['+05:30'],
    ['BST'],
    ['bst'],
    ['PST'],
    ['Europe/Berlin\u0000'],
    ['x'.repeat(1_000_000)],
  ])('is the zone %j', (timezone) => {
    expect(() => parseCron('@daily', timezone)).toThrowError(
      expect.objectContaining({ name: 'PawlError', code: 'invalid_option', path: 'timezone' }),
    )
    expect(fastestMs(() => refusalOf('@daily', timezone))).toBeLessThan(20)
  })

  test('says which field is wrong, what it may be and what came, in few words', () => {
    expect(refusalOf('0 25 * * *', 'UTC')).toBe('Expected the hour of `cron` to have numbers from 0 to 23, got `25`.')
    expect(refusalOf('* * * * */0', 'UTC')).toBe(
      'Expected the day of week of `cron` to have a step from 1 to 7, got `*/0`.',
    )
    expect(refusalOf('0 22-4 * * *', 'UTC')).toBe(
      'Expected the hour of `cron` to have a range that goes upwards (two ranges can go around the end), got `22-4`.',
    )
    expect(refusalOf(`${'9'.repeat(900)} * * * *`, 'UTC').length).toBeLessThan(200)
    expect(refusalOf('x'.repeat(10_000), 'UTC').length).toBeLessThan(250)
  })

  test('accepts every name that Intl lists, and the short names of IANA', () => {
    for (const zone of [
      ...Intl.supportedValuesOf('timeZone'),
      'UTC',
      'GMT',
      'CET',
      'Etc/GMT+5',
      'EST5EDT',
      'US/Pacific',
    ]) {
      expect(parseCron('@daily', zone).timezone).toBe(zone)
    }
  })
})

describe('the cost', () => {
  const NOW = Date.UTC(2026, 4, 5, 6, 7, 8)

  test.each([
    ['0 0 29 2 *', 'a leap day'],
    ['0 0 ? 2 FRI#5', 'the rarest day there is'],
    ['0 0 30 2 *', 'a day that never comes'],
    ['* * * * * *', 'every second'],
  ])('of finding the next slot of %s (%s) is some milliseconds', (expression) => {
    const cron = parseCron(expression, 'America/New_York')
    expect(fastestMs(() => nextCronSlot(cron, NOW))).toBeLessThan(20)
  })

  test.each(['* * * * * *', '*/5 * * * *', '0 0 29 2 *', '0 0 30 2 *', '* * * 1 1 *'])(
    'of finding the latest slots of %s after a long sleep is some milliseconds',
    (expression) => {
      const cron = parseCron(expression, 'Europe/Berlin')
      expect(fastestMs(() => latestCronSlots(cron, NOW - 365 * 86_400_000, NOW, 100))).toBeLessThan(50)
      expect(fastestMs(() => latestCronSlots(cron, -8.64e15, NOW, 100))).toBeLessThan(50)
    },
  )

  test('does not grow with what was asked before', () => {
    const cache = new BoundedCache<number, string>(2)
    for (let key = 0; key < 10; key++) cache.get(key, () => `made ${key}`)
    expect(cache.size).toBe(2)
    expect(cache.get(9, () => 'made again')).toBe('made 9')
    expect(cache.get(7, () => 'made again')).toBe('made again')
    expect(() => cache.get(1, () => expect.fail('cannot be made'))).toThrow('cannot be made')
    expect(cache.get(1, () => 'made at last')).toBe('made at last')
  })
})

describe('whatever the expression, the zone and the time', () => {
  const zones = fc.constantFrom(
    'UTC',
    'Europe/Berlin',
    'America/Nuuk',
    'Australia/Lord_Howe',
    'Africa/Cairo',
    'Asia/Gaza',
  )
  const instants = fc.integer({ min: Date.UTC(1970, 0, 1), max: Date.UTC(2100, 0, 1) })
  const crons = fc.record({ expression: expressions(), timezone: zones })

  test('slots are whole seconds and strictly increase', () => {
    fc.assert(
      fc.property(crons, instants, (cron, from) => {
        let last = from
        for (let step = 0; step < 20; step++) {
          const slot = nextCronSlot(cron, last)
          if (slot === null) return
          expect(slot).toBeGreaterThan(last)
          expect(slot % 1_000).toBe(0)
          expect(nextCronSlot(cron, slot - 1)).toBe(slot)
          last = slot
        }
      }),
    )
  })

  test('the latest slots are the end of a walk over all of them', () => {
    fc.assert(
      fc.property(
        crons,
        instants,
        fc.nat(3 * 86_400_000),
        fc.integer({ min: 0, max: 30 }),
        (cron, from, span, count) => {
          const walked: number[] = []
          let at = nextCronSlot(cron, from)
          while (at !== null && at <= from + span) {
            walked.push(at)
            at = nextCronSlot(cron, at)
          }
          expect(latestCronSlots(cron, from, from + span, count)).toEqual(count === 0 ? [] : walked.slice(-count))
        },
      ),
    )
  })

  test('the edges of time have answers', () => {
    const cron = parseCron('* * * * *', 'Europe/Berlin')
    expect(nextCronSlot(cron, 8.64e15)).toBeNull()
    expect(nextCronSlot(cron, -8.64e15)).toBeLessThan(-8.63e15)
    expect(latestCronSlots(cron, -8.64e15, 8.64e15, 1)[0]).toBeGreaterThan(8.63e15)
    expect(latestCronSlots(cron, 5, 5, 10)).toEqual([])
    expect(latestCronSlots(cron, 10, 5, 10)).toEqual([])
  })
})

function refusalOf(expression: unknown, timezone: unknown): string {
  try {
    parseCron(expression, timezone)
  } catch (error) {
    return (error as Error).message
  }
  return expect.fail('it was accepted')
}

/** The fastest of a few: the machine may be busy with other things. */
function fastestMs(act: () => unknown): number {
  const times = Array.from({ length: 5 }, () => {
    const startedAt = performance.now()
    act()
    return performance.now() - startedAt
  })
  return Math.min(...times)
}
