import { invalid } from '../../domain/options.ts'

/** Where a row stands in its list: the values by which the list is ordered. The last one is the number of the Job. */
export type Spot = readonly number[]

/** Whether one spot comes before another. */
export type Order = (a: Spot, b: Spot) => boolean

/** The highest values first. */
export const downward: Order = (a, b) => {
  for (let index = 0; index < a.length; index++) {
    if (a[index] !== b[index]) return (a[index] as number) > (b[index] as number)
  }
  return false
}

/** As the queue is ordered: the highest priority first, then the lowest values. */
export const inQueue: Order = (a, b) => {
  if (a[0] !== b[0]) return (a[0] as number) > (b[0] as number)
  for (let index = 1; index < a.length; index++) {
    if (a[index] !== b[index]) return (a[index] as number) < (b[index] as number)
  }
  return false
}

/** Before everything, in a list of so many values that goes downward. */
export function beforeEverything(values: number): Spot {
  return Array.from({ length: values }, () => Number.MAX_SAFE_INTEGER)
}

/** What was found by looking at rows, and where to go on. */
export interface Found {
  readonly spots: readonly Spot[]
  /** Everything before this spot was looked at, and itself. Null: nothing follows. */
  readonly next: Spot | null
}

/** A page looks at no more rows than this, whether they match or not. */
export const LOOKED_AT_MAX = 2_000

/** It does so in steps: most pages are full after a few rows. */
export const FIRST_LOOK = 128

/** The first rows of those that match; there is one more than fits if there is a next page. */
export function pageOf(spots: readonly Spot[], limit: number): Found {
  if (spots.length <= limit) return { spots, next: null }
  const page = spots.slice(0, limit)
  return { spots: page, next: page[limit - 1] as Spot }
}

/** The numbers of the Jobs. */
export function seqsOf(spots: readonly Spot[]): number[] {
  return spots.map((spot) => spot[spot.length - 1] as number)
}

export function writeCursor(next: Spot | null): string | null {
  return next === null ? null : next.join(':')
}

/** The spot that a cursor of a list with so many values names; before everything without one. */
export function readCursor(cursor: string | null | undefined, values: number): Spot {
  if (cursor == null) return beforeEverything(values)
  const spot = cursor.split(':')
  if (spot.length === values && spot.every((value) => /^-?\d{1,16}$/.test(value))) {
    const numbers = spot.map(Number)
    if (numbers.every(Number.isSafeInteger)) return numbers
  }
  throw invalid('cursor', 'the `nextCursor` of a page of the same list', cursor)
}
