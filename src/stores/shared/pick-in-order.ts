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
  const picked: Picked<Lane, Head>[] = []
  while (picked.length < limit) {
    const best = firstInOrder(lanes, hasRoom, compare)
    if (best === null) break
    permits.take(best.lane)
    typeRoom.set(best.lane.type, (typeRoom.get(best.lane.type) ?? 0) - 1)
    picked.push({ lane: best.lane, row: best.take() })
  }
  return picked
}

/** Of the lanes that have room, the one whose head comes first. Null: none has a head and room. */
function firstInOrder<Lane, Head>(
  lanes: readonly LaneSource<Lane, Head>[],
  hasRoom: (lane: Lane) => boolean,
  compare: (a: Head, b: Head) => number,
): LaneSource<Lane, Head> | null {
  let first: LaneSource<Lane, Head> | null = null
  let firstHead: Head | undefined
  for (const source of lanes) {
    if (!hasRoom(source.lane)) continue
    const { head } = source
    if (head === undefined || (first !== null && compare(head, firstHead as Head) >= 0)) continue
    first = source
    firstHead = head
  }
  return first
}
