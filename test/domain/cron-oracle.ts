// A second opinion on cron slots that shares nothing with the implementation: it reads what the clocks of a zone show,
// minute by minute, through Intl.DateTimeFormat, and applies the rule of DST to what it has seen. Slow and simple.

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

/** What the clocks show at an instant, written as the instant at which clocks in UTC show the same. */
function readClock(format: Intl.DateTimeFormat, at: number): number {
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = (format.format(at).match(/\d+/g) ?? []).map(
    Number,
  )
  return Date.UTC(year, month - 1, day, hour, minute, second)
}

function clockOf(zone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
}

/** A change of a zone's clocks: from `beforeMs` ahead of UTC to `afterMs`. */
export interface Transition {
  readonly zone: string
  readonly at: number
  readonly beforeMs: number
  readonly afterMs: number
}

/** Every change of the clocks between two instants, found by looking every `stepMs` and then closer: one in each step. */
export function findTransitions(zone: string, fromAt: number, toAt: number, stepMs = DAY_MS): Transition[] {
  const format = clockOf(zone)
  const offset = (at: number) => readClock(format, at) - at
  const transitions: Transition[] = []
  let beforeMs = offset(fromAt)
  for (let at = fromAt; at < toAt; at += stepMs) {
    if (offset(at + stepMs) === beforeMs) continue
    let before = at
    let after = at + stepMs
    while (after - before > 1_000) {
      const middle = before + Math.floor((after - before) / 2_000) * 1_000
      if (offset(middle) === beforeMs) before = middle
      else after = middle
    }
    const afterMs = offset(after)
    transitions.push({ zone, at: after, beforeMs, afterMs })
    beforeMs = afterMs
  }
  return transitions
}

/** What the clocks of a zone showed, minute by minute. */
export interface Scan {
  readonly minutes: readonly ShownMinute[]
  /** The minutes they leapt over; `at` is the first instant after the leap. */
  readonly missing: readonly ShownMinute[]
  /** Days since 1 January 1970. */
  readonly dates: ReadonlySet<number>
}

interface ShownMinute {
  readonly at: number
  readonly date: number
  readonly minuteOfDay: number
  /** They show it for the first time. */
  readonly isFirst: boolean
}

/**
 * Reads the clocks at every minute. With `readMs` they are read only this often where nothing happens: when they went
 * on by just that much between two readings, the minutes between are filled in.
 */
export function scanClocks(zone: string, fromAt: number, toAt: number, readMs = MINUTE_MS): Scan {
  const format = clockOf(zone)
  const shown: number[] = []
  let start = readClock(format, fromAt)
  for (let at = fromAt; at < toAt; at += readMs) {
    const end = readClock(format, at + readMs)
    for (let minute = 0; minute < readMs; minute += MINUTE_MS) {
      shown.push(end - start === readMs ? start + minute : readClock(format, at + minute))
    }
    start = end
  }
  const odd = shown.find((time) => time % MINUTE_MS !== 0)
  if (odd !== undefined) throw new Error(`${zone} shows ${new Date(odd).toISOString()} on a whole minute`)
  return readShown(fromAt, shown)
}

function readShown(fromAt: number, shown: readonly number[]): Scan {
  const seen = new Set<number>()
  const minutes = shown.map((time, index) => {
    const isFirst = !seen.has(time)
    seen.add(time)
    return describeMinute(time, fromAt + index * MINUTE_MS, isFirst)
  })
  const missing: ShownMinute[] = []
  for (let index = 1; index < shown.length; index++) {
    const [before = 0, after = 0] = [shown[index - 1], shown[index]]
    for (let time = before + MINUTE_MS; time < after; time += MINUTE_MS) {
      if (!seen.has(time)) missing.push(describeMinute(time, fromAt + index * MINUTE_MS, false))
    }
  }
  return { minutes, missing, dates: new Set(minutes.map(({ date }) => date)) }
}

function describeMinute(time: number, at: number, isFirst: boolean): ShownMinute {
  const date = Math.floor(time / DAY_MS)
  return { at, date, minuteOfDay: (time - date * DAY_MS) / MINUTE_MS, isFirst }
}

/** The slots of an expression after `fromAt` up to `toAt`, in order. Every date in question must be scanned whole. */
export function oracleSlots(expression: string, scan: Scan, fromAt: number, toAt: number): number[] {
  const spec = specOf(expression)
  const datesOn = new Set([...scan.dates].filter((date) => isOnDate(spec, date)))
  const slots: number[] = []
  const datesWithSlots = new Set<number>()
  for (const { at, date, minuteOfDay, isFirst } of scan.minutes) {
    if (spec.minutesOfDay[minuteOfDay] === 0 || !datesOn.has(date)) continue
    datesWithSlots.add(date)
    if (at + MINUTE_MS <= fromAt || at > toAt || (spec.isFixed && !isFirst)) continue
    for (const second of spec.seconds) slots.push(at + second * 1_000)
  }
  for (const { at, date, minuteOfDay } of scan.missing) {
    if (spec.minutesOfDay[minuteOfDay] === 0 || !datesOn.has(date)) continue
    if (spec.isFixed || !datesWithSlots.has(date)) slots.push(at)
  }
  return [...new Set(slots)].filter((slot) => slot > fromAt && slot <= toAt).sort((a, b) => a - b)
}

