import { assert } from '../../../domain/errors.ts'
import { FIRST_LOOK, type Found, LOOKED_AT_MAX, type Order, pageOf, type Spot } from '../../shared/list-spots.ts'

/** A way through rows in the order of the list. */
export interface Walk {
  /** Up to so many rows from behind a spot on. */
  read(from: Spot, rows: number): Promise<readonly Spot[]>
  /** The last of so many rows from behind a spot on, or null if there are fewer. */
  findEnd(from: Spot, rows: number): Promise<Spot | null>
}

/** A walk along one index. Where it ends is found without sending the rows before. */
export function walkAlong(select: (from: Spot, rows: number, offset: number) => Promise<readonly Spot[]>): Walk {
  return {
    read: (from, rows) => select(from, rows, 0),
    findEnd: async (from, rows) => (await select(from, 1, rows - 1))[0] ?? null,
  }
}

/** A walk through rows that are known. */
export function walkKnown(spots: readonly Spot[], isBefore: Order): Walk {
  const behind = (from: Spot) => spots.filter((spot) => isBefore(from, spot))
  return {
    read: async (from, rows) => behind(from).slice(0, rows),
    findEnd: async (from, rows) => behind(from)[rows - 1] ?? null,
  }
}

/** Looks at rows until a page is full or too many were looked at. */
export async function lookThrough(
  from: Spot,
  limit: number,
  look: (from: Spot, rows: number) => Promise<Found>,
): Promise<Found> {
  const spots: Spot[] = []
  let next: Spot | null = from
  let lookedAt = 0
  for (
    let rows = FIRST_LOOK;
    next !== null && lookedAt < LOOKED_AT_MAX;
    rows = Math.min(2 * rows, LOOKED_AT_MAX - lookedAt)
  ) {
    const found: Found = await look(next, rows)
    spots.push(...found.spots)
    if (spots.length > limit) return pageOf(spots, limit)
    next = found.next
    lookedAt += rows
  }
  return { spots, next }
}

/** A page of a list in which every row matches. */
export async function readExactly(walk: Walk, from: Spot, limit: number): Promise<Found> {
  return pageOf(await walk.read(from, limit + 1), limit)
}

/** The whole of what a walk leads to, or null if it is more than a page may look at. */
export async function readWhole(walk: Walk, from: Spot): Promise<readonly Spot[] | null> {
  return (await walk.findEnd(from, LOOKED_AT_MAX)) === null ? walk.read(from, LOOKED_AT_MAX) : null
}

/**
 * All walks lead to what is looked for, each with other rows in between. The one that gets furthest with the same number of
 * rows has the fewest of them.
 */
export async function walkFurthest(walks: readonly Walk[], from: Spot, rows: number, isBefore: Order): Promise<Found> {
  let [furthest] = walks
  assert(furthest !== undefined, 'there is no way to what is looked for')
  let end = await furthest.findEnd(from, rows)
  for (const walk of walks.slice(1)) {
    // It leads to the last row there is.
    if (end === null) break
    const other = await walk.findEnd(from, rows)
    if (other !== null && !isBefore(end, other)) continue
    furthest = walk
    end = other
  }
  return { spots: await furthest.read(from, rows), next: end }
}
