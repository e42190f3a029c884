export const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** Two units at most: `3 min 20 s`, `840 ms`. */
export function durationWords(ms: number): string {
  if (!Number.isFinite(ms)) return '–'
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  const at = UNITS.findIndex(([, unitMs]) => ms >= unitMs)
  const [unit, unitMs] = UNITS[at] as (typeof UNITS)[number]
  const whole = Math.floor(ms / unitMs)
  const next = UNITS[at + 1]
  const rest = next === undefined ? 0 : Math.floor((ms % unitMs) / next[1])
  return rest === 0 || next === undefined ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${next[0]}`
}
