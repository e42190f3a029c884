import type { JobPolicy } from '../../../domain/job.ts'
import type { Outcome } from '../../../domain/run.ts'
import type { Damage, DamagedJob } from '../../../store/maintenance.ts'
import type { RetryOrder } from '../../../store/runs.ts'
import { countRun } from '../../shared/tallies.ts'
import type { Connection } from '../connection.ts'
import { countsOf, IN_QUEUE, statusOf } from '../rows.ts'
import type { Transaction } from '../transaction.ts'
import { carryOut } from './cascades.ts'
import { endedRow, readSubscribers, settleChains, tellRunEnd } from './ended.ts'
import { isChainOccupied } from './history.ts'
import { releaseBusinessKey } from './keys.ts'
import { asLive } from './live-rows.ts'
import { lockJob } from './locks.ts'
import { findLiveNodeSeq } from './nodes.ts'
import { CLAIMED_COLUMNS, type ClaimedRow, toClaimedJob } from './occupancies.ts'
import { freeOccupancies } from './release.ts'
import { insertRetries } from './retry.ts'
import { internNode } from './tallies.ts'

/** Damage is looked for among this many of the latest Jobs and Runs, so that a start costs the same after a million. */
const ROWS_LOOKED_AT = 1_000

const DAMAGED_COLUMNS = 'j.seq, j.job_id, p.body as policy, j.error_retries, j.crash_retries, j.shutdown_retries'

interface DamagedRow {
  seq: number
  job_id: string
  /** JSON text */
  policy: string
  error_retries: number
  crash_retries: number
  shutdown_retries: number
}

// What is looked at comes first, and all else is looked up for it. Without statistics of its tables, as after many Jobs came in a
// short time, PostgreSQL may believe that the other way round is cheaper, and take seconds. Subqueries with a limit leave it no
// choice.

// Out of the queue, so it was claimed; but there is no Run.
const SELECT_RUN_MISSING = `
select ${DAMAGED_COLUMNS}
from (select * from pawl.jobs order by seq desc limit ${ROWS_LOOKED_AT}) as j
join pawl.policies p on p.policy_id = j.policy_id
where j.cancelled_at is null
  and (select true from pawl.queue q where ${IN_QUEUE} limit 1) is null
  and (select true from pawl.runs r where r.seq = j.seq limit 1) is null
limit $1`

// As many rows as bodies execute right now.
const SELECT_RUN_MISSING_OF_OCCUPANCY = `
select ${DAMAGED_COLUMNS}
from pawl.occupancies o
join pawl.jobs j on j.seq = o.seq
join pawl.policies p on p.policy_id = j.policy_id
where not exists (select 1 from pawl.runs r where r.seq = o.seq)
limit $1`

const SELECT_OCCUPANCY_MISSING = `
select ${CLAIMED_COLUMNS}
from (select * from pawl.runs order by seq desc limit ${ROWS_LOOKED_AT}) as r
cross join lateral (select * from pawl.jobs where jobs.seq = r.seq limit 1) j
join pawl.lanes l on l.lane_id = j.lane_id
join pawl.policies p on p.policy_id = j.policy_id
join pawl.nodes n on n.node_seq = r.node_seq
where r.status is null and not exists (select 1 from pawl.occupancies o where o.seq = r.seq)
limit $1`

const SELECT_RETRY_MISSING = `
select ${DAMAGED_COLUMNS}
from (
  select seq
  from pawl.uncompleted_runs
  where will_retry
  order by seq desc
  limit ${ROWS_LOOKED_AT}
) as retried
cross join lateral (select * from pawl.jobs where jobs.seq = retried.seq limit 1) j
join pawl.policies p on p.policy_id = j.policy_id
where not exists (select 1 from pawl.jobs next where next.retry_of = j.job_id)
limit $1`

// Reads the whole queue, but only for Jobs that seem to be damaged: somebody may have changed their priority by hand, so
// that they are not found at their places. They have not been claimed, and `doctor` says what to do about it.
const SELECT_QUEUED_ELSEWHERE = 'select seq from pawl.queue where seq = any($1::bigint[])'

