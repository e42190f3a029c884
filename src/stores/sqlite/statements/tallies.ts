import type { Transaction } from '../transaction.ts'
import { nodeSeqOf } from './nodes.ts'

/** The number of a node that has a row. It never changes, so each is looked up once. */
export function internNode({ connection, interned }: Transaction, nodeId: string): number {
  let nodeSeq = interned.nodeSeqs.get(nodeId)
  if (nodeSeq === undefined) {
    nodeSeq = nodeSeqOf(connection, nodeId)
    interned.nodeSeqs.set(nodeId, nodeSeq)
  }
  return nodeSeq
}

/** Where a minute or an hour of a node has its row already, the counts are added to those that are there. */
export const ADD_UP = `
on conflict (began_at, node_seq) do update
set executed = executed + excluded.executed,
  completed = completed + excluded.completed,
  failed = failed + excluded.failed,
  skipped = skipped + excluded.skipped,
  cancelled = cancelled + excluded.cancelled,
  run_ms = run_ms + excluded.run_ms,
  wait_ms = wait_ms + excluded.wait_ms`

// 1 row: counted.
const ADD_TALLY = `
insert into pawl_statistics (
  began_at, node_seq, executed, completed, failed, skipped, cancelled, run_ms, wait_ms
) values (?, ?, ?, ?, ?, ?, ?, ?, ?)
${ADD_UP}`

/** Adds what ended in a transaction to the statistics: part of every commit. */
export function writeTallies({ connection, tallies }: Transaction): void {
  for (const tally of tallies) {
    connection.run(
      ADD_TALLY,
      tally.beganAt,
      tally.nodeSeq,
      tally.executed,
      tally.completed,
      tally.failed,
      tally.skipped,
      tally.cancelled,
      tally.runMs,
      tally.waitMs,
    )
  }
}
