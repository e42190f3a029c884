import type { BulkCancelMode } from '../../../domain/bulk-operation.ts'
import type { Transaction } from '../transaction.ts'
import { carryOut, NOBODY } from './cascades.ts'
import { cancelAllQueued } from './leave-queue.ts'
import { JOIN_LIVE, LIVE_COLUMNS, type LiveRow, lockLive } from './live-rows.ts'

// Of the given Jobs those that are QUEUED and concern nobody but themselves, in the given order: no attempt was made, nobody
// waits for them, they wait for nobody, and no group counts them. So it does not matter which of them is cancelled first.
const SELECT_PLAIN = `
select ${LIVE_COLUMNS}
from unnest($1::text[]) with ordinality as given (job_id, place)
join pawl.jobs j on j.job_id = given.job_id
${JOIN_LIVE}
where q.seq is not null and j.chain_id is null and j.group_id is null and j.parents = 0 and not j.awaited
order by given.place`

/** Cancels those of the Jobs that can be cancelled together, and returns their ids. Their chains are locked already. */
export async function cancelPlain(
  transaction: Transaction,
  jobIds: readonly string[],
  chainSeqs: readonly number[],
  { mode, reason, now }: { readonly mode: BulkCancelMode | null; readonly reason: string | null; readonly now: number },
): Promise<Set<string>> {
  const { connection } = transaction
  const rows = await lockLive(connection, () => connection.all<LiveRow>(SELECT_PLAIN, [...new Set(jobIds)]), {
    locked: chainSeqs,
  })
  if (rows.length === 0) return new Set()
  await cancelAllQueued(
    transaction,
    rows.map((row) => ({ row, cancelledFor: null })),
    // No body executes, so that every mode means the same.
    { mode: mode === 'abort' ? mode : 'graceful', reason, now },
  )
  await carryOut(transaction, NOBODY, now)
  return new Set(rows.map(({ job_id }) => job_id))
}
