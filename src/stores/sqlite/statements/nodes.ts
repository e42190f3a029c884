import { assert } from '../../../domain/errors.ts'
import type { NodeRecord } from '../../../store/nodes.ts'
import type { Connection, SqlRow } from '../connection.ts'
import type { Transaction } from '../transaction.ts'

const SELECT_NODE_SEQ = 'select node_seq from pawl_nodes where node_id = ?'

export function nodeSeqOf(connection: Connection, nodeId: string): number {
  const seq = connection.get<{ node_seq: number }>(SELECT_NODE_SEQ, nodeId)?.node_seq
  assert(seq !== undefined, `node ${nodeId} is used before it was registered`)
  return seq
}

const SELECT_LIVE_NODE_SEQ = 'select node_seq from pawl_nodes where node_id = ? and ended_at is null'

/** Null for a node that has left, or was declared dead: it may not claim any more. */
export function findLiveNodeSeq(connection: Connection, nodeId: string): number | null {
  return connection.get<{ node_seq: number }>(SELECT_LIVE_NODE_SEQ, nodeId)?.node_seq ?? null
}

const INSERT_NODE = `
insert into pawl_nodes (node_id, name, host, pid, types, concurrency, started_at, claims)
values (?, ?, ?, ?, ?, ?, ?, ?)
on conflict (node_id) do update
set name = excluded.name, types = excluded.types, concurrency = excluded.concurrency, claims = excluded.claims, ended_at = null`

export function registerNode(transaction: Transaction, node: NodeRecord): void {
  transaction.connection.run(
    INSERT_NODE,
    node.nodeId,
    node.name,
    node.host,
    node.pid,
    JSON.stringify(node.types),
    node.concurrency,
    node.startedAt,
    node.claims ? 1 : 0,
  )
}

// 0 rows: it was so before, or the node has left.
const SET_CLAIMS = 'update pawl_nodes set claims = ? where node_id = ? and claims <> ?'

export function setNodeClaims(transaction: Transaction, nodeId: string, claims: boolean): void {
  transaction.connection.run(SET_CLAIMS, claims ? 1 : 0, nodeId, claims ? 1 : 0)
}

// 1 row: gone. 0 rows: it was gone before, or bodies are recorded there. Its row stays for the history of its Runs.
const END_NODE = `
update pawl_nodes
set ended_at = ?
where node_id = ? and ended_at is null
  and not exists (select 1 from pawl_occupancies o where o.node_seq = pawl_nodes.node_seq)
  and not exists (select 1 from pawl_direct_occupancies d where d.node_seq = pawl_nodes.node_seq)`

const FIND_BODY = `
select 1 as found
from pawl_nodes n
where n.node_id = ?
  and (
    exists (select 1 from pawl_occupancies o where o.node_seq = n.node_seq)
    or exists (select 1 from pawl_direct_occupancies d where d.node_seq = n.node_seq)
  )`

export function removeNode(transaction: Transaction, nodeId: string, now: number): 'removed' | 'occupied' {
  if (transaction.connection.run(END_NODE, now, nodeId) > 0) return 'removed'
  return transaction.connection.get(FIND_BODY, nodeId) === undefined ? 'removed' : 'occupied'
}

const SELECT_NODES = `
select node_id, name, host, pid, types, concurrency, started_at, claims
from pawl_nodes
where ended_at is null
order by node_seq`

interface NodeRow extends SqlRow {
  node_id: string
  name: string
  host: string
  pid: number
  types: string
  concurrency: number
  started_at: number
  claims: number
}

export function listNodes(connection: Connection): NodeRecord[] {
  return connection.all<NodeRow>(SELECT_NODES).map((row) => ({
    nodeId: row.node_id,
    name: row.name,
    host: row.host,
    pid: row.pid,
    types: JSON.parse(row.types) as string[],
    concurrency: row.concurrency,
    startedAt: row.started_at,
    claims: row.claims === 1,
  }))
}
