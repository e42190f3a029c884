import type { Transaction } from '../transaction.ts'

const INSERT_QUEUED = `
insert into pawl_queue (seq, lane_id, ready, awaits_predecessor, unmet_parents, priority, position, run_at, created_at)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)`

/** Puts a Job that was just written into the queue. */
export function insertQueued(
  transaction: Transaction,
  row: {
    readonly seq: number
    readonly laneId: number
    readonly awaitsPredecessor: boolean
    readonly unmetParents: number
    readonly priority: number
    readonly position: number
    readonly runAt: number
    readonly now: number
  },
): void {
  const isReady = row.runAt <= row.now && !row.awaitsPredecessor && row.unmetParents === 0
  transaction.connection.insertLater(
    INSERT_QUEUED,
    row.seq,
    row.laneId,
    isReady ? 1 : 0,
    row.awaitsPredecessor ? 1 : 0,
    row.unmetParents,
    row.priority,
    row.position,
    row.runAt,
    row.now,
  )
}
