import type { Transaction } from '../transaction.ts'

const INSERT_QUEUED = `
insert into pawl.queue (seq, lane_id, ready, awaits_predecessor, unmet_parents, priority, position, run_at, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

/** Puts a Job that was just written into the queue. */
export async function insertQueued(
  { connection }: Transaction,
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
): Promise<void> {
  const { seq, laneId, awaitsPredecessor, unmetParents, priority, position, runAt, now } = row
  const isReady = runAt <= now && !awaitsPredecessor && unmetParents === 0
  await connection.run(
    INSERT_QUEUED,
    seq,
    laneId,
    isReady,
    awaitsPredecessor,
    unmetParents,
    priority,
    position,
    runAt,
    now,
  )
}
