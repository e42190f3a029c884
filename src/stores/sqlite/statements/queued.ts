import type { Transaction } from '../transaction.ts'

// Most Jobs are ready at once. What is the same for all of them need not be bound for each.
const INSERT_READY = `
insert into pawl_queue (seq, lane_id, ready, awaits_predecessor, priority, position, run_at, created_at)
values (?, ?, 1, 0, ?, ?, ?, ?)`

const INSERT_WAITING = `
insert into pawl_queue (seq, lane_id, ready, awaits_predecessor, unmet_parents, priority, position, run_at, created_at)
values (?, ?, 0, ?, ?, ?, ?, ?, ?)`

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
  const { seq, laneId, awaitsPredecessor, unmetParents, priority, position, runAt, now } = row
  const { connection } = transaction
  if (runAt <= now && !awaitsPredecessor && unmetParents === 0) {
    connection.insertLater(INSERT_READY, seq, laneId, priority, position, runAt, now)
    return
  }
  const awaits = awaitsPredecessor ? 1 : 0
  connection.insertLater(INSERT_WAITING, seq, laneId, awaits, unmetParents, priority, position, runAt, now)
}
