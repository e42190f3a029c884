import { limitsTaken, resourceLimit } from '../../../../domain/limits.ts'
import type { Finding } from '../../../../store/checks.ts'
import { findingOf } from '../../../shared/finding.ts'
import type { Connection } from '../../connection.ts'
import { listLimits } from '../permits.ts'
import { checkOf, type InvariantCheck } from './probe.ts'

// All of these read as many rows as bodies execute right now, or as many as nodes live.

const SELECT_OVERFULL_NODES = `
select n.node_id as id
from pawl.nodes n
where n.ended_at is null
  and n.concurrency < (select count(*) from pawl.occupancies o where o.node_seq = n.node_seq)
    + (select count(*) from pawl.direct_occupancies d where d.node_seq = n.node_seq)`

const SELECT_MISCHARGED = `
select j.job_id as id
from pawl.occupancies o
join pawl.jobs j on j.seq = o.seq
where o.lane_id <> j.lane_id
union all
select s.reservation_id
from pawl.direct_occupancies d
join pawl.reservations s on s.reservation_seq = d.reservation_seq
where d.lane_id <> s.lane_id`

// As many rows as limits: somebody made each of them. Pawl itself stores none below 1.
const SELECT_EMPTY_LIMITS = `
select name as id
from pawl.limits
where max < 1`

const probes = checkOf('I11', '', [
  {
    sql: SELECT_EMPTY_LIMITS,
    message: 'Limits leave no permit at all, so that nothing that needs one ever starts.',
    advice: 'Set these limits to 1 or more with `pawl limits set`, or remove them.',
  },
  {
    sql: SELECT_OVERFULL_NODES,
    severity: 'warning',
    message:
      'Nodes have more bodies recorded than places. That is right only for some seconds, after the answer to a claim was lost.',
    advice: 'Look again in ten seconds; if it stays so, report this as a bug of Pawl.',
  },
  {
    sql: SELECT_MISCHARGED,
    message: 'Bodies take other permits than their Jobs say.',
    advice: 'Restore a backup if rows were changed by hand; else report this as a bug of Pawl.',
  },
])

export const limits: InvariantCheck = {
  invariant: 'I11',
  title: 'Bodies take no more permits and places than the limits allow.',
  async examine(connection, now) {
    return [...(await probes.examine(connection, now)), ...(await findExceeded(connection))]
  },
}

const COUNT_BODIES = `
select l.type, l.resources, count(*) as bodies
from (
  select lane_id from pawl.occupancies
  union all
  select lane_id from pawl.direct_occupancies
) as o
join pawl.lanes l on l.lane_id = o.lane_id
group by l.lane_id`

async function findExceeded(connection: Connection): Promise<Finding[]> {
  const taken = new Map<string, number>()
  const limits = new Map((await listLimits(connection)).map(({ name, max }) => [name, max]))
  type Bodies = { type: string; resources: string; bodies: number }
  for (const row of await connection.all<Bodies>(COUNT_BODIES)) {
    const resources = JSON.parse(row.resources) as string[]
    for (const name of limitsTaken(row.type, resources)) taken.set(name, (taken.get(name) ?? 0) + row.bodies)
    // A resource that nobody gave a limit is exclusive.
    for (const name of resources.map(resourceLimit)) if (!limits.has(name)) limits.set(name, 1)
  }
  const exceeded = [...limits].filter(([name, max]) => (taken.get(name) ?? 0) > max)
  if (exceeded.length === 0) return []
  return [
    findingOf(
      {
        severity: 'warning',
        message:
          'More bodies execute than a limit allows. That is right only after the limit was lowered, until they have ended.',
        advice: 'If no limit was lowered, report this as a bug of Pawl.',
      },
      exceeded.map(([name, max]) => `${name}: ${taken.get(name)} of ${max}`),
    ),
  ]
}

const SELECT_BODIES_OF_THE_GONE = `
select j.job_id as id
from pawl.occupancies o
join pawl.nodes n on n.node_seq = o.node_seq
join pawl.jobs j on j.seq = o.seq
where n.ended_at is not null
union all
select s.reservation_id
from pawl.direct_occupancies d
join pawl.nodes n on n.node_seq = d.node_seq
join pawl.reservations s on s.reservation_seq = d.reservation_seq
where n.ended_at is not null`

const SELECT_BODIES_ELSEWHERE = `
select j.job_id as id
from pawl.occupancies o
join pawl.runs r on r.seq = o.seq
join pawl.jobs j on j.seq = o.seq
where o.node_seq <> r.node_seq
union all
select s.reservation_id
from pawl.direct_occupancies d
join pawl.reservations s on s.reservation_seq = d.reservation_seq
where d.node_seq is distinct from s.node_seq`

export const homes = checkOf(
  'I15',
  'Nothing is RUNNING on a node that has left, or on another than the one that claimed it.',
  [
    {
      sql: SELECT_BODIES_OF_THE_GONE,
      message: 'Bodies are recorded on nodes that have left, so nobody will end them.',
      advice: 'Use --fix: it has their nodes looked at again, and recovery ends what is left of them.',
      remedy: 'nodes',
    },
    {
      sql: SELECT_BODIES_ELSEWHERE,
      message: 'Bodies are recorded on another node than the one that claimed them.',
      advice: 'Restore a backup if rows were changed by hand; else report this as a bug of Pawl.',
    },
  ],
)
