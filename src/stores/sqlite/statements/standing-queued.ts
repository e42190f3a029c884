import type { OnParentFailure } from '../../../domain/dependency.ts'
import type { Job } from '../../../domain/job.ts'
import { limitsTaken } from '../../../domain/limits.ts'
import {
  LISTED_MAX,
  type LimitStanding,
  NODES_MAX,
  type NodeStanding,
  type QueuedStanding,
  type UnmetParent,
} from '../../../domain/standing.ts'
import type { Connection, SqlRow } from '../connection.ts'
import type { JobRow } from '../rows.ts'
import type { Interned } from '../transaction.ts'
import { Holders } from './holders.ts'
import { OtherJobs } from './other-job.ts'
import { findParents } from './parents.ts'
import { readRank } from './queue-rank.ts'
import { readGroupOrder } from './standing-run.ts'
import { TakenPermits } from './taken-permits.ts'
import { readTicketLanes } from './waiting-tickets.ts'

export function readQueued(
  connection: Connection,
  interned: Interned,
  row: JobRow,
  job: Job,
  now: number,
): QueuedStanding {
  const permits = new TakenPermits(connection, interned)
  const holders = new Holders(connection, interned)
  const nodes = findNodesFor(connection, job.type)
  const claiming = nodes.filter(({ claims }) => claims === 1).map(({ node_seq }) => node_seq)
  return {
    kind: 'queued',
    job,
    rank: job.hold === null ? readRank(connection, interned, permits, row, now) : null,
    ...readUnmetParents(connection, new OtherJobs(connection, interned, now), row),
    predecessor: row.awaits_predecessor === 1 ? holders.ofChain(job.chainId) : null,
    groupOrder: readGroupOrder(connection, row),
    limits: readLimits(permits, holders, job),
    tickets: readTicketLanes(connection, interned, permits, now),
    nodes: nodes.map((node) => toNode(node, permits)),
    bodies: claiming.length === 0 ? [] : holders.ofNodes(claiming, NODES_MAX),
  }
}

function readUnmetParents(
  connection: Connection,
  others: OtherJobs,
  row: JobRow,
): Pick<QueuedStanding, 'unmetParents' | 'unmetParentCount'> {
  if (row.unmet_parents === null || row.unmet_parents === 0) return { unmetParents: [], unmetParentCount: 0 }
  const unmet = findParents(connection, row).filter(({ met }) => met === 0)
  const unmetParents = unmet.slice(0, LISTED_MAX).map(
    (parent): UnmetParent => ({
      parentId: parent.parent_id,
      last: others.lastOfChain(parent.parent_seq),
      onFailure: parent.on_failure as OnParentFailure,
      ofGroup: parent.of_group === 1,
    }),
  )
  return { unmetParents, unmetParentCount: unmet.length }
}

function readLimits(permits: TakenPermits, holders: Holders, { type, policy }: Job): LimitStanding[] {
  return limitsTaken(type, policy.resources).flatMap((name) => {
    const max = permits.max(name)
    if (max === null) return []
    const held = permits.isUsedUp(name) ? holders.ofLanes(permits.lanesTaking(name), LISTED_MAX) : []
    return [{ name, max, taken: permits.taken(name), holders: held }]
  })
}

// As many rows as nodes live.
const SELECT_LIVE_NODES = `
select node_seq, node_id, name, types, claims, concurrency
from pawl_nodes
where ended_at is null
order by node_seq`

interface NodeRow extends SqlRow {
  node_seq: number
  node_id: string
  name: string
  types: string
  claims: number
  concurrency: number
}

/** Those that claim come first, because they decide. */
function findNodesFor(connection: Connection, type: string): NodeRow[] {
  const nodes = connection.all<NodeRow>(SELECT_LIVE_NODES).filter((row) => typesOf(row).includes(type))
  return nodes.sort((a, b) => b.claims - a.claims || a.node_seq - b.node_seq).slice(0, NODES_MAX)
}

function typesOf(row: NodeRow): string[] {
  return JSON.parse(row.types) as string[]
}

function toNode(row: NodeRow, permits: TakenPermits): NodeStanding {
  return {
    nodeId: row.node_id,
    name: row.name,
    types: typesOf(row),
    claims: row.claims === 1,
    concurrency: row.concurrency,
    bodies: permits.bodiesOn(row.node_seq),
  }
}
