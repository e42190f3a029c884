import { capText } from './run.ts'

/** A length of time for people: `850 ms`, `42 s`, `3 min 5 s`, `2 h`, `3 d 4 h`. */
export function durationInWords(durationMs: number): string {
  const ms = Math.max(0, Math.round(durationMs))
  if (ms < 1_000) return `${ms} ms`
  const seconds = Math.floor(ms / 1_000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return twoUnits(seconds, 60, 'min', 1, 's')
  if (seconds < 86_400) return twoUnits(seconds, 3_600, 'h', 60, 'min')
  return twoUnits(seconds, 86_400, 'd', 3_600, 'h')
}

function twoUnits(seconds: number, large: number, largeName: string, small: number, smallName: string): string {
  const rest = Math.floor((seconds % large) / small)
  const words = `${Math.floor(seconds / large)} ${largeName}`
  return rest === 0 ? words : `${words} ${rest} ${smallName}`
}

/** An instant for people and programs alike. */
export function instantInWords(at: number): string {
  return new Date(at).toISOString()
}

/** `1 job`, `2 jobs`; from `max` on `1000+ jobs`. */
export function countInWords(count: number, noun: string, max = Number.POSITIVE_INFINITY): string {
  if (count >= max) return `${max}+ ${noun}s`
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

const QUOTE_MAX = 200

/** Somebody's text as part of a sentence: on one line, and not too long. */
export function quote(text: string): string {
  return capText(text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim(), QUOTE_MAX)
}

/** `a`, `a; b`, `a; b; and 3 more`. */
export function listInWords(items: readonly string[], total: number): string {
  const more = total - items.length
  return more > 0 ? [...items, `and ${more} more`].join('; ') : items.join('; ')
}
