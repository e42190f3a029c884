import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  EVERY_MAX_MS,
  LATE_MAX_MS,
  MISSED_ALL_MAX,
  type MissedPolicy,
  nextSlot,
  PREVIEW_COUNT_MAX,
  planSlots,
  previewSlots,
  readTiming,
  SKIPPED_COUNT_MAX,
  type Timing,
} from '../../src/domain/slots.ts'
import { expressions } from './cron-oracle-expressions.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOW = Date.UTC(2026, 4, 5, 6, 0, 0)

const hourly = cron('@hourly')
const everyMinute = cron('* * * * *')

function cron(expression: string, timezone = 'UTC'): Timing {
  return readTiming({ cron: expression, timezone, anchorAt: NOW })
}

function every(everyMs: number, anchorAt = NOW): Timing {
  return readTiming({ everyMs, anchorAt })
}

function plan(timing: Timing, lastSlotAt: number, now: number, missed: MissedPolicy = 'one') {
  return planSlots(timing, { lastSlotAt, missed }, now)
}

describe('a timing', () => {
  test('is a cron expression or an interval, in UTC unless a zone is given', () => {
    expect(readTiming({ cron: ' 5 4 * * * ', anchorAt: 7 })).toEqual({
      kind: 'cron',
      expression: '5 4 * * *',
      timezone: 'UTC',
    })
    expect(readTiming({ everyMs: 1_500, timezone: 'Asia/Tokyo', cron: undefined, anchorAt: 7 })).toEqual({
      kind: 'every',
      everyMs: 1_500,
      anchorAt: 7,
      timezone: 'Asia/Tokyo',
    })
    expect(readTiming({ cron: null, everyMs: 1_000, timezone: null, anchorAt: 7 }).timezone).toBe('UTC')
  })

  test.each<[string, object]>([
    ['cron', {}],
    ['cron', { cron: null, everyMs: null }],
    ['cron', { cron: '@daily', everyMs: 1_000 }],
    ['cron', { cron: '61 * * * *' }],
    ['cron', { cron: 5 }],
    ['everyMs', { everyMs: 999 }],
    ['everyMs', { everyMs: 1_000.5 }],
    ['everyMs', { everyMs: '1000' }],
    ['everyMs', { everyMs: Number.NaN }],
    ['everyMs', { everyMs: EVERY_MAX_MS + 1 }],
    ['timezone', { cron: '@daily', timezone: 'Nowhere' }],
    ['timezone', { everyMs: 1_000, timezone: '' }],
  ])('refuses %s in %j and names it', (path, input) => {
    expect(() => readTiming({ ...input, anchorAt: NOW })).toThrowError(
      expect.objectContaining({ name: 'PawlError', code: 'invalid_option', path }),
    )
  })

  test('that no longer is valid says so when it is used', () => {
    const stored: Timing = { kind: 'cron', expression: '* * *', timezone: 'UTC' }
    const elsewhere: Timing = { kind: 'cron', expression: '@daily', timezone: 'Mars/Olympus' }
    expect(() => nextSlot(stored, NOW)).toThrowError(expect.objectContaining({ path: 'cron' }))
    expect(() => plan(elsewhere, NOW - DAY, NOW)).toThrowError(expect.objectContaining({ path: 'timezone' }))
  })
})

describe('an interval', () => {
  test('has its first slot one interval after its anchor, and keeps to the anchor', () => {
    const timing = every(90 * SECOND)
    expect(nextSlot(timing, NOW - DAY)).toBe(NOW + 90 * SECOND)
    expect(nextSlot(timing, NOW)).toBe(NOW + 90 * SECOND)
    expect(nextSlot(timing, NOW + 90 * SECOND - 1)).toBe(NOW + 90 * SECOND)
    expect(nextSlot(timing, NOW + 90 * SECOND)).toBe(NOW + 180 * SECOND)
    expect(nextSlot(timing, NOW + 100 * SECOND)).toBe(NOW + 180 * SECOND)
  })

  test('is real elapsed time also when the clocks are changed', () => {
    const anchorAt = Date.parse('2026-03-29T00:30:00Z')
    const timing = readTiming({ everyMs: HOUR, timezone: 'Europe/Berlin', anchorAt })
    expect(previewSlots(timing, anchorAt, 2)).toEqual([
      { at: anchorAt + HOUR, local: '2026-03-29T03:30:00+02:00', note: null },
      { at: anchorAt + 2 * HOUR, local: '2026-03-29T04:30:00+02:00', note: null },
    ])
  })

  test('has an end where time ends', () => {
    expect(nextSlot(every(EVERY_MAX_MS), 8.64e15)).toBeNull()
  })
})

