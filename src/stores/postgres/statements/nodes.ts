import { assert } from '../../../domain/errors.ts'
import type { NodeRecord } from '../../../store/nodes.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

const SELECT_NODE_SEQ = 'select node_seq from pawl.nodes where node_id = $1'

export async function nodeSeqOf(connection: Connection, nodeId: string): Promise<number> {
  const seq = (await connection.get<{ node_seq: number }>(SELECT_NODE_SEQ, nodeId))?.node_seq
  assert(seq !== undefined, `node ${nodeId} is used before it was registered`)
  return seq
}

// The row is locked against `removeNode`: a node that is declared dead meanwhile gets no new body.
const LOCK_LIVE_NODE = 'select node_seq from pawl.nodes where node_id = $1 and ended_at is null for key share'

/** Null for a node that has left, or was declared dead: it may not claim any more. Until the transaction ends it stays so. */
export async function findLiveNodeSeq(connection: Connection, nodeId: string): Promise<number | null> {
  return (await connection.get<{ node_seq: number }>(LOCK_LIVE_NODE, nodeId))?.node_seq ?? null
}

const INSERT_NODE = `
insert into pawl.nodes (node_id, name, host, pid, types, concurrency, started_at, claims)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (node_id) do update
set name = excluded.name, types = excluded.types, concurrency = excluded.concurrency, claims = excluded.claims, ended_at = null`

export async function registerNode({ connection }: Transaction, node: NodeRecord): Promise<void> {
  const { nodeId, name, host, pid, types, concurrency, startedAt, claims } = node
  await connection.run(INSERT_NODE, nodeId, name, host, pid, JSON.stringify(types), concurrency, startedAt, claims)
}

// 0 rows: it was so before, or the node has left.
const SET_CLAIMS = 'update pawl.nodes set claims = $1 where node_id = $2 and claims <> $1'

export async function setNodeClaims({ connection }: Transaction, nodeId: string, claims: boolean): Promise<void> {
  await connection.run(SET_CLAIMS, claims, nodeId)
}

// Waits for a claim of this node that is under way, so that its bodies are seen below.
const LOCK_NODE = 'select node_seq from pawl.nodes where node_id = $1 and ended_at is null for update'

const FIND_BODY = `
select 1 as found from pawl.occupancies where node_seq = $1
union all
select 1 from pawl.direct_occupancies where node_seq = $1
limit 1`

// Its row stays for the history of its Runs.
const END_NODE = 'update pawl.nodes set ended_at = $1 where node_seq = $2'

export async function removeNode(
  { connection }: Transaction,
  nodeId: string,
  now: number,
): Promise<'removed' | 'occupied'> {
  const node = await connection.get<{ node_seq: number }>(LOCK_NODE, nodeId)
  if (node === undefined) return 'removed'
  if ((await connection.get(FIND_BODY, node.node_seq)) !== undefined) return 'occupied'
  await connection.run(END_NODE, now, node.node_seq)
  return 'removed'
}

const SELECT_NODES = `
select node_id, name, host, pid, types, concurrency, started_at, claims
from pawl.nodes
where ended_at is null
order by node_seq`

interface NodeRow {
  node_id: string
  name: string
  host: string
  pid: number
  types: string
  concurrency: number
  started_at: number
  claims: boolean
}

export async function listNodes(connection: Connection): Promise<NodeRecord[]> {
  return (await connection.all<NodeRow>(SELECT_NODES)).map((row) => ({
    nodeId: row.node_id,
    name: row.name,
    host: row.host,
    pid: row.pid,
    types: JSON.parse(row.types) as string[],
    concurrency: row.concurrency,
    startedAt: row.started_at,
    claims: row.claims,
  }))
}
