import type { NodeRecord } from '../store/nodes.ts'
import type { OperationContext } from './context.ts'

/** A node with whether its process lives. One that died a moment ago is there until somebody recovers what it left. */
export type NodeSeen = NodeRecord & { readonly alive: boolean }

/** Nodes whose life is asked for; the others are taken for alive. */
const ASKED_MAX = 100

export async function listNodes({ store }: OperationContext): Promise<readonly NodeSeen[]> {
  const nodes: NodeSeen[] = []
  for (const [index, node] of (await store.listNodes()).entries()) {
    nodes.push({ ...node, alive: index >= ASKED_MAX || (await store.liveness.isAlive(node.nodeId)) })
  }
  return nodes
}