describe('the plan', () => {
  test('fires nothing before the next slot, and says when that is', () => {
    expect(plan(hourly, NOW, NOW + 59 * MINUTE)).toEqual({ fire: [], skipped: [], nextSlotAt: NOW + HOUR })
  })

  test('fires a slot that has come, and never again', () => {
    expect(plan(hourly, NOW, NOW + HOUR)).toEqual({ fire: [NOW + HOUR], skipped: [], nextSlotAt: NOW + 2 * HOUR })
    expect(plan(hourly, NOW + HOUR, NOW + HOUR)).toEqual({ fire: [], skipped: [], nextSlotAt: NOW + 2 * HOUR })
  })

  test.each<MissedPolicy>(['one', 'all', 'none'])(
    'fires every slot that is at most a minute late, with missed: %s',
    (missed) => {
      const { fire, skipped } = plan(cron('*/20 * * * * *'), NOW - MINUTE - 1, NOW, missed)
      expect(fire).toEqual([NOW - 60 * SECOND, NOW - 40 * SECOND, NOW - 20 * SECOND, NOW])
      expect(skipped).toEqual([])
      expect(plan(everyMinute, NOW - 1, NOW + LATE_MAX_MS - 1, missed).fire).toEqual([NOW])
      expect(plan(cron('* * * * * *'), NOW - MINUTE - 1, NOW, missed).fire).toHaveLength(61)
      expect(plan(every(SECOND, NOW - DAY), NOW - MINUTE - 1, NOW, missed).fire).toHaveLength(61)
    },
  )

  test('takes a slot that is more than a minute late for missed', () => {
    expect(plan(hourly, NOW - 1, NOW + LATE_MAX_MS, 'none').fire).toEqual([NOW])
    expect(plan(hourly, NOW - 1, NOW + LATE_MAX_MS + 1, 'none')).toEqual({
      fire: [],
      skipped: [{ firstSlotAt: NOW, lastSlotAt: NOW, count: 1, reason: 'missed' }],
      nextSlotAt: NOW + HOUR,
    })
  })

  test('with missed: one, fires the latest missed slot and those on time, and records the others', () => {
    expect(plan(hourly, NOW - 1, NOW + 5 * HOUR, 'one')).toEqual({
      fire: [NOW + 4 * HOUR, NOW + 5 * HOUR],
      skipped: [{ firstSlotAt: NOW, lastSlotAt: NOW + 3 * HOUR, count: 4, reason: 'missed' }],
      nextSlotAt: NOW + 6 * HOUR,
    })
  })

  test('with missed: all, fires them all, in order, up to the cap', () => {
    const few = plan(hourly, NOW, NOW + 5 * HOUR, 'all')
    expect(few.fire).toEqual([1, 2, 3, 4, 5].map((hours) => NOW + hours * HOUR))
    expect(few.skipped).toEqual([])
    const many = plan(hourly, NOW - 1, NOW + 105.5 * HOUR, 'all')
    expect(many.fire).toHaveLength(MISSED_ALL_MAX)
    expect([many.fire[0], many.fire.at(-1)]).toEqual([NOW + 6 * HOUR, NOW + 105 * HOUR])
    expect(many.skipped).toEqual([{ firstSlotAt: NOW, lastSlotAt: NOW + 5 * HOUR, count: 6, reason: 'missed' }])
  })

  test('with missed: none, fires only what is on time', () => {
    expect(plan(hourly, NOW - 1, NOW + 5 * HOUR, 'none')).toEqual({
      fire: [NOW + 5 * HOUR],
      skipped: [{ firstSlotAt: NOW, lastSlotAt: NOW + 4 * HOUR, count: 5, reason: 'missed' }],
      nextSlotAt: NOW + 6 * HOUR,
    })
  })

  test('counts the skipped slots of an interval always, those of an expression up to a number', () => {
    const counted = { firstSlotAt: NOW - DAY + MINUTE, lastSlotAt: NOW - 2 * MINUTE, reason: 'missed' }
    expect(plan(everyMinute, NOW - DAY, NOW, 'none').skipped).toEqual([{ ...counted, count: null }])
    expect(plan(every(MINUTE, NOW - DAY), NOW - DAY, NOW, 'none').skipped).toEqual([{ ...counted, count: 1_438 }])
    const atTheEdge = plan(hourly, NOW - 1, NOW + SKIPPED_COUNT_MAX * HOUR, 'none')
    expect(atTheEdge.skipped[0]?.count).toBe(SKIPPED_COUNT_MAX)
  })

  test('of a schedule that slept for years takes milliseconds', () => {
    for (const timing of [cron('* * * * * *', 'Europe/Berlin'), every(SECOND, 0), cron('0 0 30 2 *')]) {
      // The fastest of some rounds: what else the machine does must not count.
      const rounds = Array.from({ length: 8 }, () => {
        const startedAt = performance.now()
        plan(timing, 0, NOW, 'all')
        return performance.now() - startedAt
      })
      expect(Math.min(...rounds)).toBeLessThan(50)
    }
  })

  test('of a schedule whose last slot is in the future fires nothing that is not after it', () => {
    expect(plan(hourly, NOW + DAY, NOW)).toEqual({ fire: [], skipped: [], nextSlotAt: NOW + DAY + HOUR })
  })

  test('of an expression that never comes is empty', () => {
    expect(plan(cron('0 0 31 2 *'), 0, NOW)).toEqual({ fire: [], skipped: [], nextSlotAt: null })
  })
})

