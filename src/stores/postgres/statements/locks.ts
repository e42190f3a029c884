import type { Connection } from '../connection.ts'
import { type JobRow, statusOf } from '../rows.ts'
import { findJobRow, findLastOfChain } from './history.ts'
import { chainSeqOf } from './parents.ts'

// Always in the order of their numbers, so that two transactions that need the same chains do not wait for each other.
const LOCK_CHAINS = `
select seq
from pawl.jobs
where seq = any($1::bigint[])
order by seq
for no key update`

/**
 * Whoever ends, cancels, changes or continues a chain holds this lock until the transaction ends: the row of the chain's first
 * Job. What is read of these chains afterwards stays so, but that a QUEUED Job may start (see `lockQueued`).
 */
export async function lockChains(connection: Connection, chainSeqs: readonly number[]): Promise<void> {
  if (chainSeqs.length > 0) await connection.all(LOCK_CHAINS, [...new Set(chainSeqs)])
}

// 1 row: it is QUEUED and stays so until this transaction ends. 0 rows: it has started, or left the queue.
const LOCK_QUEUED = `
select seq
from pawl.queue
where priority = $1 and position = $2 and created_at = $3 and seq = $4
for update`

/** Keeps a QUEUED Job from starting. Waits for a claim that is under way. False: it is not QUEUED any more. */
async function lockQueued(connection: Connection, row: JobRow): Promise<boolean> {
  const { priority, position, created_at, seq } = row
  return (await connection.get(LOCK_QUEUED, priority, position, created_at, seq)) !== undefined
}

/** A Job that was named, and the last Job of its chain, which stay as they are until this transaction ends. */
export interface LockedJob {
  readonly job: JobRow
  readonly last: JobRow
  readonly chainSeq: number
}

/** Finds a Job and locks its chain, and the last Job of it against starting. Null: there is no such Job. */
export async function lockJob(
  connection: Connection,
  by: { jobId: string } | { runId: string },
): Promise<LockedJob | null> {
  const named = await findJobRow(connection, by)
  if (named === undefined) return null
  const chainSeq = named.chain_id === null ? named.seq : ((await chainSeqOf(connection, named.chain_id)) ?? named.seq)
  await lockChains(connection, [chainSeq])
  for (;;) {
    const job = await findJobRow(connection, by)
    if (job === undefined) return null
    const last = await findLastOfChain(connection, job)
    if (statusOf(last) !== 'QUEUED' || (await lockQueued(connection, last))) {
      // Of the same Job, both must say the same.
      return { job: last.seq === job.seq ? last : job, last, chainSeq }
    }
  }
}
