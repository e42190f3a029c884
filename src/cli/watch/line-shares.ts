/** A part of the screen that can be shortened. */
export interface Section {
  readonly title: string
  readonly lines: readonly string[]
  /** How much of a screen that is too small it gets, against the others. */
  readonly weight: number
}

/** A blank line and the title. */
const OVERHEAD = 2

/**
 * Cuts the sections so that together they take no more than so many rows. Each keeps its first lines, and its last says
 * how many are missing. A section for which not even one line is left goes, the last first.
 */
export function shareLines(sections: readonly Section[], rows: number): Section[] {
  let shown = [...sections]
  while (shown.length > 0 && shown.length * (OVERHEAD + 1) > rows) shown = shown.slice(0, -1)
  const shares = share(
    shown.map(({ lines, weight }) => ({ wants: lines.length, weight })),
    rows - shown.length * OVERHEAD,
  )
  return shown.map((section, index) => ({ ...section, lines: cut(section.lines, shares[index] ?? 0) }))
}

/** Line by line to the one that has least of what its weight entitles it to. */
function share(claims: readonly { readonly wants: number; readonly weight: number }[], rows: number): number[] {
  const got = claims.map(() => 0)
  for (let left = rows; left > 0; left--) {
    let next: number | null = null
    for (const [index, { wants, weight }] of claims.entries()) {
      if ((got[index] ?? 0) >= wants) continue
      const isBehind = next === null || (got[index] ?? 0) / weight < (got[next] ?? 0) / (claims[next]?.weight ?? 1)
      if (isBehind) next = index
    }
    if (next === null) break
    got[next] = (got[next] ?? 0) + 1
  }
  return got
}

function cut(lines: readonly string[], count: number): readonly string[] {
  if (lines.length <= count) return lines
  return [...lines.slice(0, count - 1), `  … and ${lines.length - count + 1} more`]
}
