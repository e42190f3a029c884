import { PawlError } from '../domain/errors.ts'

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A duration in milliseconds, or as text: `'250ms'`, `'10s'`, `'1h 30m'`, `'30d'`. */
export type Duration = number | string

export function toMs(duration: Duration): number {
  if (typeof duration === 'number') {
    if (Number.isFinite(duration) && duration >= 0) return Math.round(duration)
  } else if (typeof duration === 'string') {
    const parts = [...duration.matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)\s*/g)]
    if (parts.length > 0 && parts.map(([text]) => text).join('') === duration) {
      const ms = parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS], 0)
      // Parts of a unit are seldom exact: 0.3 of an hour would be a little less.
      return Math.round(ms)
    }
  }
  throw new PawlError(
    'invalid_option',
    `Expected a duration such as 500, '10s' or '1h 30m', got \`${String(duration)}\`.`,
  )
}
