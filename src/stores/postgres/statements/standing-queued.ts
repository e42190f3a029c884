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
import type { Connection } from '../connection.ts'
import type { JobRow } from '../rows.ts'
import { Holders } from './holders.ts'
import { OtherJobs } from './other-job.ts'
import { findParents } from './parents.ts'
import { readRank } from './queue-rank.ts'
import { readGroupOrder } from './standing-run.ts'
import { TakenPermits } from './taken-permits.ts'
import { readTicketLanes } from './waiting-tickets.ts'

export async function readQueued(connection: Connection, row: JobRow, job: Job, now: number): Promise<QueuedStanding> {
  const permits = await TakenPermits.read(connection)
  const holders = new Holders(connection)
  const nodes = await findNodesFor(connection, job.type)
  const claiming = nodes.filter(({ claims }) => claims).map(({ node_seq }) => node_seq)
  return {
    kind: 'queued',
    job,
    rank: job.hold === null ? await readRank(connection, permits, row, now) : null,
    ...(await readUnmetParents(connection, new OtherJobs(connection, now), row)),
    predecessor: row.awaits_predecessor === true ? await holders.ofChain(job.chainId) : null,
    groupOrder: await readGroupOrder(connection, row),
    limits: await readLimits(permits, holders, job),
    tickets: await readTicketLanes(connection, permits, now),
    nodes: nodes.map((node) => toNode(node, permits)),
    bodies: claiming.length === 0 ? [] : await holders.ofNodes(claiming, NODES_MAX),
  }
}

async function readUnmetParents(
  connection: Connection,
  others: OtherJobs,
  row: JobRow,
): Promise<Pick<QueuedStanding, 'unmetParents' | 'unmetParentCount'>> {
  if (row.unmet_parents === null || row.unmet_parents === 0) return { unmetParents: [], unmetParentCount: 0 }
  const unmet = (await findParents(connection, row)).filter(({ met }) => met === 0)
  const unmetParents: UnmetParent[] = []
  for (const parent of unmet.slice(0, LISTED_MAX)) {
    unmetParents.push({
      parentId: parent.parent_id,
      last: await others.lastOfChain(parent.parent_seq),
      onFailure: parent.on_failure as OnParentFailure,
      ofGroup: parent.of_group,
    })
  }
  return { unmetParents, unmetParentCount: unmet.length }
}

async function readLimits(permits: TakenPermits, holders: Holders, { type, policy }: Job): Promise<LimitStanding[]> {
  const limits: LimitStanding[] = []
  for (const name of limitsTaken(type, policy.resources)) {
    const max = permits.max(name)
    if (max === null) continue
    const held = permits.isUsedUp(name) ? await holders.ofLanes(permits.lanesTaking(name), LISTED_MAX) : []
    limits.push({ name, max, taken: permits.taken(name), holders: held })
  }
  return limits
}

// As many rows as nodes live.
const SELECT_LIVE_NODES = `
select node_seq, node_id, name, types, claims, concurrency
from pawl.nodes
where ended_at is null
order by node_seq`

interface NodeRow {
  node_seq: number
  node_id: string
  name: string
  types: string
  claims: boolean
  concurrency: number
}

/** Those that claim come first, because they decide. */
async function findNodesFor(connection: Connection, type: string): Promise<NodeRow[]> {
  const nodes = (await connection.all<NodeRow>(SELECT_LIVE_NODES)).filter((row) => typesOf(row).includes(type))
  return nodes.sort((a, b) => Number(b.claims) - Number(a.claims) || a.node_seq - b.node_seq).slice(0, NODES_MAX)
}

function typesOf(row: NodeRow): string[] {
  return JSON.parse(row.types) as string[]
}

function toNode(row: NodeRow, permits: TakenPermits): NodeStanding {
  return {
    nodeId: row.node_id,
    name: row.name,
    types: typesOf(row),
    claims: row.claims,
    concurrency: row.concurrency,
    bodies: permits.bodiesOn(row.node_seq),
  }
}
