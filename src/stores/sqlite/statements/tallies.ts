import type { RunStatus } from '../../../domain/run.ts'
import type { Tally, Transaction } from '../transaction.ts'
import { nodeSeqOf } from './nodes.ts'

const HOUR_MS = 3_600_000

/** Whoever ends what no node in particular ends, such as a person who cancels. */
const NOBODY = 0

/** Counts a Run that got its outcome in this transaction. */
export function countRun(
  transaction: Transaction,
  nodeSeq: number,
  run: {
    readonly status: RunStatus
    readonly runAt: number
    readonly startedAt: number
    readonly finishedAt: number
  },
): void {
  const tally = tallyOf(transaction, nodeSeq, run.finishedAt)
  tally.executed++
  if (run.status === 'COMPLETED') tally.completed++
  else if (run.status === 'FAILED') tally.failed++
  else tally.skipped++
  // A clock that was set back must not make a counter fall.
  tally.runMs += Math.max(0, run.finishedAt - run.startedAt)
  tally.waitMs += Math.max(0, run.startedAt - run.runAt)
}

/** Counts a Job that became CANCELLED in this transaction. */
export function countCancelled(transaction: Transaction, at: number, nodeSeq = NOBODY): void {
  tallyOf(transaction, nodeSeq, at).cancelled++
}

/** The number of a node that has a row. It never changes, so each is looked up once. */
export function internNode({ connection, interned }: Transaction, nodeId: string): number {
  let nodeSeq = interned.nodeSeqs.get(nodeId)
  if (nodeSeq === undefined) {
    nodeSeq = nodeSeqOf(connection, nodeId)
    interned.nodeSeqs.set(nodeId, nodeSeq)
  }
  return nodeSeq
}

/** Most transactions end Runs of one node within one hour. */
function tallyOf({ tallies }: Transaction, nodeSeq: number, at: number): Tally {
  const hourAt = at - (at % HOUR_MS)
  for (const tally of tallies) if (tally.hourAt === hourAt && tally.nodeSeq === nodeSeq) return tally
  const counts = { executed: 0, completed: 0, failed: 0, skipped: 0, cancelled: 0, runMs: 0, waitMs: 0 }
  const tally = { hourAt, nodeSeq, ...counts }
  tallies.push(tally)
  return tally
}

/** Where an hour of a node has its row already, the counts are added to those that are there. */
export const ADD_UP = `
on conflict (hour_at, node_seq) do update
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
  hour_at, node_seq, executed, completed, failed, skipped, cancelled, run_ms, wait_ms
) values (?, ?, ?, ?, ?, ?, ?, ?, ?)
${ADD_UP}`

/** Adds what ended in a transaction to the statistics: part of every commit. */
export function writeTallies({ connection, tallies }: Transaction): void {
  for (const tally of tallies) {
    connection.run(
      ADD_TALLY,
      tally.hourAt,
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
