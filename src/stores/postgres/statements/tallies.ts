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

// 1 row: counted.
const ADD_TALLY = `
insert into pawl.statistics as s (
  hour_at, node_seq, executed, completed, failed, skipped, cancelled, run_ms, wait_ms
) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
on conflict (hour_at, node_seq) do update
set executed = s.executed + excluded.executed,
  completed = s.completed + excluded.completed,
  failed = s.failed + excluded.failed,
  skipped = s.skipped + excluded.skipped,
  cancelled = s.cancelled + excluded.cancelled,
  run_ms = s.run_ms + excluded.run_ms,
  wait_ms = s.wait_ms + excluded.wait_ms`

/** Adds what ended in a transaction to the statistics: part of every commit, and its last lock but one. */
export async function writeTallies({ connection, tallies }: Transaction): Promise<void> {
  const inOrder = [...tallies].sort((a, b) => a.hourAt - b.hourAt || a.nodeSeq - b.nodeSeq)
  for (const tally of inOrder) {
    const { hourAt, nodeSeq, executed, completed, failed, skipped, cancelled, runMs, waitMs } = tally
    await connection.run(ADD_TALLY, hourAt, nodeSeq, executed, completed, failed, skipped, cancelled, runMs, waitMs)
  }
}
