import { assert } from '../../../domain/errors.ts'
import type { CancelMode } from '../../../domain/job.ts'
import { countCancelled, countRun } from '../../shared/tallies.ts'
import { atPlaceOf, type JobRow } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { type EndedJob, endedRow, readSubscribers, settleChains, tellCancelled, tellRunEnd } from './ended.ts'
import { releaseBusinessKey } from './keys.ts'
import { asLive, type LiveRow, placesOf } from './live-rows.ts'
import { chainSeqOf } from './parents.ts'

// All of these take Jobs that are QUEUED and kept so: their chains are locked, and their rows in the queue (see `lockLive`,
// `lockJob`), or this transaction made them.

interface Cancellation {
  readonly mode: CancelMode
  readonly reason: string | null
  readonly by?: 'itself' | 'its-group'
  readonly now: number
}

/** QUEUED to CANCELLED: it never had a Run, and its chain has settled. */
export async function cancelQueued(
  transaction: Transaction,
  row: JobRow,
  request: Cancellation & { readonly cancelledFor: string | null },
): Promise<void> {
  const { connection } = transaction
  const chainSeq = row.chain_id === null ? row.seq : ((await chainSeqOf(connection, row.chain_id)) ?? row.seq)
  await cancelAllQueued(transaction, [{ row: asLive(row, chainSeq), cancelledFor: request.cancelledFor }], request)
}

// They leave the queue by their places. A row that is missing has started; then nothing at all may happen to it.
const LEAVE_QUEUE = `
gone as (
  delete from pawl.queue q
  using given
  where ${atPlaceOf('given')}
  returning q.seq, given.what
)`

// As many rows as were given: they will never start.
const CANCEL_QUEUED = `
with given as (
  select *
  from unnest($1::integer[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])
    as given (priority, position, created_at, seq, what)
),
${LEAVE_QUEUE}
update pawl.jobs j
set cancelled_at = $6, cancel_requested_at = $6, cancel_mode = $7, cancel_reason = $8, cancelled_for = gone.what
from gone
where j.seq = gone.seq`

/** The same for many. `cancelledFor`: the chain whose failure is the cause, if one is. */
export async function cancelAllQueued(
  transaction: Transaction,
  cancelled: readonly { readonly row: LiveRow; readonly cancelledFor: string | null }[],
  { mode, reason, by = 'itself', now }: Cancellation,
): Promise<void> {
  if (cancelled.length === 0) return
  const rows = cancelled.map(({ row }) => row)
  const left = await transaction.connection.run(
    CANCEL_QUEUED,
    ...placesOf(rows),
    cancelled.map(({ cancelledFor }) => cancelledFor),
    now,
    mode,
    reason,
  )
  await noteLeft(transaction, rows, left)
  const jobs = rows.map((row) => {
    const job = endedRow(row)
    const { seq, jobId, chainId, type } = job
    countCancelled(transaction, now)
    transaction.note(seq, {
      kind: 'job.cancelled',
      jobId,
      chainId,
      type,
      attempt: row.attempt,
      status: 'CANCELLED',
      at: now,
    })
    tellCancelled(transaction, job, now)
    return job
  })
  await settleAll(transaction, jobs, 'CANCELLED', by, now)
}

// As many Runs as members. They are found among those that were not COMPLETED, too.
const SKIP_QUEUED = `
with given as (
  select *
  from unnest($1::integer[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])
    as given (priority, position, created_at, seq, what)
),
${LEAVE_QUEUE},
skipped as (
  insert into pawl.runs (seq, run_id, node_seq, status, started_at, finished_at, error)
  select seq, what, $6, 'SKIPPED', $7, $7, $8
  from gone
  returning seq, started_at
)
insert into pawl.uncompleted_runs (status, started_at, seq, will_retry)
select 'SKIPPED', started_at, seq, false
from skipped`

/** QUEUED to FINISHED with a SKIPPED Run: members of a group that are not to be executed. */
export async function skipAllQueued(
  transaction: Transaction,
  rows: readonly LiveRow[],
  request: {
    readonly message: string
    readonly newId: () => string
    readonly nodeSeq: number
    readonly now: number
  },
): Promise<void> {
  if (rows.length === 0) return
  const { message, newId, nodeSeq, now } = request
  const runIds = rows.map(() => newId())
  const left = await transaction.connection.run(SKIP_QUEUED, ...placesOf(rows), runIds, nodeSeq, now, message)
  await noteLeft(transaction, rows, left)
  const jobs = rows.map((row, index) => {
    const job = endedRow(row)
    const { seq, jobId, chainId, type } = job
    countRun(transaction, nodeSeq, { status: 'SKIPPED', runAt: row.run_at, startedAt: now, finishedAt: now })
    transaction.note(seq, {
      kind: 'job.finished',
      jobId,
      runId: runIds[index] as string,
      chainId,
      type,
      attempt: row.attempt,
      status: 'FINISHED',
      outcome: 'SKIPPED',
      at: now,
    })
    tellRunEnd(transaction, job, 'SKIPPED', false, now)
    return job
  })
  await settleAll(transaction, jobs, 'SKIPPED', 'itself', now)
}

function settleAll(
  transaction: Transaction,
  jobs: readonly EndedJob[],
  outcome: 'CANCELLED' | 'SKIPPED',
  by: 'itself' | 'its-group',
  at: number,
): Promise<void> {
  return settleChains(
    transaction,
    jobs.map((job) => ({ job, outcome, by, at })),
  )
}

async function noteLeft(transaction: Transaction, rows: readonly LiveRow[], left: number): Promise<void> {
  assert(
    left === rows.length,
    `of ${rows.length} Jobs that were kept from starting, ${rows.length - left} have started`,
  )
  for (const { business_key, awaits_predecessor, chain_id, job_id } of rows) {
    // While the body of an earlier attempt executes, the key stays with its occupancy.
    if (business_key !== null && awaits_predecessor !== true) {
      await releaseBusinessKey(transaction, business_key, chain_id ?? job_id)
    }
  }
  await readSubscribers(transaction)
}