describe('the preview', () => {
  test('shows local times, and what the clocks do to them', () => {
    expect(previewSlots(cron('30 2 * * *', 'Europe/Berlin'), Date.parse('2026-03-28T00:00:00Z'), 3)).toEqual([
      { at: Date.parse('2026-03-28T01:30:00Z'), local: '2026-03-28T02:30:00+01:00', note: null },
      { at: Date.parse('2026-03-29T01:00:00Z'), local: '2026-03-29T03:00:00+02:00', note: 'dst-gap' },
      { at: Date.parse('2026-03-30T00:30:00Z'), local: '2026-03-30T02:30:00+02:00', note: null },
    ])
    expect(previewSlots(cron('30 2 * * *', 'Europe/Berlin'), Date.parse('2026-10-24T12:00:00Z'), 2)).toEqual([
      { at: Date.parse('2026-10-25T00:30:00Z'), local: '2026-10-25T02:30:00+02:00', note: 'dst-overlap' },
      { at: Date.parse('2026-10-26T01:30:00Z'), local: '2026-10-26T02:30:00+01:00', note: null },
    ])
  })

  test('notes a gap also where a slot that exists shares its end, and where elapsed time would lose the day', () => {
    const from = Date.parse('2026-03-29T00:30:00Z')
    const notes = (expression: string) =>
      previewSlots(cron(expression, 'Europe/Berlin'), from, 2).map(
        ({ local, note }) => `${local.slice(11, 16)} ${note}`,
      )
    expect(notes('0 2,3,4 * * *')).toEqual(['03:00 dst-gap', '04:00 null'])
    expect(notes('*/30 2 * * *')).toEqual(['03:00 dst-gap', '02:00 null'])
    expect(notes('0 3,4 * * *')).toEqual(['03:00 null', '04:00 null'])
    expect(notes('*/30 * * * *')).toEqual(['03:00 null', '03:30 null'])
  })

  test('notes nothing where slots follow elapsed time through both passes', () => {
    const previewed = previewSlots(cron('30 * * * *', 'Europe/Berlin'), Date.parse('2026-10-25T00:00:00Z'), 2)
    expect(previewed.map(({ local, note }) => [local, note])).toEqual([
      ['2026-10-25T02:30:00+02:00', null],
      ['2026-10-25T02:30:00+01:00', null],
    ])
  })

  test('writes offsets and fractions of every kind', () => {
    const local = (timezone: string, anchorAt: number) =>
      previewSlots(readTiming({ everyMs: 1_000, timezone, anchorAt }), anchorAt, 1)[0]?.local
    expect(local('UTC', 0)).toBe('1970-01-01T00:00:01+00:00')
    expect(local('Asia/Kathmandu', NOW + 123)).toBe('2026-05-05T11:45:01.123+05:45')
    expect(local('America/St_Johns', NOW)).toBe('2026-05-05T03:30:01-02:30')
    expect(local('Africa/Monrovia', 0)).toBe('1969-12-31T23:15:31-00:44:30')
  })

  test('ends where no more slots come, and refuses a count that is no count', () => {
    expect(previewSlots(cron('0 0 30 2 *'), NOW, 5)).toEqual([])
    for (const count of [0, PREVIEW_COUNT_MAX + 1, 1.5, Number.NaN]) {
      expect(() => previewSlots(hourly, NOW, count)).toThrowError(expect.objectContaining({ path: 'count' }))
    }
  })
})