export async function findDamage(connection: Connection, limit: number): Promise<Damage[]> {
  const runMissing = new Map<number, DamagedRow>()
  for (const sql of [SELECT_RUN_MISSING, SELECT_RUN_MISSING_OF_OCCUPANCY]) {
    for (const row of await connection.all<DamagedRow>(sql, limit)) runMissing.set(row.seq, row)
  }
  if (runMissing.size > 0) {
    const queued = await connection.all<{ seq: number }>(SELECT_QUEUED_ELSEWHERE, [...runMissing.keys()])
    for (const { seq } of queued) runMissing.delete(seq)
  }
  const occupancyMissing = await connection.all<ClaimedRow>(SELECT_OCCUPANCY_MISSING, limit)
  const retryMissing = await connection.all<DamagedRow>(SELECT_RETRY_MISSING, limit)
  return [
    ...[...runMissing.values()].map((row): Damage => ({ kind: 'run-missing', job: toDamaged(row) })),
    ...occupancyMissing.map((row): Damage => ({ kind: 'occupancy-missing', job: toClaimedJob(row) })),
    ...retryMissing.map((row): Damage => ({ kind: 'retry-missing', job: toDamaged(row) })),
  ].slice(0, limit)
}

function toDamaged(row: DamagedRow): DamagedJob {
  return { jobId: row.job_id, policy: JSON.parse(row.policy) as JobPolicy, counts: countsOf(row) }
}

const HAS_RUN = 'select 1 as found from pawl.runs where seq = $1'

// 1 row: it has failed, and is found among those that have.
const INSERT_FAILED_RUN = `
with failed as (
  insert into pawl.runs (seq, run_id, node_seq, status, reason, started_at, finished_at, will_retry, error)
  values ($1, $2, $3, 'FAILED', $4, $5, $5, $6, $7)
  returning seq, started_at, will_retry
)
insert into pawl.uncompleted_runs (status, started_at, seq, will_retry)
select 'FAILED', started_at, seq, will_retry
from failed`

export async function repairMissingRun(
  transaction: Transaction,
  repair: {
    jobId: string
    runId: string
    by: string
    outcome: Outcome & { status: 'FAILED' }
    retry: RetryOrder | null
    newId: () => string
    now: number
  },
): Promise<boolean> {
  const { connection } = transaction
  const { runId, outcome, now } = repair
  const locked = await lockJob(connection, { jobId: repair.jobId })
  if (locked === null) return false
  const { job, chainSeq } = locked
  if (statusOf(job) !== 'RUNNING' || (await connection.get(HAS_RUN, job.seq)) !== undefined) return false
  const retry = job.cancel_requested_at === null ? repair.retry : null
  const nodeSeq = await internNode(transaction, repair.by)
  const { reason, error } = outcome
  await connection.run(INSERT_FAILED_RUN, job.seq, runId, nodeSeq, reason, now, retry !== null, error)
  countRun(transaction, nodeSeq, { status: 'FAILED', runAt: job.run_at, startedAt: now, finishedAt: now })
  await freeOccupancies(connection, [job.seq])
  const ended = endedRow(asLive(job, chainSeq))
  await readSubscribers(transaction)
  tellRunEnd(transaction, ended, 'FAILED', retry !== null, now)
  transaction.note(job.seq, {
    kind: 'job.finished',
    jobId: job.job_id,
    runId,
    chainId: ended.chainId,
    type: job.type,
    status: 'FINISHED',
    outcome: 'FAILED',
    reason,
    attempt: job.attempt,
    at: now,
  })
  if (retry !== null) {
    await insertRetries(transaction, [{ predecessorSeq: job.seq, order: retry, awaitsPredecessor: false, now }])
  } else {
    if (job.business_key !== null) await releaseBusinessKey(transaction, job.business_key, ended.chainId)
    await settleChains(transaction, [{ job: ended, outcome: 'FAILED', at: now, by: 'itself' }])
  }
  await carryOut(transaction, { nodeSeq: await findLiveNodeSeq(connection, repair.by), newId: repair.newId }, now)
  return true
}

const IS_RETRY_MISSING = `
select 1 as found
from pawl.runs
where seq = $1 and will_retry
  and not exists (select 1 from pawl.jobs where retry_of = $2)`

export async function repairMissingRetry(
  transaction: Transaction,
  repair: { jobId: string; retry: RetryOrder; now: number },
): Promise<boolean> {
  const { connection } = transaction
  const locked = await lockJob(connection, { jobId: repair.jobId })
  if (locked === null) return false
  const { job } = locked
  if ((await connection.get(IS_RETRY_MISSING, job.seq, job.job_id)) === undefined) return false
  const awaitsPredecessor = await isChainOccupied(connection, job.chain_id ?? job.job_id)
  await insertRetries(transaction, [
    { predecessorSeq: job.seq, order: repair.retry, awaitsPredecessor, now: repair.now },
  ])
  return true
}
