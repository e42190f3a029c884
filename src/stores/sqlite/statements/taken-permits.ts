import { limitsTaken, resourceLimit } from '../../../domain/limits.ts'
import type { Kind } from '../../../domain/standing.ts'
import type { Connection } from '../connection.ts'
import type { Interned, Lane } from '../transaction.ts'
import { laneById } from './interned.ts'
import { listLimits } from './permits.ts'

// Reads as many rows as bodies execute right now on all nodes, of Jobs and of direct executions.
const COUNT_BODIES = `
select lane_id, node_seq, count(*) as bodies
from pawl_occupancies
group by lane_id, node_seq
union all
select lane_id, node_seq, count(*)
from pawl_direct_occupancies
group by lane_id, node_seq`

/** What the bodies that execute right now take: permits of the limits, and places on their nodes. */
export class TakenPermits {
  readonly #max = new Map<string, number>()
  readonly #taken = new Map<string, number>()
  readonly #lanes = new Map<string, number[]>()
  readonly #bodies = new Map<number, number>()

  constructor(connection: Connection, interned: Interned) {
    for (const { name, max } of listLimits(connection)) this.#max.set(name, max)
    const rows = connection.all<{ lane_id: number; node_seq: number; bodies: number }>(COUNT_BODIES)
    for (const { lane_id, node_seq, bodies } of rows) {
      this.#bodies.set(node_seq, this.bodiesOn(node_seq) + bodies)
      const lane = laneById(connection, interned, lane_id)
      for (const name of limitsTaken(lane.type, lane.resources)) {
        this.#taken.set(name, this.taken(name) + bodies)
        this.#lanes.set(name, [...this.lanesTaking(name), lane_id])
      }
    }
  }

  /** Null: not limited. A resource that nobody gave a limit is exclusive: that is what naming a resource means. */
  max(name: string): number | null {
    return this.#max.get(name) ?? (name.startsWith(resourceLimit('')) ? 1 : null)
  }

  taken(name: string): number {
    return this.#taken.get(name) ?? 0
  }

  /** The lanes of the bodies that hold a permit of this limit. */
  lanesTaking(name: string): readonly number[] {
    return this.#lanes.get(name) ?? []
  }

  bodiesOn(nodeSeq: number): number {
    return this.#bodies.get(nodeSeq) ?? 0
  }

  kindOf(lane: Lane): Kind {
    const limits = limitsTaken(lane.type, lane.resources)
    return { type: lane.type, limits, lacks: limits.filter((name) => this.isUsedUp(name)) }
  }

  isUsedUp(name: string): boolean {
    const max = this.max(name)
    return max !== null && this.taken(name) >= max
  }
}
