/** The distance between neighbours of the queue when they are added one after the other. */
const POSITION_GAP = 100

/** How many neighbours a move may renumber to make room before it asks for a normalisation of the whole priority. */
export const WIDEN_NEIGHBOURS_MAX = 1_000

/** What decides the place of a Job in the queue. */
export interface Place {
  readonly priority: number
  readonly position: number
  readonly createdAt: number
  readonly jobId: string
}

/** Below zero when `a` comes first: priority descending, position, time of creation, id. */
export function comparePlaces(a: Place, b: Place): number {
  return (
    b.priority - a.priority ||
    a.position - b.position ||
    a.createdAt - b.createdAt ||
    (a.jobId < b.jobId ? -1 : a.jobId > b.jobId ? 1 : 0)
  )
}

/** The position of a new Job, given the highest one among the QUEUED and RUNNING Jobs of its priority. */
export function nextPosition(highest: number | null): number {
  return highest === null ? POSITION_GAP : highest + POSITION_GAP
}

/** A whole number strictly between two neighbours, or null when the gap between them is used up. */
export function positionBetween(before: number | null, after: number | null): number | null {
  if (before === null && after === null) return POSITION_GAP
  if (before === null) return (after ?? 0) - POSITION_GAP
  if (after === null) return before + POSITION_GAP
  const middle = Math.floor((before + after) / 2)
  return middle > before && middle < after ? middle : null
}

/**
 * New positions that make room right after `floor` for `count` Jobs, the first of which is the one that moves in.
 * `ceiling` is the position of the first neighbour that stays, or null when none is left. Null: still too narrow.
 */
export function spreadPositions(floor: number, count: number, ceiling: number | null): number[] | null {
  const step = ceiling === null ? POSITION_GAP : Math.min(POSITION_GAP, Math.floor((ceiling - floor) / (count + 1)))
  if (step < 2) return null
  return Array.from({ length: count }, (_, index) => floor + step * (index + 1))
}
