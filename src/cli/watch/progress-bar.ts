const FULL = '█'
const EMPTY = '░'
const UNKNOWN = '·'

/** Null: nobody knows how far it is. */
export function progressBar(fraction: number | null, width: number): string {
  if (fraction === null) return UNKNOWN.repeat(width)
  const full = Math.round(Math.min(1, Math.max(0, fraction)) * width)
  return FULL.repeat(full) + EMPTY.repeat(width - full)
}