describe('whatever the timing', () => {
  test('the slots strictly increase, and the preview shows the same', () => {
    fc.assert(
      fc.property(timings(), instants(), (timing, from) => {
        const previewed = previewSlots(timing, from, 10)
        let last = from
        for (const { at, local } of previewed) {
          expect(at).toBeGreaterThan(last)
          expect(at).toBe(nextSlot(timing, last))
          expect(Date.parse(local)).toBe(at)
          last = at
        }
        if (previewed.length < 10) expect(nextSlot(timing, last)).toBeNull()
      }),
    )
  })

  test('a plan deals with every slot since the last time exactly once', () => {
    fc.assert(
      fc.property(timings(), instants(), fc.nat(2 * DAY), policies(), (timing, lastSlotAt, span, missed) => {
        const now = lastSlotAt + span
        const all = walk(timing, lastSlotAt, now)
        const { fire, skipped, nextSlotAt } = plan(timing, lastSlotAt, now, missed)
        const isSkipped = (slot: number) =>
          skipped.some(({ firstSlotAt, lastSlotAt }) => slot >= firstSlotAt && slot <= lastSlotAt)
        expect(fire).toEqual(all.filter((slot) => !isSkipped(slot)))
        expect(fire.filter((slot) => now - slot <= LATE_MAX_MS)).toEqual(
          all.filter((slot) => now - slot <= LATE_MAX_MS),
        )
        const late = all.filter((slot) => now - slot > LATE_MAX_MS)
        const most = { one: 1, all: MISSED_ALL_MAX, none: 0 }[missed]
        expect(fire.filter((slot) => now - slot > LATE_MAX_MS)).toEqual(most === 0 ? [] : late.slice(-most))
        for (const { firstSlotAt, lastSlotAt, count } of skipped) {
          const inside = all.filter(isSkipped)
          expect([firstSlotAt, lastSlotAt]).toEqual([inside[0], inside.at(-1)])
          if (count !== null) expect(count).toBe(inside.length)
        }
        expect(nextSlotAt).toBe(nextSlot(timing, now))
      }),
    )
  })

  test('plans made one after the other fire no slot twice', () => {
    fc.assert(
      fc.property(
        timings(),
        instants(),
        fc.array(fc.nat(3 * HOUR), { maxLength: 20 }),
        policies(),
        (timing, start, steps, missed) => {
          const fired: number[] = []
          let now = start
          let lastSlotAt = start
          for (const step of steps) {
            now += step
            const { fire, skipped } = plan(timing, lastSlotAt, now, missed)
            fired.push(...fire)
            lastSlotAt = fire.at(-1) ?? skipped.at(-1)?.lastSlotAt ?? lastSlotAt
          }
          expect(fired).toEqual([...new Set(fired)].sort((a, b) => a - b))
          expect(fired.every((slot) => slot > start && slot <= now)).toBe(true)
        },
      ),
    )
  })
})

function walk(timing: Timing, fromAt: number, toAt: number): number[] {
  const slots: number[] = []
  for (let at = nextSlot(timing, fromAt); at !== null && at <= toAt; at = nextSlot(timing, at)) slots.push(at)
  return slots
}

function timings(): fc.Arbitrary<Timing> {
  const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'Africa/Cairo', 'America/Nuuk', 'Australia/Lord_Howe')
  const intervals = fc.record({
    everyMs: fc.integer({ min: 10 * SECOND, max: 3 * DAY }),
    timezone: zones,
    anchorAt: instants(),
  })
  return fc.oneof(
    fc.record({ cron: expressions(), timezone: zones }).map((input) => readTiming({ ...input, anchorAt: 0 })),
    intervals.map(readTiming),
  )
}

/** Often near a change of the clocks. */
function instants(): fc.Arbitrary<number> {
  const changes = ['2026-03-28T12:00:00Z', '2026-10-24T12:00:00Z', '2026-04-23T12:00:00Z'].map((text) =>
    Date.parse(text),
  )
  const near = fc.tuple(fc.constantFrom(...changes), fc.nat(DAY)).map(([at, plus]) => at + plus)
  return fc.oneof(near, fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2060, 0, 1) }))
}

function policies(): fc.Arbitrary<MissedPolicy> {
  return fc.constantFrom('one', 'all', 'none')
}
