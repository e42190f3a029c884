/** So many due deliveries are looked at one by one. When there are more, one endpoint may have them all. */
export const FEW = 64

/** Endpoints with something pending that one call looks at: some milliseconds. */
export const ENDPOINTS_MAX = 1_000

/** One for each, then a second for each that has one, and so on until nothing is left. */
export function shareOut(wanted: readonly number[], limit: number): number[] {
  const counts = wanted.map(() => 0)
  let left = Math.min(
    limit,
    wanted.reduce((sum, count) => sum + count, 0),
  )
  for (let round = 1; left > 0; round++) {
    for (let index = 0; index < wanted.length && left > 0; index++) {
      if ((wanted[index] as number) < round) continue
      counts[index] = round
      left--
    }
  }
  return counts
}

/** Those after this one come first. */
export function compareTurns(a: string, b: string, after: string): number {
  if (a > after !== b > after) return a > after ? -1 : 1
  return a < b ? -1 : 1
}
