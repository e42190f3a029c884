import type { PermitCounts, PermitTaker } from './permit-counts.ts'

/** The ready Jobs of one lane, from its head on. */
export interface LaneSource<Lane, Head> {
  readonly lane: Lane
  /** The first one that has not been taken. */
  readonly head: Head | undefined
  take(): Head
}

export interface Picked<Lane, Head> {
  readonly lane: Lane
  readonly row: Head
}

/** Merges the heads of the lanes, as far as the types have room and the limits leave permits. */
export function pickInOrder<Lane extends PermitTaker, Head>(
  limit: number,
  types: ReadonlyMap<string, number>,
  lanes: readonly LaneSource<Lane, Head>[],
  permits: PermitCounts,
  compare: (a: Head, b: Head) => number,
): Picked<Lane, Head>[] {
  const typeRoom = new Map(types)
  const hasRoom = (lane: Lane): boolean => (typeRoom.get(lane.type) ?? 0) > 0 && permits.canTake(lane)
  let sources = lanes
  const picked: Picked<Lane, Head>[] = []
  while (picked.length < limit) {
    sources = sources.filter(({ head, lane }) => head !== undefined && hasRoom(lane))
    const best = firstInOrder(sources, compare)
    if (best === undefined) break
    permits.take(best.lane)
    typeRoom.set(best.lane.type, (typeRoom.get(best.lane.type) ?? 0) - 1)
    picked.push({ lane: best.lane, row: best.take() })
  }
  return picked
}

function firstInOrder<Lane, Head>(
  sources: readonly LaneSource<Lane, Head>[],
  compare: (a: Head, b: Head) => number,
): LaneSource<Lane, Head> | undefined {
  if (sources.length <= 1) return sources[0]
  return sources.reduce((first, other) => (compare(other.head as Head, first.head as Head) < 0 ? other : first))
}
