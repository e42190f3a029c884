import type { NodeRecord } from '../store/nodes.ts'
import type { OperationContext } from './context.ts'

/** A node with whether its process lives. One that died a moment ago is there until somebody recovers what it left. */
export type NodeSeen = NodeRecord & {
  readonly alive: boolean
  /** When it last proved that it lives. Null: the store knows at once whether it does. */
  readonly lastSeenAt: number | null
}

/** Nodes whose life is asked for; the others are taken for alive. */
const ASKED_MAX = 100

export async function listNodes({ store }: OperationContext): Promise<readonly NodeSeen[]> {
  const records = await store.listNodes()
  const proofs = await store.liveness.lastProofs(records.slice(0, ASKED_MAX).map(({ nodeId }) => nodeId))
  const nodes: NodeSeen[] = []
  for (const [index, node] of records.entries()) {
    const alive = index >= ASKED_MAX || (await store.liveness.isAlive(node.nodeId))
    nodes.push({ ...node, alive, lastSeenAt: proofs.get(node.nodeId) ?? null })
  }
  return nodes
}