interface Spec {
  readonly seconds: readonly number[]
  readonly minutesOfDay: Uint8Array
  readonly isFixed: boolean
  readonly fields: readonly string[]
  readonly dates: Map<number, boolean>
}

const specs = new Map<string, Spec>()

function specOf(expression: string): Spec {
  const known = specs.get(expression)
  if (known !== undefined) return known
  const macro = { '@daily': '0 0 * * *', '@weekly': '0 0 * * 0', '@monthly': '0 0 1 * *', '@hourly': '0 * * * *' }[
    expression
  ]
  const words = (macro ?? expression).split(' ')
  const fields = words.length === 5 ? ['0', ...words] : words
  const [second = '', minute = '', hour = ''] = fields
  const spec: Spec = {
    seconds: upTo(60).filter((value) => has(second, value, 0, 59)),
    minutesOfDay: Uint8Array.from(upTo(1_440), (value) =>
      Number(has(minute, value % 60, 0, 59) && has(hour, Math.floor(value / 60), 0, 23)),
    ),
    isFixed: [minute, hour].every((field) => /^[\d,]+$/.test(field)),
    fields,
    dates: new Map(),
  }
  specs.set(expression, spec)
  return spec
}

function isOnDate(spec: Spec, date: number): boolean {
  const known = spec.dates.get(date)
  if (known !== undefined) return known
  const [, , , dayOfMonth = '', month = '', dayOfWeek = ''] = spec.fields
  const inMonth = has(month, new Date(date * DAY_MS).getUTCMonth() + 1, 1, 12)
  const byDay = dayOfMonth.split(',').some((item) => isDayOfMonth(item, date))
  const byWeekday = dayOfWeek.split(',').some((item) => isDayOfWeek(item, date))
  const isWild = [dayOfMonth, dayOfWeek].some((field) => field.startsWith('*') || field === '?')
  const answer = inMonth && (isWild ? byDay && byWeekday : byDay || byWeekday)
  spec.dates.set(date, answer)
  return answer
}

function isDayOfMonth(item: string, date: number): boolean {
  const day = new Date(date * DAY_MS).getUTCDate()
  const workdays = monthOf(date).filter((other) => ![0, 6].includes(new Date(other * DAY_MS).getUTCDay()))
  if (item === 'L') return date === monthOf(date).at(-1)
  if (item === 'LW') return date === workdays.at(-1)
  if (!item.endsWith('W')) return item === '?' || has(item, day, 1, 31)
  const wanted = monthOf(date)[Number.parseInt(item, 10) - 1]
  if (wanted === undefined) return false
  const distance = (other: number) => Math.abs(other - wanted)
  return workdays.sort((a, b) => distance(a) - distance(b))[0] === date
}

function isDayOfWeek(item: string, date: number): boolean {
  const weekday = new Date(date * DAY_MS).getUTCDay()
  const [, name = '', place] = /^(\w+?)(#\d|#?L)$/.exec(item) ?? []
  if (place === undefined) return item === '?' || has(item, weekday, 0, 6) || (weekday === 0 && has(item, 7, 0, 6))
  if (!has(name, weekday, 0, 6)) return false
  const alike = monthOf(date).filter((other) => (other - date) % 7 === 0)
  return place.endsWith('L') ? alike.at(-1) === date : alike[Number(place.slice(1)) - 1] === date
}

/** All dates of the month that this date is in. */
function monthOf(date: number): number[] {
  const start = new Date(date * DAY_MS)
  const month = start.getUTCMonth()
  return upTo(63)
    .map((index) => date - 31 + index)
    .filter((other) => {
      const there = new Date(other * DAY_MS)
      return there.getUTCMonth() === month && there.getUTCFullYear() === start.getUTCFullYear()
    })
}

const NAMES: Record<string, number> = {
  SUN: 0,
  MON: 1,
  TUE: 2,
  WED: 3,
  THU: 4,
  FRI: 5,
  SAT: 6,
  MAR: 3,
  OCT: 10,
  DEC: 12,
}

/** Whether a list has this value. `low` and `high` are the ends of `*`. */
function has(list: string, value: number, low: number, high: number): boolean {
  const numbers = list.replace(/[A-Z]{3}/g, (name) => String(NAMES[name]))
  return numbers.split(',').some((item) => {
    const found = /^(\*|\d+)(?:-(\d+))?(?:\/(\d+))?$/.exec(item)
    if (found === null) throw new Error(`The oracle does not know '${item}'`)
    const [, start = '', end, step] = found
    const from = start === '*' ? low : Number(start)
    // A range of days that ends on a Sunday ends on day 7.
    const to = end !== undefined ? Number(end) || (from > 0 ? 7 : 0) : start === '*' || step !== undefined ? high : from
    return value >= from && value <= to && (value - from) % Number(step ?? 1) === 0
  })
}

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}
