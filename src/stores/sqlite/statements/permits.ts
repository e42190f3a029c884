import { limitsTaken, RUNNING_LIMIT, resourceLimit, typeLimit } from '../../../domain/limits.ts'
import type { LimitRecord } from '../../../store/maintenance.ts'
import type { Connection } from '../connection.ts'
import type { Lane, Transaction } from '../transaction.ts'
import { laneById } from './interned.ts'

const SELECT_LIMITS = 'select name, max from pawl_limits order by name'

export function listLimits(connection: Connection): LimitRecord[] {
  return connection.all<{ name: string; max: number }>(SELECT_LIMITS)
}

// Reads as many rows as bodies execute right now on all nodes, of Jobs and of direct executions.
const COUNT_OCCUPANCIES = `
select lane_id, count(*) as bodies
from pawl_occupancies
group by lane_id
union all
select lane_id, count(*)
from pawl_direct_occupancies
group by lane_id`

/**
 * What the limits leave. Counted from the occupancies inside the write transaction, where nobody else can claim, so two
 * claims never take the same permit.
 */
export class Permits {
  /** How many permits are left; a limit that is not in here is not limited. */
  readonly #left = new Map<string, number>()

  constructor(transaction: Transaction, lanes: readonly Lane[]) {
    const { connection, interned } = transaction
    for (const { name, max } of listLimits(connection)) this.#left.set(name, max)
    // A resource that nobody gave a limit is exclusive: that is what naming a resource means.
    for (const lane of lanes) {
      for (const resource of lane.resources) {
        const name = resourceLimit(resource)
        if (!this.#left.has(name)) this.#left.set(name, 1)
      }
    }
    if (this.#left.size === 0) return
    for (const row of connection.all<{ lane_id: number; bodies: number }>(COUNT_OCCUPANCIES)) {
      const { type, resources } = laneById(connection, interned, row.lane_id)
      this.#subtract(limitsTaken(type, resources), row.bodies)
    }
  }

  canTake(lane: Lane): boolean {
    if (this.#left.size === 0) return true
    if (!this.#hasLeft(RUNNING_LIMIT) || !this.#hasLeft(typeLimit(lane.type))) return false
    return lane.resources.every((resource) => this.#hasLeft(resourceLimit(resource)))
  }

  take(lane: Lane): void {
    if (this.#left.size > 0) this.#subtract(limitsTaken(lane.type, lane.resources), 1)
  }

  /**
   * Keeps for a ticket that cannot start yet what it shares with its like: nobody behind it gets these. The permit to run
   * at all is not among them, or everything would stand still for one busy resource. `nothing-left`: one more of the lane
   * would keep nothing from anybody.
   */
  holdBack(lane: Lane): 'held-back' | 'nothing-left' {
    if (this.#left.size === 0) return 'nothing-left'
    const names = [typeLimit(lane.type), ...lane.resources.map(resourceLimit)]
    this.#subtract(names, 1)
    return names.some((name) => (this.#left.get(name) ?? 0) > 0) ? 'held-back' : 'nothing-left'
  }

  #hasLeft(name: string): boolean {
    return (this.#left.get(name) ?? 1) > 0
  }

  #subtract(names: readonly string[], bodies: number): void {
    for (const name of names) {
      const left = this.#left.get(name)
      if (left !== undefined) this.#left.set(name, left - bodies)
    }
  }
}

const INSERT_LIMIT = 'insert into pawl_limits (name, max) values (?, ?) on conflict (name) do nothing'
const UPSERT_LIMIT =
  'insert into pawl_limits (name, max) values (?, ?) on conflict (name) do update set max = excluded.max'
const DELETE_LIMIT = 'delete from pawl_limits where name = ?'

export function declareLimits(transaction: Transaction, limits: readonly LimitRecord[]): LimitRecord[] {
  for (const { name, max } of limits) transaction.connection.run(INSERT_LIMIT, name, max)
  return listLimits(transaction.connection)
}

export function setLimit(transaction: Transaction, name: string, max: number | null): void {
  if (max === null) transaction.connection.run(DELETE_LIMIT, name)
  else transaction.connection.run(UPSERT_LIMIT, name, max)
}
