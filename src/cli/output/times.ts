const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `3 m ago`, `in 2 h`, `now`. Null stays null. */
export function relativeTime(instant: string | null, now: number): string | null {
  if (instant === null) return null
  const distance = Date.parse(instant) - now
  if (Math.abs(distance) < SECOND) return 'now'
  return distance < 0 ? `${roughly(-distance)} ago` : `in ${roughly(distance)}`
}

/** `2026-11-16T08:00:00.000Z (3 m ago)`. */
export function fullTime(instant: string | null, now: number): string | null {
  return instant === null ? null : `${instant} (${relativeTime(instant, now)})`
}

function roughly(ms: number): string {
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} m`
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`
  return `${Math.floor(ms / DAY)} d`
}

/** How long something took: `12 ms`, `3.4 s`, `2 m 5 s`, `1 h 20 m`, `3 d 4 h`. */
export function lasted(ms: number | null): string | null {
  if (ms === null) return null
  if (ms < SECOND) return `${Math.round(ms)} ms`
  if (ms < 10 * SECOND) return `${(Math.floor(ms / 100) / 10).toString()} s`
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`
  if (ms < HOUR) return two(ms, MINUTE, 'm', SECOND, 's')
  if (ms < DAY) return two(ms, HOUR, 'h', MINUTE, 'm')
  return two(ms, DAY, 'd', HOUR, 'h')
}

function two(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((ms % large) / small)
  return `${Math.floor(ms / large)} ${largeName}${rest === 0 ? '' : ` ${rest} ${smallName}`}`
}
