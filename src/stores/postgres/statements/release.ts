import type { FailureReason, RunStatus } from '../../../domain/run.ts'
import type { Claim } from '../../../store/runs.ts'
import type { Connection } from '../connection.ts'
import type { Transaction } from '../transaction.ts'
import { releaseBusinessKey } from './keys.ts'
import { LIMITS_STAY } from './limits.ts'
import { lockChains } from './locks.ts'
import { unblockRetries } from './retry.ts'

// One row per body that is gone, and with it its permits. Where only damage has taken the body, its permits are still there.
const FREE_OCCUPANCIES = `
with freed as (
  delete from pawl.occupancies
  where seq = any($1::bigint[]) and ${LIMITS_STAY}
  returning seq, has_permits
),
released as (
  update pawl.permits
  set job_seq = null
  where job_seq = any(array(
    select unnest($1::bigint[])
    except
    select seq from freed where not has_permits
  ))
)
select seq
from freed`

/** The bodies of these Jobs have ended. Returns those that were still recorded. */
export async function freeOccupancies(connection: Connection, seqs: readonly number[]): Promise<ReadonlySet<number>> {
  if (seqs.length === 0) return new Set()
  const rows = await connection.runReturningAll<{ seq: number }>(FREE_OCCUPANCIES, seqs)
  return new Set(rows.map(({ seq }) => seq))
}

// Only Runs that have ended; what is read here of one does not change any more.
const SELECT_RELEASED = `
select r.seq, r.run_id, r.status, r.reason, j.job_id, coalesce(j.chain_id, j.job_id) as chain_id,
  coalesce(c.seq, j.seq) as chain_seq, l.type, j.attempt, j.business_key
from pawl.runs r
join pawl.jobs j on j.seq = r.seq
join pawl.lanes l on l.lane_id = j.lane_id
left join pawl.jobs c on c.job_id = j.chain_id
where r.run_id = any($1::text[]) and r.status is not null
order by r.seq`

interface ReleasedRow {
  seq: number
  run_id: string
  status: RunStatus
  reason: FailureReason | null
  job_id: string
  chain_id: string
  chain_seq: number
  type: string
  attempt: number
  business_key: string | null
}

/** Their chains are locked, so that of a retry that is cancelled at the same time somebody gives back the key. */
export async function releaseOccupancies(
  transaction: Transaction,
  claims: readonly Claim[],
  now: number,
): Promise<void> {
  const { connection } = transaction
  const ended = await connection.all<ReleasedRow>(
    SELECT_RELEASED,
    claims.map(({ runId }) => runId),
  )
  await lockChains(
    connection,
    ended.map(({ chain_seq }) => chain_seq),
  )
  const freed = await freeOccupancies(
    connection,
    ended.map(({ seq }) => seq),
  )
  // What is missing was released before.
  const released = ended.filter(({ seq }) => freed.has(seq))
  if (released.length === 0) return
  const goingOn = await unblockRetries(
    transaction,
    released.map(({ chain_id }) => chain_id),
    now,
  )
  for (const row of released) {
    if (row.business_key !== null && !goingOn.has(row.chain_id)) {
      await releaseBusinessKey(transaction, row.business_key, row.chain_id)
    }
    noteReleased(transaction, row, now)
  }
}

function noteReleased(transaction: Transaction, row: ReleasedRow, now: number): void {
  transaction.note(row.seq, {
    kind: 'run.released',
    jobId: row.job_id,
    runId: row.run_id,
    chainId: row.chain_id,
    type: row.type,
    status: row.reason === 'cancelled' ? 'CANCELLED' : 'FINISHED',
    outcome: row.status,
    reason: row.reason,
    attempt: row.attempt,
    at: now,
  })
}
