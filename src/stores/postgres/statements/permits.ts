import { limitsTaken } from '../../../domain/limits.ts'
import type { PermitTaker } from '../../shared/permit-counts.ts'
import type { Connection } from '../connection.ts'

export { declareLimits, listLimits, setLimit } from './limits.ts'

/** Free permits are counted up to a number: nobody takes so many at once. */
const FREE_COUNTED_MAX = 2_000

/**
 * How many permits the limits `n` leave. A limit that is not stored does not limit, but for that of a resource, which then has
 * one permit: that is what naming a resource means. Mostly all permits up to the limit have a row; those of a high limit get
 * them when they are first needed. Rows beyond it are left over by a limit that was lowered, until their bodies have ended.
 */
export const PERMITS_LEFT = `
select n.name, m.max, m.is_stored, made.slot as made, beyond.taken as beyond,
  free.permits + m.max - made.slot - beyond.taken as left
from limit_name n
cross join lateral (
  select coalesce(stored.max, 1) as max, stored.max is not null as is_stored
  from (select (select i.max from pawl.limits i where i.name = n.name) as max) stored
  where stored.max is not null or n.is_resource
) m
cross join lateral (
  select coalesce((
    select p.slot
    from pawl.permits p
    where p.name = n.name and p.slot <= m.max
    order by p.slot desc
    limit 1
  ), 0) as slot
) made
cross join lateral (
  select count(*)::integer as permits
  from (
    select 1
    from pawl.permits p
    where p.name = n.name and p.slot <= m.max and p.job_seq is null and p.reservation_seq is null
    limit ${FREE_COUNTED_MAX}
  ) counted
) free
cross join lateral (
  select count(*)::integer as taken
  from pawl.permits p
  where p.name = n.name and p.slot > m.max and (p.job_seq is not null or p.reservation_seq is not null)
) beyond`

/** What is known of a limit when a claim decides. */
export interface LimitLeft {
  readonly name: string
  readonly max: number
  readonly is_stored: boolean
  /** The highest permit up to the limit that has a row. */
  readonly made: number
  /** Permits taken beyond the limit, because it was lowered. */
  readonly beyond: number
  readonly left: number
}

/** One permit that this transaction has locked. */
export interface Permit {
  readonly name: string
  readonly slot: number
}

/** Permits that nobody else can take before this transaction ends. */
export class LockedPermits {
  readonly #limits: ReadonlyMap<string, LimitLeft>
  readonly #slots = new Map<string, readonly number[]>()

  constructor(limits: ReadonlyMap<string, LimitLeft>) {
    this.#limits = limits
  }

