import { limitsTaken, resourceLimit } from '../../../domain/limits.ts'
import type { LimitRecord } from '../../../store/maintenance.ts'
import { PermitCounts } from '../../shared/permit-counts.ts'
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
export function countPermits({ connection, interned }: Transaction, lanes: readonly Lane[]): PermitCounts {
  const left = new Map(listLimits(connection).map(({ name, max }) => [name, max]))
  // A resource that nobody gave a limit is exclusive: that is what naming a resource means.
  for (const lane of lanes) {
    for (const name of lane.resources.map(resourceLimit)) if (!left.has(name)) left.set(name, 1)
  }
  if (left.size === 0) return new PermitCounts(left)
  for (const row of connection.all<{ lane_id: number; bodies: number }>(COUNT_OCCUPANCIES)) {
    const { type, resources } = laneById(connection, interned, row.lane_id)
    for (const name of limitsTaken(type, resources)) {
      const before = left.get(name)
      if (before !== undefined) left.set(name, before - row.bodies)
    }
  }
  return new PermitCounts(left)
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
