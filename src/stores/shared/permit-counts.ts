import { limitsTaken, RUNNING_LIMIT, resourceLimit, typeLimit } from '../../domain/limits.ts'

/** What decides of which limits a body takes a permit. */
export interface PermitTaker {
  readonly type: string
  readonly resources: readonly string[]
}

/** What the limits leave, counted down while a claim decides what to take. */
export class PermitCounts {
  /** How many permits are left; a limit that is not in here is not limited. */
  readonly #left: Map<string, number>

  constructor(left: ReadonlyMap<string, number>) {
    this.#left = new Map(left)
  }

  copy(): PermitCounts {
    return new PermitCounts(this.#left)
  }

  canTake(lane: PermitTaker): boolean {
    if (this.#left.size === 0) return true
    if (!this.#hasLeft(RUNNING_LIMIT) || !this.#hasLeft(typeLimit(lane.type))) return false
    return lane.resources.every((resource) => this.#hasLeft(resourceLimit(resource)))
  }

  take(lane: PermitTaker): void {
    if (this.#left.size > 0) this.#subtract(limitsTaken(lane.type, lane.resources))
  }

  /**
   * Keeps for a ticket that cannot start yet what it shares with its like: nobody behind it gets these. The permit to run
   * at all is not among them, or everything would stand still for one busy resource. `nothing-left`: one more of the lane
   * would keep nothing from anybody.
   */
  holdBack(lane: PermitTaker): 'held-back' | 'nothing-left' {
    if (this.#left.size === 0) return 'nothing-left'
    const names = [typeLimit(lane.type), ...lane.resources.map(resourceLimit)]
    this.#subtract(names)
    return names.some((name) => (this.#left.get(name) ?? 0) > 0) ? 'held-back' : 'nothing-left'
  }

  #hasLeft(name: string): boolean {
    return (this.#left.get(name) ?? 1) > 0
  }

  #subtract(names: readonly string[]): void {
    for (const name of names) {
      const left = this.#left.get(name)
      if (left !== undefined) this.#left.set(name, left - 1)
    }
  }
}