  /** Locks what these bodies need, as far as it is free and nobody else has locked it. Returns how many are missing. */
  async lock(connection: Connection, lanes: readonly PermitTaker[]): Promise<ReadonlyMap<string, number>> {
    const asked = this.#countWanted(lanes)
    const wanted = new Map(asked)
    for (const [name, count] of asked) {
      const limit = this.#limits.get(name)
      if (limit === undefined || limit.beyond === 0) continue
      wanted.set(name, Math.min(count, await recountLeft(connection, limit)))
    }
    await this.#lockFree(connection, wanted)
    for (const [name, count] of wanted) {
      const limit = this.#limits.get(name)
      if (limit === undefined || limit.made === limit.max || this.#countLocked(name) >= count) continue
      if (await makePermits(connection, limit, count)) await this.#lockFree(connection, new Map([[name, count]]))
    }
    return new Map([...asked].map(([name, count]) => [name, count - this.#countLocked(name)]))
  }

  /** All permits that one body needs, or null when one of them is missing. */
  take(lane: PermitTaker): Permit[] | null {
    const names = this.#limitsOf(lane)
    if (names.some((name) => this.#countLocked(name) === 0)) return null
    return names.map((name) => {
      const [slot = 0, ...others] = this.#slots.get(name) ?? []
      this.#slots.set(name, others)
      return { name, slot }
    })
  }

  /** In the order of their names, as they are locked. */
  #countWanted(lanes: readonly PermitTaker[]): Map<string, number> {
    const wanted = new Map<string, number>()
    for (const lane of lanes) for (const name of this.#limitsOf(lane)) wanted.set(name, (wanted.get(name) ?? 0) + 1)
    return new Map([...wanted].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #limitsOf({ type, resources }: PermitTaker): string[] {
    return limitsTaken(type, resources).filter((name) => this.#limits.has(name))
  }

  #countLocked(name: string): number {
    return this.#slots.get(name)?.length ?? 0
  }

  /** What was locked before is found again: a transaction does not pass over its own locks. */
  async #lockFree(connection: Connection, wanted: ReadonlyMap<string, number>): Promise<void> {
    const names = [...wanted.keys()].filter((name) => (wanted.get(name) ?? 0) > 0)
    if (names.length === 0) return
    for (const name of names) this.#slots.set(name, [])
    const counts = names.map((name) => wanted.get(name) ?? 0)
    const maxima = names.map((name) => this.#limits.get(name)?.max ?? 0)
    for (const { name, slot } of await connection.all<Permit>(LOCK_FREE, names, counts, maxima)) {
      this.#slots.set(name, [...(this.#slots.get(name) ?? []), slot])
    }
  }
}

// As many rows as were free and locked by nobody. One that another transaction has locked is passed over, never waited for.
const LOCK_FREE = `
select wanted.name, permit.slot
from unnest($1::text[], $2::integer[], $3::integer[]) as wanted (name, permits, max)
cross join lateral (
  select p.slot
  from pawl.permits p
  where p.name = wanted.name and p.slot <= wanted.max and p.job_seq is null and p.reservation_seq is null
  order by p.slot
  limit wanted.permits
  for update skip locked
) permit`

// 1 row: until this transaction ends, nobody else makes permits of it, or counts those that are taken. 0 rows: another does so
// right now; what it leaves is for the next claim.
const LOCK_LIMIT = 'select 1 as locked from pawl.limits where name = $1 for no key update skip locked'

const COUNT_TAKEN = `
select count(*) as taken
from pawl.permits
where name = $1 and (job_seq is not null or reservation_seq is not null)`

/**
 * More are taken than the limit allows, because it was lowered. Then free rows do not say how many may be taken; claims count,
 * one after the other.
 */
async function recountLeft(connection: Connection, { name, max }: LimitLeft): Promise<number> {
  if ((await connection.get(LOCK_LIMIT, name)) === undefined) return 0
  const taken = (await connection.get<{ taken: number }>(COUNT_TAKEN, name))?.taken ?? max
  return Math.max(0, max - taken)
}

const SELECT_MADE = `
select coalesce(max(slot), 0) as made
from pawl.permits
where name = $1 and slot <= $2`

const MAKE_PERMITS = `
insert into pawl.permits (name, slot)
select $1, slot
from generate_series($2::integer, $3::integer) slot
on conflict (name, slot) do nothing`

/** Of a limit that is used for the first time, or is high and used more than ever, so many permits are made at once. */
const MADE_AT_ONCE_MIN = 16
const MADE_AT_ONCE_MAX = 1_000

/** False: somebody else makes some right now. */
async function makePermits(connection: Connection, limit: LimitLeft, wanted: number): Promise<boolean> {
  const { name, max } = limit
  // What is not stored has one permit, and who makes it does not matter.
  if (limit.is_stored && (await connection.get(LOCK_LIMIT, name)) === undefined) return false
  const made = (await connection.get<{ made: number }>(SELECT_MADE, name, max))?.made ?? 0
  const count = Math.max(wanted, Math.min(Math.max(made, MADE_AT_ONCE_MIN), MADE_AT_ONCE_MAX))
  await connection.run(MAKE_PERMITS, name, made + 1, Math.min(made + count, max))
  return true
}
