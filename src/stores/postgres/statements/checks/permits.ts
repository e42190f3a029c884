import { limitsTaken, resourceLimit } from '../../../../domain/limits.ts'
import type { Finding } from '../../../../store/checks.ts'
import { type Complaint, findingOf } from '../../../shared/finding.ts'
import type { Connection } from '../../connection.ts'
import { listLimits } from '../permits.ts'
import { checkOf, type InvariantCheck } from './probe.ts'

// All of these read as many rows as permits and bodies there are.

/** A permit `p` is taken by a body that has ended. */
export const IS_STALE_PERMIT = `(
  (p.job_seq is not null and not exists (select 1 from pawl.occupancies o where o.seq = p.job_seq))
  or (
    p.reservation_seq is not null
    and not exists (select 1 from pawl.direct_occupancies d where d.reservation_seq = p.reservation_seq)
  )
)`

const SELECT_STALE = `
select p.name || ' ' || p.slot as id
from pawl.permits p
where ${IS_STALE_PERMIT}`

/** A body `o` has permits, without saying so: whoever ends it would not give them back. */
export const HAS_PERMITS_UNSAID = `
  not o.has_permits and exists (select 1 from pawl.permits p where p.job_seq = o.seq)`

const SELECT_UNSAID = `
select coalesce(j.job_id, o.seq::text) as id
from pawl.occupancies o
left join pawl.jobs j on j.seq = o.seq
where ${HAS_PERMITS_UNSAID}`

const SELECT_OF_TWO = `
select p.name || ' ' || p.slot as id
from pawl.permits p
where p.job_seq is not null and p.reservation_seq is not null`

const REPORT = 'Restore a backup if rows were changed by hand; else report this as a bug of Pawl.'

const probes = checkOf('permits', '', [
  {
    sql: SELECT_STALE,
    message: 'Permits are taken by bodies that have ended, so nobody else gets them.',
    advice: 'Use --fix: it sets them free.',
    remedy: 'permits',
  },
  {
    sql: SELECT_UNSAID,
    message: 'Bodies have permits, but do not say so: these would stay taken when the bodies have ended.',
    advice: 'Use --fix: it says so.',
    remedy: 'permits',
  },
  { sql: SELECT_OF_TWO, message: 'Permits are taken by two bodies.', advice: REPORT },
])

export const permits: InvariantCheck = {
  invariant: 'permits',
  title: 'A body that executes has one permit of each of its limits, and nobody else has any.',
  async examine(connection, now) {
    return [...(await probes.examine(connection, now)), ...(await compareWithBodies(connection))]
  },
}

const SELECT_BODIES = `
select j.job_id as id, l.type, l.resources, p.name
from pawl.occupancies o
join pawl.jobs j on j.seq = o.seq
join pawl.lanes l on l.lane_id = o.lane_id
left join pawl.permits p on p.job_seq = o.seq
union all
select s.reservation_id, l.type, l.resources, p.name
from pawl.direct_occupancies d
join pawl.reservations s on s.reservation_seq = d.reservation_seq
join pawl.lanes l on l.lane_id = d.lane_id
left join pawl.permits p on p.reservation_seq = d.reservation_seq`

interface BodyRow {
  id: string
  type: string
  resources: string
  /** Of one of its permits. */
  name: string | null
}

const LACKING: Complaint = {
  message: 'Bodies have no permit of one of their limits, so somebody else may have it too many.',
  advice:
    'Set the limit once more with `pawl limits set`: it gives permits to all bodies. Report this as a bug of Pawl.',
}

const SURPLUS: Complaint = {
  message: 'Bodies have permits that they do not need, or two of one limit.',
  advice: REPORT,
}

async function compareWithBodies(connection: Connection): Promise<Finding[]> {
  const limited = new Set((await listLimits(connection)).map(({ name }) => name))
  const bodies = new Map<string, BodyRow[]>()
  for (const row of await connection.all<BodyRow>(SELECT_BODIES))
    bodies.set(row.id, [...(bodies.get(row.id) ?? []), row])
  const lacking: string[] = []
  const surplus: string[] = []
  for (const [id, rows] of bodies) {
    const needed = new Set(limitsNeeded(rows[0] as BodyRow, limited))
    for (const { name } of rows) if (name !== null && !needed.delete(name)) surplus.push(`${name} of ${id}`)
    for (const name of needed) lacking.push(`${name} of ${id}`)
  }
  return [
    ...(lacking.length === 0 ? [] : [findingOf(LACKING, lacking)]),
    ...(surplus.length === 0 ? [] : [findingOf(SURPLUS, surplus)]),
  ]
}

/** A resource that nobody gave a limit is exclusive. */
function limitsNeeded({ type, resources }: BodyRow, limited: ReadonlySet<string>): string[] {
  const taken = limitsTaken(type, JSON.parse(resources) as string[])
  return taken.filter((name) => limited.has(name) || name.startsWith(resourceLimit('')))
}
