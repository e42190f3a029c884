import { usageError } from './cli-error.ts'

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** `10s`, `5m`, `2h`, `90d`, `250ms`: one whole number and one unit, nothing else. In milliseconds. */
export function readDuration(text: string, option: string): number {
  const [, amount, unit] = /^(\d{1,12})(ms|s|m|h|d)$/.exec(text) ?? []
  const ms = Number(amount) * (UNITS[unit ?? ''] ?? Number.NaN)
  if (Number.isSafeInteger(ms)) return ms
  throw usageError(`Expected ${option} to be a duration such as 250ms, 10s, 5m, 2h or 90d, got '${text}'.`)
}
