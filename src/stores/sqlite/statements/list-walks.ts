import { assert } from '../../../domain/errors.ts'
import { FIRST_LOOK, type Found, LOOKED_AT_MAX, type Order, pageOf, type Spot } from '../../shared/list-spots.ts'

/** A way through rows in the order of the list. */
export interface Walk {
  /** Up to so many rows from behind a spot on. */
  read(from: Spot, rows: number): readonly Spot[]
  /** The last of so many rows from behind a spot on, or null if there are fewer. */
  findEnd(from: Spot, rows: number): Spot | null
}

/** A walk along one index. Where it ends is found without making anything of the rows before. */
export function walkAlong(select: (from: Spot, rows: number, offset: number) => readonly Spot[]): Walk {
  return {
    read: (from, rows) => select(from, rows, 0),
    findEnd: (from, rows) => select(from, 1, rows - 1)[0] ?? null,
  }
}

/** A walk through rows that are known. */
export function walkKnown(spots: readonly Spot[], isBefore: Order): Walk {
  const behind = (from: Spot) => spots.filter((spot) => isBefore(from, spot))
  return {
    read: (from, rows) => behind(from).slice(0, rows),
    findEnd: (from, rows) => behind(from)[rows - 1] ?? null,
  }
}

/** One walk, then another, all of whose rows come behind those of the first. The first one is short. */
export function followedBy(first: Walk, second: Walk): Walk {
  return {
    read: (from, rows) => {
      const spots = first.read(from, rows)
      return spots.length === rows ? spots : [...spots, ...second.read(from, rows - spots.length)]
    },
    findEnd: (from, rows) => {
      const spots = first.read(from, rows)
      return spots.length === rows ? (spots[rows - 1] ?? null) : second.findEnd(from, rows - spots.length)
    },
  }
}

/** Looks at rows until a page is full or too many were looked at. */
export function lookThrough(from: Spot, limit: number, look: (from: Spot, rows: number) => Found): Found {
  const spots: Spot[] = []
  let next: Spot | null = from
  let lookedAt = 0
  for (
    let rows = FIRST_LOOK;
    next !== null && lookedAt < LOOKED_AT_MAX;
    rows = Math.min(2 * rows, LOOKED_AT_MAX - lookedAt)
  ) {
    const found: Found = look(next, rows)
    spots.push(...found.spots)
    if (spots.length > limit) return pageOf(spots, limit)
    next = found.next
    lookedAt += rows
  }
  return { spots, next }
}

/** A page of a list in which every row matches. */
export function readExactly(walk: Walk, from: Spot, limit: number): Found {
  return pageOf(walk.read(from, limit + 1), limit)
}

/** The whole of what a walk leads to, or null if it is more than a page may look at. */
export function readWhole(walk: Walk, from: Spot): readonly Spot[] | null {
  return walk.findEnd(from, LOOKED_AT_MAX) === null ? walk.read(from, LOOKED_AT_MAX) : null
}

/**
 * All walks lead to what is looked for, each with other rows in between. The one that gets furthest with the same number of
 * rows has the fewest of them.
 */
export function walkFurthest(walks: readonly Walk[], from: Spot, rows: number, isBefore: Order): Found {
  let [furthest] = walks
  assert(furthest !== undefined, 'there is no way to what is looked for')
  let end = furthest.findEnd(from, rows)
  for (const walk of walks.slice(1)) {
    // It leads to the last row there is.
    if (end === null) break
    const other = walk.findEnd(from, rows)
    if (other !== null && !isBefore(end, other)) continue
    furthest = walk
    end = other
  }
  return { spots: furthest.read(from, rows), next: end }
}

/** Rows of each walk that are read at a time, when several are merged. */
const MERGED_ROWS = 64

/** Several walks as one, without reading more of each than is needed. */
export function mergeWalks(walks: readonly Walk[], isBefore: Order): Walk {
  const [only] = walks
  if (only !== undefined && walks.length === 1) return only
  const read = (from: Spot, rows: number): Spot[] => {
    const sources = walks.map((walk) => new Source(walk, from, Math.min(rows, MERGED_ROWS)))
    const spots: Spot[] = []
    while (spots.length < rows) {
      let first: Source | null = null
      for (const source of sources) {
        if (source.head !== undefined && (first?.head === undefined || isBefore(source.head, first.head)))
          first = source
      }
      if (first === null) break
      spots.push(first.take())
    }
    return spots
  }
  return { read, findEnd: (from, rows) => read(from, rows)[rows - 1] ?? null }
}

/** One walk, read in small pages. */
class Source {
  readonly #walk: Walk
  readonly #rows: number
  #page: readonly Spot[]
  #next = 0

  constructor(walk: Walk, from: Spot, rows: number) {
    this.#walk = walk
    this.#rows = rows
    this.#page = walk.read(from, rows)
  }

  get head(): Spot | undefined {
    return this.#page[this.#next]
  }

  take(): Spot {
    const spot = this.#page[this.#next] as Spot
    this.#next++
    if (this.#next === this.#rows) {
      this.#page = this.#walk.read(spot, this.#rows)
      this.#next = 0
    }
    return spot
  }
}
