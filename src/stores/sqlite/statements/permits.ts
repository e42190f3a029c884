import { limitsTaken, RUNNING_LIMIT, resourceLimit, typeLimit } from '../../../domain/limits.ts'
import type { LimitRecord } from '../../../store/maintenance.ts'
import type { Connection } from '../connection.ts'
import type { Lane, Transaction } from '../transaction.ts'
import { laneById } from './interned.ts'

const SELECT_LIMITS = 'select name, max from pawl_limits order by name'

export function listLimits(connection: Connection): LimitRecord[] {
  return connection.all<{ name: string; max: number }>(SELECT_LIMITS)
}

// As many rows as bodies execute right now on all nodes.
const COUNT_OCCUPANCIES = 'select lane_id, count(*) as bodies from pawl_occupancies group by lane_id'

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
      this.#subtract(laneById(connection, interned, row.lane_id), row.bodies)
    }
  }

  canTake(lane: Lane): boolean {
    if (this.#left.size === 0) return true
    if (!this.#hasLeft(RUNNING_LIMIT) || !this.#hasLeft(typeLimit(lane.type))) return false
    return lane.resources.every((resource) => this.#hasLeft(resourceLimit(resource)))
  }

  take(lane: Lane): void {
    if (this.#left.size > 0) this.#subtract(lane, 1)
  }

  #hasLeft(name: string): boolean {
    return (this.#left.get(name) ?? 1) > 0
  }

  #subtract(lane: Lane, bodies: number): void {
    for (const name of limitsTaken(lane.type, lane.resources)) {
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
