import { limitsTaken, resourceLimit } from '../../domain/limits.ts'
import type { Kind } from '../../domain/standing.ts'
import type { LimitRecord } from '../../store/maintenance.ts'
import type { PermitTaker } from './permit-counts.ts'

/** Bodies of one lane that execute on one node right now. */
export interface BodiesOfLane {
  readonly lane: PermitTaker & { readonly laneId: number }
  readonly nodeSeq: number
  readonly bodies: number
}

/** What the bodies that execute right now take: permits of the limits, and places on their nodes. */
export class PermitsInUse {
  readonly #max = new Map<string, number>()
  readonly #taken = new Map<string, number>()
  readonly #lanes = new Map<string, number[]>()
  readonly #bodies = new Map<number, number>()

  constructor(limits: readonly LimitRecord[], executing: readonly BodiesOfLane[]) {
    for (const { name, max } of limits) this.#max.set(name, max)
    for (const { lane, nodeSeq, bodies } of executing) {
      this.#bodies.set(nodeSeq, this.bodiesOn(nodeSeq) + bodies)
      for (const name of limitsTaken(lane.type, lane.resources)) {
        this.#taken.set(name, this.taken(name) + bodies)
        this.#lanes.set(name, [...this.lanesTaking(name), lane.laneId])
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

  kindOf(lane: PermitTaker): Kind {
    const limits = limitsTaken(lane.type, lane.resources)
    return { type: lane.type, limits, lacks: limits.filter((name) => this.isUsedUp(name)) }
  }

  isUsedUp(name: string): boolean {
    const max = this.max(name)
    return max !== null && this.taken(name) >= max
  }
}
