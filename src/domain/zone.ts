import { BoundedCache } from './cron-cache.ts'
import { assert } from './errors.ts'
import { invalid } from './options.ts'

/** What is known of a time zone. Made by `zoneNamed`. */
export interface Zone {
  readonly name: string
  readonly format: Intl.DateTimeFormat
  readonly stretches: BoundedCache<number, readonly OffsetChange[]>
}

/** Real time in which the clocks of a zone keep one distance from UTC: from `fromAt` up to, but not including, `toAt`. */
export interface OffsetPeriod {
  readonly fromAt: number
  readonly toAt: number
  readonly offsetMs: number
}

interface OffsetChange {
  readonly at: number
  readonly offsetMs: number
}

export const DAY_MS = 86_400_000

/** Further from UTC than any zone ever was: local mean time at Manila was 15 h 56 min behind. */
export const OFFSET_MAX_MS = 16 * 3_600_000

/** The last instant that a Date can hold; the first is its negative. */
const INSTANT_MAX = 8_640_000_000_000_000

/** Slots end a little before that, so that their local time still is a Date. */
export const SLOT_MAX_AT = INSTANT_MAX - 10 * DAY_MS

/**
 * The offset is looked at this often. Two changes that undo each other in less time would be overlooked; in all zones
 * from 1900 to 2100 no offset lasts less than six days.
 */
const PROBE_MS = DAY_MS

const STRETCH_MS = 8 * PROBE_MS
const STRETCHES_KEPT_MAX = 128
const ZONES_KEPT_MAX = 512

const NAME_PATTERN = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/

/** The only names of three letters in the IANA database. ICU takes more, and reads BST as the time of Bangladesh. */
const SHORT_NAMES = new Set('CET EET EST GMT HST MET MST PRC ROC ROK UCT UTC WET'.split(' '))

const EXPECTED = "the name of an IANA time zone, such as 'Europe/Berlin' or 'UTC'"

const zones = new BoundedCache<string, Zone>(ZONES_KEPT_MAX)

/** The zone of that name, or an error of the option `timezone`. */
export function zoneNamed(name: unknown): Zone {
  if (typeof name !== 'string' || !NAME_PATTERN.test(name)) throw invalid('timezone', EXPECTED, name)
  return zones.get(name, () => makeZone(name))
}

function makeZone(name: string): Zone {
  if (name.length === 3 && !SHORT_NAMES.has(name.toUpperCase())) {
    throw invalid('timezone', `${EXPECTED} (abbreviations mean different zones in different countries)`, name)
  }
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset', year: 'numeric' })
    return { name, format, stretches: new BoundedCache(STRETCHES_KEPT_MAX) }
  } catch {
    throw invalid('timezone', EXPECTED, name)
  }
}

/** How far the clocks of the zone are ahead of UTC. */
function offsetAt(zone: Zone, at: number): number {
  const text = zone.format.format(Math.max(-INSTANT_MAX, Math.min(INSTANT_MAX, at)))
  const found = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(text)
  assert(found !== null, `cannot read the offset of ${zone.name} from '${text}'`)
  const [, sign, hours = 0, minutes = 0, seconds = 0] = found
  const size = (Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1_000
  return sign === '-' ? -size : size
}

/** The periods, in order and without holes, that cover the time from `fromAt` to `toAt` (and some more). */
export function offsetPeriods(zone: Zone, fromAt: number, toAt: number): OffsetPeriod[] {
  const firstIndex = Math.floor(fromAt / STRETCH_MS)
  const lastIndex = Math.floor(toAt / STRETCH_MS)
  const changes: OffsetChange[] = []
  for (let index = firstIndex; index <= lastIndex; index++) {
    for (const change of zone.stretches.get(index, () => findChanges(zone, index * STRETCH_MS))) {
      if (changes.at(-1)?.offsetMs !== change.offsetMs) changes.push(change)
    }
  }
  const endAt = (lastIndex + 1) * STRETCH_MS
  return changes.map(({ at, offsetMs }, index) => ({ fromAt: at, toAt: changes[index + 1]?.at ?? endAt, offsetMs }))
}

/** The offset at the start of a stretch, and every change after that up to and including its end. */
function findChanges(zone: Zone, startAt: number): OffsetChange[] {
  let last: OffsetChange = { at: startAt, offsetMs: offsetAt(zone, startAt) }
  const changes = [last]
  for (let probeAt = startAt + PROBE_MS; probeAt <= startAt + STRETCH_MS; probeAt += PROBE_MS) {
    const offsetMs = offsetAt(zone, probeAt)
    while (last.offsetMs !== offsetMs) {
      const at = firstOtherOffset(zone, last, probeAt)
      last = { at, offsetMs: offsetAt(zone, at) }
      changes.push(last)
    }
    last = { at: probeAt, offsetMs }
  }
  return changes
}

/** Offsets change on whole seconds, so halving the distance ends after some fifteen steps. */
function firstOtherOffset(zone: Zone, known: OffsetChange, otherAt: number): number {
  let sameAt = known.at
  let changedAt = otherAt
  while (changedAt - sameAt > 1_000) {
    const middleAt = sameAt + Math.floor((changedAt - sameAt) / 2_000) * 1_000
    if (offsetAt(zone, middleAt) === known.offsetMs) sameAt = middleAt
    else changedAt = middleAt
  }
  return changedAt
}

/** Whether the clocks, put back, come a second time to what they show at this instant. */
export function isShownAgain(zone: Zone, at: number): boolean {
  const periods = offsetPeriods(zone, at, at + DAY_MS + OFFSET_MAX_MS)
  const shown = at + offsetAt(zone, at)
  return periods.some(
    ({ fromAt, toAt, offsetMs }) => fromAt > at && shown >= fromAt + offsetMs && shown < toAt + offsetMs,
  )
}

/** What a clock in the zone shows, with its distance from UTC: `2026-03-29T03:00:00+02:00`. */
export function localTime(zone: Zone, at: number): string {
  const offsetMs = offsetAt(zone, at)
  const wall = new Date(at + offsetMs).toISOString().replace(/(\.000)?Z$/, '')
  const size = new Date(Math.abs(offsetMs)).toISOString().slice(11, 19).replace(/:00$/, '')
  return `${wall}${offsetMs < 0 ? '-' : '+'}${size}`
}
