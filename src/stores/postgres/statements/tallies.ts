import type { Transaction } from '../transaction.ts'
import { nodeSeqOf } from './nodes.ts'

/** The number of a node that has a row. It never changes, so each is looked up once. */
export async function internNode({ connection, interned }: Transaction, nodeId: string): Promise<number> {
  let nodeSeq = interned.nodeSeqs.get(nodeId)
  if (nodeSeq === undefined) {
    nodeSeq = await nodeSeqOf(connection, nodeId)
    interned.nodeSeqs.set(nodeId, nodeSeq)
  }
  return nodeSeq
}

/** Where a minute or an hour of a node has its row already, `kept`, the counts are added to those that are there. */
export const ADD_UP = `
on conflict (began_at, node_seq) do update
set executed = kept.executed + excluded.executed,
  completed = kept.completed + excluded.completed,
  failed = kept.failed + excluded.failed,
  skipped = kept.skipped + excluded.skipped,
  cancelled = kept.cancelled + excluded.cancelled,
  run_ms = kept.run_ms + excluded.run_ms,
  wait_ms = kept.wait_ms + excluded.wait_ms`

// 1 row: counted.
const ADD_TALLY = `
insert into pawl.statistics as kept (
  began_at, node_seq, executed, completed, failed, skipped, cancelled, run_ms, wait_ms
) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
${ADD_UP}`

/** Adds what ended in a transaction to the statistics: part of every commit, and its last lock but one. */
export async function writeTallies({ connection, tallies }: Transaction): Promise<void> {
  const inOrder = [...tallies].sort((a, b) => a.beganAt - b.beganAt || a.nodeSeq - b.nodeSeq)
  for (const tally of inOrder) {
    const { beganAt, nodeSeq, executed, completed, failed, skipped, cancelled, runMs, waitMs } = tally
    await connection.run(ADD_TALLY, beganAt, nodeSeq, executed, completed, failed, skipped, cancelled, runMs, waitMs)
  }
}
