import { RUNNING_LIMIT, resourceLimit, typeLimit } from '../../../domain/limits.ts'
import type { LimitRecord } from '../../../store/maintenance.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

const SELECT_LIMITS = 'select name, max from pawl.limits order by name'

export function listLimits(connection: Connection): Promise<LimitRecord[]> {
  return connection.all<LimitRecord>(SELECT_LIMITS)
}

/** The names of the limits of which a body of the lane `l` takes a permit, as `limitsTaken` says them. */
export const LIMITS_OF_LANE = `
select '${RUNNING_LIMIT}' as name, false as is_resource
union all
select '${typeLimit('')}' || l.type, false
union all
select '${resourceLimit('')}' || resource, true
from json_array_elements_text(l.resources::json) resource`

/**
 * A condition that always holds, in every statement that starts or ends a body. It locks no row, but the table against
 * `LOCK_LIMITS`, from before the statement looks at anything until its transaction ends. So no body starts or ends while a
 * limit is set; who sets it sees all bodies, and whoever comes after sees the limit and its permits.
 */
export const LIMITS_STAY = "not exists (select 1 from pawl.limits where name = '' for key share)"

// Waits for the claims and finishes that are under way, which takes milliseconds. One that hangs must not make all others wait
// behind us.
const LOCK_LIMITS = `
set local lock_timeout = '2s';
lock table pawl.limits in exclusive mode;
set local lock_timeout to default`

export async function declareLimits(
  { connection }: Transaction,
  limits: readonly LimitRecord[],
): Promise<LimitRecord[]> {
  const stored = await listLimits(connection)
  if (limits.every(({ name }) => stored.some((limit) => limit.name === name))) return stored
  await connection.exec(LOCK_LIMITS)
  const names = new Set((await listLimits(connection)).map(({ name }) => name))
  for (const { name, max } of limits) if (!names.has(name)) await storeLimit(connection, name, max)
  return listLimits(connection)
}

export async function setLimit({ connection }: Transaction, name: string, max: number | null): Promise<void> {
  await connection.exec(LOCK_LIMITS)
  if (max === null) await removeLimit(connection, name)
  else await storeLimit(connection, name, max)
}

const UPSERT_LIMIT = `
insert into pawl.limits (name, max) values ($1, $2)
on conflict (name) do update set max = excluded.max`

async function storeLimit(connection: Connection, name: string, max: number): Promise<void> {
  await connection.run(UPSERT_LIMIT, name, max)
  await arrangePermits(connection, name, max)
}

// 0 rows: there was no such limit.
const DELETE_LIMIT = 'delete from pawl.limits where name = $1'
const DELETE_PERMITS = 'delete from pawl.permits where name = $1'

async function removeLimit(connection: Connection, name: string): Promise<void> {
  if ((await connection.run(DELETE_LIMIT, name)) === 0) return
  // A resource without a limit has one permit.
  if (name.startsWith(resourceLimit(''))) await arrangePermits(connection, name, 1)
  else await connection.run(DELETE_PERMITS, name)
}

// All bodies that take this limit. None ends before we have committed.
const SELECT_BODIES = `
select o.seq
from pawl.occupancies o
join pawl.lanes l on l.lane_id = o.lane_id
where exists (select 1 from (${LIMITS_OF_LANE}) taken where taken.name = $1)
order by o.seq`

const SELECT_DIRECT_BODIES = `
select d.reservation_seq as seq
from pawl.direct_occupancies d
join pawl.lanes l on l.lane_id = d.lane_id
where exists (select 1 from (${LIMITS_OF_LANE}) taken where taken.name = $1)
order by d.reservation_seq`

// Rows changed: permits whose bodies are gone. Only damage leads to that, and no body ends right now.
const FREE_STALE = `
update pawl.permits
set job_seq = null, reservation_seq = null
where name = $1 and (job_seq <> all($2::bigint[]) or reservation_seq <> all($3::bigint[]))`

const SELECT_PERMITS = `
select coalesce(max(slot), 0) as made,
  coalesce(array_to_json(array_agg(job_seq) filter (where job_seq is not null)), '[]')::text as job_seqs,
  coalesce(array_to_json(array_agg(reservation_seq) filter (where reservation_seq is not null)), '[]')::text
    as reservation_seqs
from pawl.permits
where name = $1`

interface PermitsRow {
  made: number
  job_seqs: string
  reservation_seqs: string
}

const MAKE_PERMITS = `
insert into pawl.permits (name, slot)
select $1, slot
from generate_series(1, $2::integer) slot
on conflict (name, slot) do nothing`

// As many rows as bodies are given.
const GIVE_PERMITS = `
update pawl.permits p
set job_seq = body.job_seq, reservation_seq = body.reservation_seq
from (
  select slot, row_number() over (order by slot) as place
  from pawl.permits
  where name = $1 and job_seq is null and reservation_seq is null
) free
join unnest($2::bigint[], $3::bigint[]) with ordinality as body (job_seq, reservation_seq, place)
  on body.place = free.place
where p.name = $1 and p.slot = free.slot`

const MARK_PERMITTED =
  'update pawl.occupancies set has_permits = true where seq = any($1::bigint[]) and not has_permits'

const DELETE_FREE_BEYOND = `
delete from pawl.permits
where name = $1 and slot > $2 and job_seq is null and reservation_seq is null`

/** A high limit gets the rest of its permits when so many are needed. */
const MADE_AT_FIRST_MAX = 100

/**
 * Makes the permits of a limit as many as it says, and gives one to each body that executes: those that began without the
 * limit have none yet. More bodies than permits keep theirs beyond the limit until they end.
 */
async function arrangePermits(connection: Connection, name: string, max: number): Promise<void> {
  const jobs = (await connection.all<{ seq: number }>(SELECT_BODIES, name)).map(({ seq }) => seq)
  const direct = (await connection.all<{ seq: number }>(SELECT_DIRECT_BODIES, name)).map(({ seq }) => seq)
  await connection.run(FREE_STALE, name, jobs, direct)
  const permits = (await connection.get<PermitsRow>(SELECT_PERMITS, name)) as PermitsRow
  const held = new Set(JSON.parse(permits.job_seqs) as number[])
  const heldDirect = new Set(JSON.parse(permits.reservation_seqs) as number[])
  const lackingJobs = jobs.filter((seq) => !held.has(seq))
  const lackingDirect = direct.filter((seq) => !heldDirect.has(seq))
  const made = Math.max(Math.min(max, MADE_AT_FIRST_MAX), Math.min(max, permits.made), jobs.length + direct.length)
  await connection.run(MAKE_PERMITS, name, made)
  if (lackingJobs.length + lackingDirect.length > 0) {
    const jobSeqs = [...lackingJobs, ...lackingDirect.map(() => null)]
    const reservationSeqs = [...lackingJobs.map(() => null), ...lackingDirect]
    await connection.run(GIVE_PERMITS, name, jobSeqs, reservationSeqs)
    if (lackingJobs.length > 0) await connection.run(MARK_PERMITTED, lackingJobs)
  }
  await connection.run(DELETE_FREE_BEYOND, name, max)
}
